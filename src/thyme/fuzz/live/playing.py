"""Playing a history with whole, unmodified live nodes, and writing down what applications saw."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from thyme.approaches.registry import find_approach
from thyme.fuzz.live.channel import Channel
from thyme.fuzz.live.devices import VirtualDevice
from thyme.fuzz.live.faults import OF_THE_NETWORK, AnyFault
from thyme.fuzz.live.histories import (
    ACTIVE_S,
    AREA_M,
    CELL_M,
    QUERIES,
    SETTLE_S,
    TAGS,
    Delete,
    History,
    Insert,
    Start,
    Step,
    Subscribe,
    Unsubscribe,
)
from thyme.fuzz.live.lying_member import corrupt
from thyme.fuzz.live.machines import EPOCH_S, Machine, Machines, same_family
from thyme.host import StoreFull
from thyme.live import Node
from thyme.live.node.clock import Clock
from thyme.live.node.notifications import Notice
from thyme.live.trust.namespaces import DEFAULT_NAME, SECRET_BYTES, Namespace
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import Counted, LogRecord, Moved, TrafficKind
from thyme.sim.radios.models import WifiModel
from thyme.wire.codec import DecodeError, decode
from thyme.wire.message import Message

LOOK_S = 10.0
"""Within this time after `SETTLE_S`, every application has asked for more, found and retrieved what it looks for."""
END_S = 150.0
"""When a history ends: nothing may be notified again until then."""
IDLE_S = 20.0
"""Idle time before that, to measure idle traffic."""
ASTRAY_S = 1.0
RESTART_S = 1.0
"""A node that could not start is started again after this."""
PORT = 9_000
MEMORY_DISK = Path("/dev/shm")
"""Where stores in files are, if the system has it: their syncs need no disk."""
CLOSED = Namespace("closed", bytes(range(SECRET_BYTES)), closed=True)
UNFINISHED = ("to tell", "new subscription")
"""Kinds of records of what is under way."""
MAX_MACHINES = 1_000
"""Starts and restarts in one history."""
INSERTED_AGAIN = 3
"""Objects that are inserted after that."""
BETWEEN_S = 5.0
"""Until one of them is deleted, and until somebody searches."""
ALL = "a | b | c"
"""Matches every object."""
RETRIEVED = 5
"""Objects that each node retrieves at the end."""
ASK_S = 5.0
"""How long an application waits for the first past matches before it asks for more."""
PAST = 1_000
"""Past matches that are asked for at once."""
COUNTED = {TrafficKind.RETRANSMITTED: "retransmitted", TrafficKind.GIVEN_UP: "unicasts given up"}
SENT = {
    "TakeBack": "populated cells that asked for their keys",
    "KeptHere": "proxies that were told of another one",
    "Released": "keys handed over to another cell",
    "JoinedState": "pages of a cell's state given to who joined",
    "Buckets": "members that differed",
    "Compare": "subscribers that compared with a cell",
    "Unknown": "cells that had lost something",
    "Met": "neighbours met",
}
"""Messages that stand for a state of interest; forwarding them does not count."""


class Inserted(msgspec.Struct):
    name: str
    node: int
    tags: tuple[str, ...]
    content: bytes
    acknowledged_s: float | None = None
    deletion_begun: bool = False
    deleted_s: float | None = None
    """When its deletion was acknowledged."""
    lost: bool = False
    """Whether its owner lost its store."""

    @property
    def lives(self) -> bool:
        return self.acknowledged_s is not None and not self.deletion_begun and not self.lost

    @property
    def again(self) -> bool:
        """Whether it was inserted when the crowd had recovered."""
        return self.name.startswith("again")

    @property
    def said(self) -> tuple[tuple[str, ...], int, bytes]:
        """Tags, size and summary."""
        return tuple(sorted(self.tags)), len(self.content), b""


class LiveSubscription(msgspec.Struct):
    node: int
    query: int
    sid: int
    at_s: float
    """When it was acknowledged."""
    ended: bool = False
    """Whether it was to be ended, successfully or not, or lost with its node's store."""


class Operation(msgspec.Struct):
    """What an application asked for."""

    node: int
    what: str
    begun_s: float
    ended_s: float | None = None
    error: str = ""


class Remains(msgspec.Struct, frozen=True):
    """What a node holds at the end."""

    peers: int
    unacknowledged: int
    """Messages that wait, and parcels under way."""
    records: int
    unfinished: int
    """Of these, those of `UNFINISHED`."""
    timers: int


Notified = tuple[int, int, str, int]
"""A node (index), its subscription (sid), and an object (name, owner's index)."""


class HistoryEvidence(msgspec.Struct):
    """What was done, and what applications saw."""

    objects: dict[tuple[str, int], Inserted] = {}
    subscriptions: list[LiveSubscription] = []
    notices: Counter[Notified] = msgspec.field(default_factory=Counter)
    """How often a node was notified of an object."""
    first_s: dict[Notified, float] = {}
    """When a node was first notified of an object."""
    altered: list[str] = []
    """Notifications that say of an object what its owner did not."""
    early: frozenset[Notified] = frozenset()
    """What nodes had been notified of soon after the network was whole, at `early_s`."""
    early_s: float = 0.0
    repeatable: Counter[Notified] = msgspec.field(default_factory=Counter)
    """Crashes before the device had stored that it was notified."""
    lost_server: bool = False
    """Whether the server, device 0 where there is one, lost its store."""
    found: dict[int, set[tuple[str, int]]] = {}
    found_again: dict[int, set[tuple[str, int]]] = {}
    """What a node found after objects were inserted, and one deleted, in the crowd that had recovered."""
    contents: dict[tuple[int, str, int], bytes | str] = {}
    """Contents that a node retrieved at the end, or why it could not."""
    remains: dict[int, Remains] = {}
    astray: set[int] = set()
    """Devices whose clocks were wrong when they joined alone, because they could not reach all others."""
    wrong_clocks: list[int] = []
    """Devices whose clocks were wrong at the end."""
    off_s: dict[int, float] = {}
    """Offset of each node's time from the correct time at the end."""
    idle_frames_per_s: dict[int, float] = {}
    operations: list[Operation] = []
    failures: list[str] = []
    states: Counter[str] = msgspec.field(default_factory=Counter)
    """How often each state of interest was reached."""
    timeline: list[str] = []


class _StateLog:
    """Counts what nodes log: frames that were dropped or sent again."""

    def __init__(self, states: Counter[str]) -> None:
        self._states = states

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        if isinstance(event, Counted):
            if event.traffic is TrafficKind.DROPPED:
                self._states[f"dropped: {event.reason}"] += event.count
            elif event.traffic in COUNTED:
                self._states[COUNTED[event.traffic]] += event.count
        elif isinstance(event, Moved):
            self._states["moved to another cell"] += 1

    def close(self, at_s: float) -> None:
        pass


class _Warnings(logging.Handler):
    """Counts what nodes warn of: clocks that were corrected."""

    def __init__(self, states: Counter[str]) -> None:
        super().__init__(logging.WARNING)
        self._states = states

    def emit(self, record: logging.LogRecord) -> None:
        if "goes by the crowd's time" in record.getMessage():
            self._states["clock corrected"] += 1


def _places(history: History) -> list[Point]:
    return [Point(*place) for place in history.places] or [Point(10.0 + i, 10.0) for i in range(history.nodes)]


def _settings(history: History) -> dict[str, Any]:
    side_m = AREA_M if history.places else CELL_M
    grid = {"width_m": side_m, "height_m": side_m, "cell_m": CELL_M}
    known: dict[str, dict[str, Any]] = {"dcs": {"grid": grid}, "es": {"servers": [1]}}
    return known.get(history.approach, {})


class Player:
    """The crowd that faults happen to."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.channel = Channel(_places(history), WifiModel(), history.seed) if history.radio else None
        self.machines = Machines(history.seed, self.channel)
        self.evidence = HistoryEvidence()
        families = history.families or ("46",) * history.nodes
        memory_disk = MEMORY_DISK if MEMORY_DISK.is_dir() else None
        self._folder = tempfile.TemporaryDirectory(dir=memory_disk) if history.files else None
        self.devices = [
            VirtualDevice(
                self.machines,
                index,
                place,
                families[index],
                history.commit_s,
                everywhere=history.everywhere,
                folder=Path(self._folder.name) if self._folder is not None else None,
            )
            for index, place in enumerate(_places(history))
        ]
        self._log = _StateLog(self.evidence.states)
        self.told_s: dict[Notified, float] = {}
        """When a node was last notified, unless a crash undid its memory of it."""

    def play(self) -> HistoryEvidence:
        logger = logging.getLogger("thyme.live")
        before, warnings = (logger.level, logger.propagate), _Warnings(self.evidence.states)
        logger.addHandler(warnings)
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        try:
            self._play()
        finally:
            for device in self.devices:
                device.disk.crash()
            if self._folder is not None:
                self._folder.cleanup()
            logger.removeHandler(warnings)
            logger.setLevel(before[0])
            logger.propagate = before[1]
        return self.evidence

    def begin(self) -> None:
        """From now on, its steps happen when the time of its machines comes."""
        for step in self.history.steps:
            self.machines.at(step.at_s, partial(self._step, step))

    def _play(self) -> None:
        machines, evidence = self.machines, self.evidence
        self.begin()
        machines.run(ACTIVE_S)
        self._repair()
        machines.run(ACTIVE_S + SETTLE_S)
        self._examine()
        machines.run(machines.now_s + LOOK_S)
        self._use_again()
        evidence.early, evidence.early_s = frozenset(evidence.notices), ACTIVE_S + SETTLE_S
        machines.run(END_S - IDLE_S)
        before = Counter(machines.counts)
        machines.run(END_S)
        for device in self.devices:
            name = f"sent by {device.index}"
            evidence.idle_frames_per_s[device.index] = (machines.counts[name] - before[name]) / IDLE_S
        self._count_remains()
        evidence.wrong_clocks = [device.index for device in self.devices if abs(device.wrong_s) > 1.0]
        for what, count in machines.counts.items():
            if not what.startswith("sent"):
                evidence.states[what if what.startswith("datagrams") else f"datagrams {what}"] += count
        machines.close()

    def _count_sent(self, message: Message) -> None:
        """Count the states that messages stand for, also within packets that can be read."""
        if message.forwarded_by(-1):
            return
        inner = getattr(message, "payload", None)
        if isinstance(inner, bytes):
            with suppress(DecodeError):
                message = decode(inner)
        if state := SENT.get(type(message).__name__):
            self.reach(state)

    # What faults do to it.

    def say(self, text: str) -> None:
        self.evidence.timeline.append(f"{self.machines.now_s:8.3f}  {text}")

    def reach(self, state: str) -> None:
        self.evidence.states[state] += 1

    def lose(self, device: VirtualDevice, *, store: bool) -> None:
        evidence, unsure_s = self.evidence, device.disk.unwritten_since()
        for key in [key for key, at_s in self.told_s.items() if key[0] == device.index and at_s >= unsure_s]:
            evidence.repeatable[key] += 1
            del self.told_s[key]
        device.crash(wiped=store)
        if store:
            self.reach("wiped store")
            evidence.lost_server |= device.index == 0 and find_approach(self.history.approach).capabilities.needs_server
            for made in evidence.objects.values():
                made.lost |= made.node == device.index
            for one in evidence.subscriptions:
                one.ended |= one.node == device.index
            self.told_s = {key: at_s for key, at_s in self.told_s.items() if key[0] != device.index}

    def leave(self, device: VirtualDevice, until_s: float) -> None:
        node, machine = device.node, device.running()
        if node is None:
            return
        device.node = None

        async def close() -> None:
            await node.close()
            self.machines.at(self.machines.now_s, gone)

        def gone() -> None:
            if not machine.dead:
                self.lose(device, store=False)
                self.say(f"{device.index}: has left")
                self.machines.at(until_s, partial(self.start, device))

        machine.begin(close())

    def start(self, device: VirtualDevice) -> None:
        history, hosts = self.history, device.hosts
        older = history.nodes - device.index <= history.older
        machine = device.machine = self.machines.start(str(device.index), hosts, device.wrong_s, older=older)
        self.say(f"{device.index}: started")

        def again() -> None:
            if not machine.dead:
                self.lose(device, store=False)
                self.start(device)

        async def live() -> None:
            node = Node(
                device.index + 1,
                store=device.disk.opened(),
                clock=Clock(device=machine.wall),
                network=machine,
                listen=f"{'[::]' if history.everywhere else hosts[0]}:{PORT}",
                namespace=CLOSED.invitation() if history.closed else DEFAULT_NAME,
                approach=history.approach,
                settings=_settings(history),
                seed=MAX_MACHINES * history.seed + machine.number,
                position=device.place,
                peers=self._listed(device) if history.listed else (),
                log_to=self._log,
            )
            node.on_notice = partial(self._notice, device, machine)
            try:
                await node.__aenter__()
            except StoreFull:
                self.say(f"{device.index}: its disk is failing, so it does not start")
                self.reach("start on a failing disk")
                self.machines.at(self.machines.now_s + RESTART_S, again)
                return
            node.device.host.sending = self._count_sent
            device.node = node
            self.say(f"{device.index}: takes part")
            if abs(self._off_s(node)) > ASTRAY_S and not self._whole(machine):
                self.evidence.astray.add(device.index)
                self.reach("joined alone with a wrong clock")
            if device.index == history.liar:
                corrupt(node, history.lie_s, Random(f"liar/{history.seed}/{machine.number}"), self.reach)
            waiting, device.waiting = device.waiting, []
            for action in waiting:
                self.reach("operation right after a start")
                action()

        machine.begin(live())

    def _listed(self, device: VirtualDevice) -> list[str]:
        """Addresses of the other devices that a device can reach."""
        hosts = device.hosts if self.history.everywhere else device.hosts[:1]
        found = [
            next(to for to in one.hosts if any(same_family(to, own) for own in hosts))
            for one in self.devices
            if one is not device
        ]
        return [f"[{host}]:{PORT}" if ":" in host else f"{host}:{PORT}" for host in found]

    def _off_s(self, node: Node) -> float:
        """Offset of a node's time from the correct time."""
        return node.now() - EPOCH_S - self.machines.now_s

    def _whole(self, machine: Machine) -> bool:
        """Whether a machine reaches all others."""
        machines = self.machines
        reached = all(one.runs and not one.unplugged for one in machines.all) and not machine.unplugged
        return reached and not machines.parts and machines.weather is machines.calm

    def _step(self, step: Step) -> None:
        device = self.devices[step.node]
        match step:
            case Start():
                device.wrong_s = step.wrong_s
                self.start(device)
            case Insert() | Delete() | Subscribe() | Unsubscribe():
                if device.node is None:
                    device.waiting.append(partial(self._act, device, step))
                else:
                    self._act(device, step)
            case _:
                self._fault(device, step)

    def _act(self, device: VirtualDevice, step: Step) -> None:
        match step:
            case Insert():
                self._insert(device, step)
            case Delete():
                self._delete(device, step.name)
            case Subscribe():
                self._subscribe(device, step.query)
            case Unsubscribe():
                self._unsubscribe(device, step.number)

    def _fault(self, device: VirtualDevice, fault: AnyFault) -> None:
        if not (isinstance(fault, OF_THE_NETWORK) or device.on):
            self.say(f"{fault} left out: the device is off")
            return
        self.say(str(fault))
        self.reach(type(fault).__name__.lower())
        fault.begin(self)

    def _notice(self, device: VirtualDevice, machine: Machine, notice: Notice) -> None:
        if machine.dead:  # its tasks end with the history
            return
        evidence, now_s, metadata = self.evidence, self.machines.now_s, notice.metadata
        name, owner = metadata.key.oid, metadata.key.owner - 1
        notified = (device.index, notice.subscription.sid, name, owner)
        evidence.notices[notified] += 1
        evidence.first_s.setdefault(notified, now_s)
        self.told_s[notified] = now_s
        made = evidence.objects.get((name, owner))
        said = (metadata.tags, metadata.size_bytes, metadata.summary)
        if made is not None and owner != self.history.liar != device.index and said != made.said:
            evidence.altered.append(f"node {device.index}, {name}@{owner}: {said}")
        self.say(f"{device.index}: notified of {name}@{owner} for subscription {notice.subscription.sid}")

    def _do(
        self, device: VirtualDevice, text: str, action: Callable[[Node], Awaitable[Any]], done: Callable[[Any], None]
    ) -> None:
        node, machine = device.node, device.running()
        assert node is not None
        asked = Operation(device.index, text, self.machines.now_s)
        self.evidence.operations.append(asked)

        async def act() -> None:
            try:
                result = await action(node)
            except Exception as error:
                asked.ended_s, asked.error = self.machines.now_s, repr(error)
                self.say(f"{device.index}: {text} failed: {error!r}")
                self.reach("operations failed")
                return
            asked.ended_s = self.machines.now_s
            done(result)
            self.say(f"{device.index}: {text} done")

        self.say(f"{device.index}: {text}")
        machine.begin(act())

    def _insert(self, device: VirtualDevice, step: Insert) -> None:
        name, tags, size = step.name, step.tags, step.size_bytes
        content = f"{name} of {device.index} ".encode() * (1 + size // 10)
        made = self.evidence.objects[(name, device.index)] = Inserted(name, device.index, tags, content[:size])

        def done(_: object) -> None:
            made.acknowledged_s = self.machines.now_s

        self._do(
            device,
            f"insert {name} {'+'.join(tags)} ({size} B)",
            lambda node: node.insert(name, made.content, tags),
            done,
        )

    def _delete(self, device: VirtualDevice, name: str) -> None:
        made = self.evidence.objects.get((name, device.index))
        if made is None or not made.lives:
            return
        made.deletion_begun = True

        def done(_: object) -> None:
            made.deleted_s = self.machines.now_s

        self._do(device, f"delete {name}", lambda node: node.delete(name), done)

    def _subscribe(self, device: VirtualDevice, query: int, *, ask: bool = False) -> None:
        """`ask`: for all of the past, a while later."""
        node = device.node
        assert node is not None

        def done(stream: Any) -> None:
            one = LiveSubscription(device.index, query, stream.key.sid, self.machines.now_s)
            self.evidence.subscriptions.append(one)
            if ask:
                later = partial(self._ask_for_more, device, node, one)
                self.machines.at(self.machines.now_s + ASK_S, partial(self._begin, device, later))

        self._do(device, f"subscribe {QUERIES[query][0]}", lambda node: node.subscribe(QUERIES[query][0]), done)

    def _unsubscribe(self, device: VirtualDevice, number: int) -> None:
        mine = [one for one in self.evidence.subscriptions if one.node == device.index and not one.ended]
        if mine:
            one = mine[number % len(mine)]
            one.ended = True
            self._do(device, f"unsubscribe {one.sid}", lambda node: node.unsubscribe(one.sid), lambda _: None)

    def _repair(self) -> None:
        """Faults that are still under way end by themselves at this time; the network is whole."""
        self.machines.parts, self.machines.weather = {}, self.machines.calm
        self.say("the network is whole")

    def _examine(self) -> None:
        """Every node asks for its past, searches for everything, and retrieves some of what it was notified of. One
        subscribes once more."""
        draw = Random(f"examine/{self.history.approach}/{self.history.seed}")
        newcomer = draw.choice(self.devices)
        for device in self.devices:
            if device.node is None or device.machine is None or not device.machine.runs:
                self.evidence.failures.append(f"node {device.index} does not run at the end")
            else:
                device.machine.begin(self._look(device, device.node))
                if device is newcomer:
                    self._subscribe(device, draw.randrange(len(QUERIES)), ask=True)

    def _use_again(self) -> None:
        """Applications go on using the crowd that has recovered."""
        history, machines = self.history, self.machines
        draw = Random(f"again/{history.approach}/{history.seed}")
        for number in range(INSERTED_AGAIN):
            device = draw.choice(self.devices)
            tags = tuple(tag for tag in TAGS if draw.random() < 0.5) or ("a",)
            if device.node is not None:
                self._insert(device, Insert(machines.now_s, device.index, f"again{number}", tags, 20))
                if number == 0:
                    machines.at(machines.now_s + BETWEEN_S, partial(self._delete, device, "again0"))
        device = draw.choice(self.devices)
        if device.node is not None:
            find = partial(self._find, device, device.node, self.evidence.found_again)
            machines.at(machines.now_s + 2 * BETWEEN_S, partial(self._begin, device, find))

    def _begin(self, device: VirtualDevice, action: Callable[[], Coroutine[Any, Any, None]]) -> None:
        device.running().begin(action())

    def _count_remains(self) -> None:
        evidence = self.evidence
        for device in self.devices:
            if device.node is not None and device.machine is not None:
                own, loop = device.node.device, device.machine.loop
                remains = Remains(
                    len(own.neighbours()),
                    own.host.link.unacknowledged,
                    device.disk.records(),
                    sum(1 for kind in UNFINISHED for _ in device.disk.items(kind)),
                    loop.timers(),
                )
                evidence.remains[device.index] = remains
                evidence.off_s[device.index] = self._off_s(device.node)
            if device.machine is not None:
                evidence.failures += [str(context) for context in device.machine.loop.failures]

    async def _ask_for_more(self, device: VirtualDevice, node: Node, one: LiveSubscription) -> None:
        """Past matches come in batches."""
        try:
            while node.remaining(one.sid):
                await node.more(one.sid, PAST)
        except Exception as error:
            self.evidence.failures.append(f"node {device.index} cannot ask for more: {error!r}")

    async def _look(self, device: VirtualDevice, node: Node) -> None:
        evidence = self.evidence
        for one in evidence.subscriptions:
            if one.node == device.index and not one.ended:
                await self._ask_for_more(device, node, one)
        keys = {key[2:] for key in self.told_s if key[0] == device.index}
        for name, owner in sorted(keys)[:RETRIEVED]:
            made = evidence.objects.get((name, owner))
            if made is None or not made.lives:
                continue
            try:
                evidence.contents[(device.index, name, owner)] = await node.retrieve(f"{name}@{owner + 1}")
            except Exception as error:
                evidence.contents[(device.index, name, owner)] = repr(error)
        try:
            await node.find(ALL)  # the first search may meet routes of a node that was started again
        except Exception as error:
            evidence.failures.append(f"node {device.index} cannot search: {error!r}")
            return
        await self._find(device, node, evidence.found)

    async def _find(self, device: VirtualDevice, node: Node, found: dict[int, set[tuple[str, int]]]) -> None:
        try:
            known = await node.find(ALL)
        except Exception as error:
            self.evidence.failures.append(f"node {device.index} cannot search: {error!r}")
            return
        found[device.index] = {(metadata.key.oid, metadata.key.owner - 1) for metadata in known}
