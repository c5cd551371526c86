"""Machines: devices with clocks, addresses and an event loop of their own, and the network between them.

Every live node runs unmodified on its machine's loop. Time passes only in `Machines.run`, which runs the loop or the
network event that is due next; ties are broken by order of creation, so the same seed gives the same history. A held
machine does nothing while its clocks run; on a suspended one the monotonic clock stops as well; a killed one never runs
again, but a restarted one has its store.

The network delays, loses, duplicates and reorders datagrams, carries multicast or not, and can be cut into parts. A
machine has an address of IPv4, one of IPv6 or both, and may change them. The network can also be a radio (`channel`).
"""

from __future__ import annotations

import asyncio
from asyncio import events
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from functools import partial
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

import msgspec

from thyme.fuzz.live.channel import Channel
from thyme.live.link.addresses import ANY_6, GROUP_4, Address, family_of
from thyme.live.link.sealing import MAGIC, VERSION_AT
from thyme.live.link.sockets import DatagramEndpoint, DatagramReceiver, EndpointOptions

EPOCH_S = 1_800_000_000.0
"""Time of a correct clock when a history begins."""
MAX_STEPS = 20_000_000
"""Callbacks of one history: more is a loop without end."""
FIRST_PORT = 40_000
CLOSING_STEPS = 100
"""Loop iterations that tasks have to end when a history is over."""


Arrive = Callable[["VirtualEndpoint", bytes], None]


class Weather(msgspec.Struct, frozen=True):
    """What the network does to datagrams."""

    delay_s: float = 0.002
    jitter_s: float = 0.002
    """With enough of it, datagrams overtake each other."""
    loss: float = 0.0
    duplication: float = 0.0
    multicast: bool = True


class _NoSelector:
    def select(self, timeout: float | None) -> list[Any]:
        return []

    def close(self) -> None:
        pass


class VirtualLoop(asyncio.BaseEventLoop):
    """An event loop without I/O that runs when its machine says so."""

    def __init__(self, monotonic: Callable[[], float], expect: Callable[[float], None]) -> None:
        """`expect` is called with the time of each callback that is added."""
        super().__init__()
        self._selector = _NoSelector()
        self._monotonic = monotonic
        self._expect = expect
        self.failures: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _, context: self.failures.append(context))

    def time(self) -> float:
        return self._monotonic()

    def next_s(self) -> float:
        """When there is something to do, by the machine's monotonic clock."""
        if self._ready:  # type: ignore[attr-defined]
            return -inf
        scheduled = self._scheduled  # type: ignore[attr-defined]
        return float(scheduled[0].when()) if scheduled else inf

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        self._expect(-inf)
        return super().call_soon(callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:  # type: ignore[override]
        self._expect(when)
        return super().call_at(when, callback, *args, context=context)

    def timers(self) -> int:
        """Callbacks that wait for their time."""
        return sum(not handle.cancelled() for handle in self._scheduled)  # type: ignore[attr-defined]

    def step(self) -> None:
        """Run what is due, once."""
        events._set_running_loop(self)
        try:
            self._run_once()  # type: ignore[attr-defined]
        finally:
            events._set_running_loop(None)

    async def getaddrinfo(self, host: Any, port: Any, **_: Any) -> Any:
        """Addresses are numeric here."""
        family = family_of((str(host), int(port)))
        return [(family, 0, 0, "", (str(host), int(port)))]

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """At once: a thread would make histories differ."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except BaseException as error:
            future.set_exception(error)
        return future


class Machine:
    """One device, from its start to its crash; a restart makes another one."""

    def __init__(
        self, machines: Machines, name: str, hosts: tuple[str, ...], wrong_s: float, number: int, *, older: bool
    ) -> None:
        self._machines = machines
        self.older = older
        """Whether its link has the version before that of others."""
        self.name = name
        self.sends = f"sent by {name}"
        """The name under which its datagrams are counted."""
        self.number = number
        """Among all machines that were ever started: one that is restarted draws other numbers."""
        self._hosts = hosts
        self.wrong_s = wrong_s
        """Offset of its clock from the correct time."""
        self.stopped_s = 0.0
        """How long its monotonic clock was stopped."""
        self.suspended = self.dead = False
        self.held = self.unplugged = 0
        """How many faults hold the process, or its interface down."""
        self.expected_s = inf
        """When its loop is looked at next (`Machines.expect`)."""
        self.loop = VirtualLoop(self.monotonic, self._expect)
        self.endpoints: list[VirtualEndpoint] = []
        self._random = Random(f"{machines.seed}/{number}")

    @property
    def hosts(self) -> tuple[str, ...]:
        """Addresses: one for each family that it has."""
        return self._hosts

    @hosts.setter
    def hosts(self, hosts: tuple[str, ...]) -> None:
        self._hosts = hosts
        self._machines.forget_hosts()

    @property
    def runs(self) -> bool:
        return not (self.held or self.suspended or self.dead)

    def release(self) -> None:
        self.held -= 1
        self._expect(self.loop.next_s())

    def _expect(self, at_s: float) -> None:
        """The loop has something to do at this time, by its own clock."""
        self._machines.expect(self, at_s + self.stopped_s)

    def plug(self) -> None:
        self.unplugged -= 1

    def do(self, action: Callable[[], None]) -> None:
        """Run an action on the event loop, as soon as that runs."""
        self.loop.call_soon(action, context=Context())

    def monotonic(self) -> float:
        return self._machines.now_s - self.stopped_s

    def wall(self) -> float:
        """The device's wall clock."""
        return EPOCH_S + self._machines.now_s + self.wrong_s

    def begin(self, coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        events._set_running_loop(self.loop)
        try:
            return self.loop.create_task(coroutine, context=Context())
        finally:
            events._set_running_loop(None)

    # What a link needs of its network.

    def entropy(self, size_bytes: int) -> bytes:
        return self._random.randbytes(size_bytes)

    async def open(self, address: Address, receiver: DatagramReceiver, options: EndpointOptions) -> DatagramEndpoint:
        endpoint = VirtualEndpoint(self, self._machines, address, receiver, options)
        self.endpoints.append(endpoint)
        return endpoint


class VirtualEndpoint:
    def __init__(
        self,
        machine: Machine,
        machines: Machines,
        address: Address,
        receiver: DatagramReceiver,
        options: EndpointOptions,
    ) -> None:
        self.machine, self.receiver, self.options = machine, receiver, options
        self._machines = machines
        self.address: Address = (address[0], address[1] or FIRST_PORT + len(machine.endpoints))
        hosts = machine.hosts if address[0] == ANY_6 else address[:1]
        self.has_group = bool(options.group_port) and any(":" not in host for host in hosts)
        self.full = False
        self.open = True

    def send(self, datagram: bytes, address: Address) -> None:
        if self.open:
            self._machines.send(self, self._of_version(datagram, -1), address)

    def announce(self, datagram: bytes) -> None:
        if self.open and self.options.discovery_port:
            self._machines.announce(self, self._of_version(datagram, -1))

    def receive(self, datagram: bytes, source: Address, *, grouped: bool = False) -> None:
        if self.open:
            self.receiver.receive(self._of_version(datagram, 1), source, grouped=grouped)
            self.receiver.end_turn()

    def receive_announcement(self, datagram: bytes, source: Address) -> None:
        if self.open:
            self.receiver.receive_announcement(self._of_version(datagram, 1), source)

    def _of_version(self, datagram: bytes, later: int) -> bytes:
        """What an older machine sends, or what it takes a datagram for."""
        if not self.machine.older or not datagram.startswith(MAGIC) or len(datagram) <= VERSION_AT:
            return datagram
        version = (datagram[VERSION_AT] + later) % 256
        return datagram[:VERSION_AT] + bytes([version]) + datagram[VERSION_AT + 1 :]

    async def close(self) -> None:
        self.open = False
        self.machine.endpoints.remove(self)


class Machines:
    """All of them, the network, and the time."""

    def __init__(self, seed: int, channel: Channel | None = None) -> None:
        """With a `channel`, datagrams are frames of a shared radio channel. A machine's name is its number there."""
        self.seed = seed
        self._channel = channel
        self.now_s = 0.0
        self.all: list[Machine] = []
        self._ever: list[Machine] = []
        """Also those that were killed: nothing of them is cleaned up before the history ends."""
        self.calm = Weather() if channel is None else Weather(0.0, 0.0)
        """The weather without a storm: of a radio channel, all that happens happens there."""
        self.weather = self.calm
        self.parts: dict[str, int] = {}
        """In which part of the network a machine is, by name; all in one unless said otherwise."""
        self.counts: Counter[str] = Counter()
        """Datagrams, and what became of them."""
        self.taps: list[Callable[[bytes, Address, Address], None]] = []
        """Called for each datagram with its source and destination."""
        self._random = Random(f"network/{seed}")
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0
        self._by_host: dict[str, list[Machine]] = {}
        """Emptied when a machine starts, ends or changes its addresses."""
        self._loops: list[tuple[float, int, Machine]] = []
        """When each machine's loop has something to do, or had: only `Machine.expected_s` is valid."""

    def start(self, name: str, hosts: tuple[str, ...], wrong_s: float = 0.0, *, older: bool = False) -> Machine:
        machine = Machine(self, name, hosts, wrong_s, len(self._ever), older=older)
        self.all.append(machine)
        self._ever.append(machine)
        self.forget_hosts()
        if self._channel is not None:
            self._channel.switch(self.now_s, int(name), on=True)
        return machine

    def close(self) -> None:
        """The history is over: end all tasks."""
        for machine in self._ever:
            machine.dead = True
            tasks = asyncio.all_tasks(machine.loop)
            for task in tasks:
                task.cancel()
            for _ in range(CLOSING_STEPS):
                if all(task.done() for task in tasks):
                    break
                machine.loop.step()
            machine.loop.close()

    def kill(self, machine: Machine) -> None:
        machine.dead = True
        for endpoint in machine.endpoints:
            endpoint.open = False
        self.all.remove(machine)
        self.forget_hosts()
        if self._channel is not None:
            self._channel.switch(self.now_s, int(machine.name), on=False)

    def suspend(self, machine: Machine, duration_s: float) -> None:
        def wake() -> None:
            machine.suspended = False
            machine.stopped_s += duration_s
            self.expect(machine, machine.loop.next_s() + machine.stopped_s)

        machine.suspended = True
        self.at(self.now_s + duration_s, wake)

    def forget_hosts(self) -> None:
        """The addresses of the machines changed."""
        self._by_host.clear()

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._due, (max(time_s, self.now_s), self._order, action))

    def run(self, until_s: float) -> None:
        """Let time pass."""
        for _ in range(MAX_STEPS):
            event_s = self._due[0][0] if self._due else inf
            machine, loop_s = self._next_machine()
            next_s = min(event_s, loop_s)
            if self._channel is not None and self._channel.advance(min(next_s, until_s), self._reach):
                continue
            if next_s > until_s:
                self.now_s = max(self.now_s, until_s)
                return
            self.now_s = max(self.now_s, next_s)
            if event_s <= loop_s:
                heappop(self._due)[2]()
            elif machine is not None:
                self._step(machine)
        raise AssertionError(f"a loop without end at {self.now_s} s")

    def _reach(self, at_s: float) -> None:
        self.now_s = max(self.now_s, at_s)

    def expect(self, machine: Machine, at_s: float) -> None:
        """A machine's loop has something to do at this time."""
        if at_s < machine.expected_s:
            machine.expected_s = at_s
            heappush(self._loops, (at_s, machine.number, machine))

    def _step(self, machine: Machine) -> None:
        machine.expected_s = -inf
        machine.loop.step()
        machine.expected_s = inf
        self.expect(machine, machine.loop.next_s() + machine.stopped_s)

    def _next_machine(self) -> tuple[Machine | None, float]:
        """The one whose loop has something to do first; of several, the one that was started first."""
        loops = self._loops
        while loops:
            at_s, _, machine = loops[0]
            if at_s == machine.expected_s and machine.runs:
                now_at_s = machine.loop.next_s() + machine.stopped_s
                if now_at_s <= at_s:
                    return machine, max(at_s, self.now_s)
                machine.expected_s = inf
                self.expect(machine, now_at_s)
            elif at_s == machine.expected_s:  # it is looked at when it runs again
                machine.expected_s = inf
            heappop(loops)
        return None, inf

    def send(self, sender: VirtualEndpoint, datagram: bytes, to: Address) -> None:
        source = self._source(sender, to)
        self.counts["sent"] += 1
        self.counts[sender.machine.sends] += 1
        if source is None:
            return
        for tap in self.taps:
            tap(datagram, source, to)
        self._transmit(sender, datagram, [pair for pair in self._receivers(source, to) if pair[0] is not sender])

    def _transmit(
        self, sender: VirtualEndpoint, datagram: bytes, receivers: Sequence[tuple[VirtualEndpoint, Arrive]]
    ) -> None:
        """To one receiver, or to several by multicast."""
        machine = sender.machine
        if self._channel is None:
            for receiver, arrive in receivers:
                self._carry(machine, receiver, datagram, arrive)
            return

        def deliver(device: int) -> None:
            for receiver, arrive in receivers:
                if receiver.machine.name == str(device):
                    self._carry(machine, receiver, datagram, arrive)

        to = int(receivers[0][0].machine.name) if len(receivers) == 1 else None
        if receivers and not machine.dead:
            self._channel.send(self.now_s, int(machine.name), to, len(datagram), deliver)

    def inject(self, datagram: bytes, source: Address, to: Address) -> None:
        """Somebody sends a datagram in the name of an address."""
        for other, arrive in self._receivers(source, to):
            self._arrive(other, datagram, arrive)

    def _receivers(self, source: Address, to: Address) -> list[tuple[VirtualEndpoint, Arrive]]:
        if to[0] == GROUP_4:
            arrive = partial(VirtualEndpoint.receive, source=source, grouped=True)
            groups = [one for machine in self.all for one in machine.endpoints] if self.weather.multicast else []
            return [(one, arrive) for one in groups if one.has_group and one.options.group_port == to[1]]
        arrive = partial(VirtualEndpoint.receive, source=source)
        endpoints = [one for machine in self._at_host(to[0]) for one in machine.endpoints]
        return [(one, arrive) for one in endpoints if one.address[1] == to[1]]

    def _at_host(self, host: str) -> list[Machine]:
        """The machines that have an address."""
        found = self._by_host.get(host)
        if found is None:
            found = self._by_host[host] = [machine for machine in self.all if host in machine.hosts]
        return found

    def announce(self, sender: VirtualEndpoint, datagram: bytes) -> None:
        for host in sender.machine.hosts if self.weather.multicast else ():
            arrive = partial(VirtualEndpoint.receive_announcement, source=(host, sender.options.discovery_port))
            listening = [one for one in self._endpoints(sender) if one.options.discovery_port]
            near = [one for one in listening if any(same_family(host, own) for own in one.machine.hosts)]
            self._transmit(sender, datagram, [(one, arrive) for one in near])

    def _source(self, sender: VirtualEndpoint, to: Address) -> Address | None:
        """The address from which a datagram leaves, if this machine can reach that family at all."""
        hosts = [host for host in sender.machine.hosts if same_family(host, to[0])]
        return (hosts[0], sender.address[1]) if hosts else None

    def _endpoints(self, sender: VirtualEndpoint) -> list[VirtualEndpoint]:
        return [endpoint for machine in self.all for endpoint in machine.endpoints if endpoint is not sender]

    def _carry(
        self,
        sender: Machine,
        receiver: VirtualEndpoint,
        datagram: bytes,
        arrive: Arrive,
    ) -> None:
        weather, draw = self.weather, self._random
        parts = self.parts
        apart = parts.get(sender.name, 0) != parts.get(receiver.machine.name, 0)
        if apart or sender.unplugged or receiver.machine.unplugged:
            self.counts["cut off"] += 1
            return
        copies = 1 + (draw.random() < weather.duplication)
        for _ in range(copies):
            if draw.random() < weather.loss:
                self.counts["lost"] += 1
                continue
            delay_s = weather.delay_s + draw.random() * weather.jitter_s
            self.at(self.now_s + delay_s, lambda: self._arrive(receiver, datagram, arrive))
        self.counts["duplicated"] += copies > 1

    def _arrive(self, receiver: VirtualEndpoint, datagram: bytes, arrive: Arrive) -> None:
        machine = receiver.machine
        if machine.dead or machine.suspended or not receiver.open:
            self.counts["arrived nowhere"] += 1
            return
        machine.do(lambda: arrive(receiver, datagram))


def same_family(one: str, other: str) -> bool:
    return (":" in one) == (":" in other)
