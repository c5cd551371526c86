"""Links without I/O on a network that the test makes up: time passes only while `Air.run` is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heappop, heappush
from random import Random

from thyme.live.link.addresses import GROUP_4, Address, family_of
from thyme.live.link.link import ANNOUNCED, Link, LinkOptions
from thyme.live.trust.identity import Identity
from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.wire.message import Message

DISCOVERY_PORT = 8_473
Pass = Callable[[bytes, Address, Address], bool]


class Core:
    """A link with what it delivered and counted. `addresses`: one for each family."""

    def __init__(
        self, number: int, *addresses: Address, options: LinkOptions | None = None, group: bool = False, seed: int = 0
    ) -> None:
        self.addresses = addresses or ((f"10.0.0.{number}", 9_000),)
        self.heard: list[tuple[int, Message]] = []
        self.counts: Counter[tuple[str, str, str]] = Counter()
        draw = Random(f"{seed}/{number}")
        self.link = Link(
            Identity.given(number),
            draw,
            draw.randbytes,
            self._deliver,
            self._count,
            lambda: None,
            options or LinkOptions(),
        )
        self.group = group
        self.asleep, self.slept_s = False, 0.0
        """A suspended device: it does nothing, and its monotonic clock stands still."""

    def _deliver(self, sender: NodeId, message: Message, size_bytes: int) -> None:
        self.heard.append((sender, message))

    def _count(self, traffic: TrafficKind, name: str, size_bytes: int, reason: str) -> None:
        self.counts[(traffic.value, name, reason)] += 1

    def dropped(self, reason: str) -> int:
        return sum(n for (traffic, _, why), n in self.counts.items() if traffic == "dropped" and why == reason)


class Air:
    def __init__(self, *cores: Core, delay_s: float = 0.003) -> None:
        self.now_s = 100.0
        self.cores: list[Core] = []
        self.sent: list[tuple[float, bytes, Address, Address]] = []
        """Every datagram: when, what, from, to."""
        self.announcements = 0
        self.passes: Pass = lambda data, source, to: True
        self._delay_s = delay_s
        self._pending: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        for core in cores:
            self.add(core)

    def add(self, core: Core) -> None:
        self.cores.append(core)
        core.link.timers.now_s = self.monotonic_s(core)
        core.link.open(core.addresses[0], has_group=core.group)
        self._flush(core)

    def monotonic_s(self, core: Core) -> float:
        return self.now_s - core.slept_s

    def sleep(self, core: Core, duration_s: float) -> None:
        """Suspend a device while the others go on."""
        core.asleep = True
        self.run(duration_s)
        core.asleep, core.slept_s = False, core.slept_s + duration_s

    def remove(self, core: Core) -> None:
        """Its device crashes."""
        self.cores.remove(core)

    def greet(self, core: Core, *others: Core) -> None:
        self.call(core, lambda: core.link.greet(other.addresses[0] for other in others))

    def call(self, core: Core, action: Callable[[], object]) -> None:
        core.link.timers.now_s = self.monotonic_s(core)
        action()
        self._flush(core)

    def give(self, core: Core, data: bytes, source: Address, *, grouped: bool = False) -> None:
        """A datagram arrives, whatever its source was."""

        def receive() -> None:
            core.link.receive(data, source, grouped=grouped)
            core.link.reception.deliver()
            core.link.reception.acknowledge()

        if core in self.cores and not core.asleep:
            self.call(core, receive)

    def run(self, duration_s: float) -> None:
        ends_s = self.now_s + duration_s
        while True:
            awake = [core for core in self.cores if not core.asleep]
            due = min(awake, key=lambda core: core.link.timers.next_s + core.slept_s, default=None)
            timer_s = due.link.timers.next_s + due.slept_s if due is not None else ends_s
            arrival_s = self._pending[0][0] if self._pending else ends_s
            if min(timer_s, arrival_s) >= ends_s:
                break
            self.now_s = max(self.now_s, min(timer_s, arrival_s))
            if arrival_s <= timer_s:
                heappop(self._pending)[2]()
            elif due is not None:
                due.link.timers.run(self.monotonic_s(due))
                self._flush(due)
        self.now_s = ends_s

    def sent_since(self, since_s: float) -> int:
        return sum(at_s >= since_s for at_s, *_ in self.sent)

    def _flush(self, core: Core) -> None:
        outgoing, core.link.outgoing = core.link.outgoing, []
        for data, to, _ in outgoing:
            if to == ANNOUNCED:
                self.announcements += 1
                for source in core.addresses:
                    for other in self.cores:
                        if other is not core and any(family_of(one) == family_of(source) for one in other.addresses):
                            self._later(lambda o=other, s=source, d=data: self._announced(o, d, s))  # type: ignore[misc]
                continue
            source = next((one for one in core.addresses if family_of(one) == family_of(to)), core.addresses[0])
            self.sent.append((self.now_s, data, source, to))
            if not self.passes(data, source, to):
                continue
            if to[0] == GROUP_4:
                for other in self.cores:
                    if other.group and other is not core:
                        self._later(lambda o=other, s=source, d=data: self.give(o, d, s, grouped=True))  # type: ignore[misc]
                continue
            for other in self.cores:
                if to in other.addresses:
                    self._later(lambda o=other, s=source, d=data: self.give(o, d, s))  # type: ignore[misc]

    def _announced(self, core: Core, data: bytes, source: Address) -> None:
        if core in self.cores and not core.asleep:
            self.call(core, lambda: core.link.discovery.receive(data, (source[0], DISCOVERY_PORT)))

    def _later(self, action: Callable[[], None]) -> None:
        self._count += 1
        heappush(self._pending, (self.now_s + self._delay_s, self._count, action))
