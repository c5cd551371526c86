"""Playing a history with whole, unmodified live nodes, and writing down what applications saw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import msgspec

from thyme.fuzz.live.histories import ACTIVE_S, QUERIES, SETTLE_S, History, Step
from thyme.fuzz.live.machines import EPOCH_S, Machine, Machines, Weather
from thyme.host import MemoryStore
from thyme.live import Node
from thyme.live.node.clock import Clock
from thyme.live.node.notifications import Notice
from thyme.model.geometry import Point

IDLE_S = 20.0
"""Idle time at the end, to measure idle traffic."""
SETTINGS: dict[str, dict[str, Any]] = {"dcs": {"grid": {"width_m": 40.0, "height_m": 40.0}}}
PORT = 9_000
MAX_MACHINES = 1_000
"""Starts and restarts in one history."""
RETRIEVED = 5
"""Objects that each node retrieves at the end."""
PAST = 1_000
"""Past matches that are asked for at once."""


class Inserted(msgspec.Struct):
    name: str
    node: int
    tags: tuple[str, ...]
    content: bytes
    acknowledged: bool = False
    deletion_begun: bool = False
    deleted: bool = False


class Subscribed(msgspec.Struct):
    node: int
    query: int
    sid: int
    ended: bool = False
    """Whether it was to be ended, successfully or not."""


class Evidence(msgspec.Struct):
    """What was done, and what applications saw."""

    objects: dict[tuple[str, int], Inserted] = {}
    subscriptions: list[Subscribed] = []
    notices: Counter[tuple[int, int, str, int]] = msgspec.field(default_factory=Counter)
    """How often a node (index) was notified, for a subscription (sid), of an object (name, owner's index)."""
    found: dict[int, set[tuple[str, int]]] = {}
    contents: dict[tuple[int, str, int], bytes | str] = {}
    """Contents that a node retrieved at the end, or why it could not."""
    peers: dict[int, int] = {}
    wrong_clocks: int = 0
    off_s: dict[int, float] = {}
    """Offset of each node's time from the correct time at the end."""
    idle_frames_per_s: dict[int, float] = {}
    failures: list[str] = []
    states: Counter[str] = msgspec.field(default_factory=Counter)
    """How often each state of interest occurred."""
    timeline: list[str] = []


class _Slot:
    """One person's device, through all its restarts."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.store = MemoryStore()
        self.wrong_s = 0.0
        self.moves = 0
        self.machine: Machine | None = None
        self.node: Node | None = None


class Player:
    def __init__(self, history: History) -> None:
        self.history = history
        self.machines = Machines(history.seed)
        self.evidence = Evidence()
        self._slots = [_Slot(index) for index in range(history.nodes)]
        self._weather = 0

    def play(self) -> Evidence:
        machines = self.machines
        for step in self.history.steps:
            machines.at(step.at_s, partial(self._step, step))
        machines.run(ACTIVE_S)
        self._repair()
        machines.run(ACTIVE_S + SETTLE_S)
        before = Counter(machines.counts)
        machines.run(machines.now_s + IDLE_S)
        for slot in self._slots:
            name = f"sent by {slot.index}"
            self.evidence.idle_frames_per_s[slot.index] = (machines.counts[name] - before[name]) / IDLE_S
        self._examine()
        self.evidence.wrong_clocks = sum(abs(slot.wrong_s) > 1.0 for slot in self._slots)
        for what in ("lost", "duplicated", "cut off"):
            self.evidence.states[f"datagrams {what}"] += machines.counts[what]
        machines.close()
        return self.evidence

    def _say(self, text: str) -> None:
        self.evidence.timeline.append(f"{self.machines.now_s:8.3f}  {text}")

    def _step(self, step: Step) -> None:
        slot = self._slots[step.node]
        running = slot.machine is not None and slot.machine.runs and slot.node is not None
        match step.what:
            case "start":
                slot.wrong_s = step.given
                self._start(slot)
            case "insert" if running:
                self._insert(slot, *step.given)
            case "delete" if running:
                self._delete(slot, step.given)
            case "subscribe" if running:
                self._subscribe(slot, step.given)
            case "unsubscribe" if running:
                self._unsubscribe(slot, step.given)
            case "kill" | "pause" | "suspend" | "move" | "set clock" if running:
                self._fault(slot, step)
            case "part":
                self._part(step)
            case "weather":
                self._change_weather(step)
            case _:
                self._say(f"{step.node}: {step.what} left out, as it is not running")

    def _start(self, slot: _Slot) -> None:
        hosts = (f"10.0.{slot.moves}.{slot.index + 1}", f"fd00::{slot.moves}:{slot.index + 1}")
        slot.machine = machine = self.machines.start(str(slot.index), hosts, slot.wrong_s)
        self._say(f"{slot.index}: started")

        async def live() -> None:
            host = "[::]" if self.history.everywhere else hosts[0]
            node = Node(
                slot.index + 1,
                store=slot.store,
                clock=Clock(device=machine.wall),
                network=machine,
                listen=f"{host}:{PORT}",
                approach=self.history.approach,
                settings=SETTINGS.get(self.history.approach, {}),
                seed=MAX_MACHINES * self.history.seed + machine.number,
                position=Point(10.0 + slot.index, 10.0),
            )
            node.on_notice = partial(self._notice, slot)
            await node.__aenter__()
            slot.node = node
            self._say(f"{slot.index}: takes part")

        machine.begin(live())

    def _notice(self, slot: _Slot, notice: Notice) -> None:
        key = notice.metadata.key
        self.evidence.notices[(slot.index, notice.subscription.sid, key.oid, key.owner - 1)] += 1
        self._say(f"{slot.index}: notified of {key.oid}@{key.owner - 1} for subscription {notice.subscription.sid}")

    def _do(
        self, slot: _Slot, text: str, action: Callable[[Node], Awaitable[Any]], done: Callable[[Any], None]
    ) -> None:
        node, machine = slot.node, slot.machine
        assert node is not None
        assert machine is not None

        async def act() -> None:
            try:
                result = await action(node)
            except Exception as error:
                self._say(f"{slot.index}: {text} failed: {error!r}")
                self.evidence.states["operations failed"] += 1
                return
            done(result)
            self._say(f"{slot.index}: {text} done")

        self._say(f"{slot.index}: {text}")
        machine.begin(act())

    def _insert(self, slot: _Slot, name: str, tags: tuple[str, ...], size: int) -> None:
        content = f"{name} of {slot.index} ".encode() * (1 + size // 10)
        made = self.evidence.objects[(name, slot.index)] = Inserted(name, slot.index, tags, content[:size])

        def done(_: object) -> None:
            made.acknowledged = True

        self._do(
            slot, f"insert {name} {'+'.join(tags)} ({size} B)", lambda node: node.insert(name, made.content, tags), done
        )

    def _delete(self, slot: _Slot, name: str) -> None:
        made = self.evidence.objects.get((name, slot.index))
        if made is None or not made.acknowledged:
            return
        made.deletion_begun = True

        def done(_: object) -> None:
            made.deleted = True

        self._do(slot, f"delete {name}", lambda node: node.delete(name), done)

    def _subscribe(self, slot: _Slot, query: int) -> None:
        def done(stream: Any) -> None:
            self.evidence.subscriptions.append(Subscribed(slot.index, query, stream.key.sid))

        self._do(slot, f"subscribe {QUERIES[query][0]}", lambda node: node.subscribe(QUERIES[query][0]), done)

    def _unsubscribe(self, slot: _Slot, number: int) -> None:
        mine = [one for one in self.evidence.subscriptions if one.node == slot.index and not one.ended]
        if mine:
            one = mine[number % len(mine)]
            one.ended = True
            self._do(slot, f"unsubscribe {one.sid}", lambda node: node.unsubscribe(one.sid), lambda _: None)

    def _fault(self, slot: _Slot, step: Step) -> None:
        machine, machines = slot.machine, self.machines
        assert machine is not None
        self.evidence.states[step.what] += 1
        if step.what in ("pause", "suspend") and step.lasts_s > 15.0:
            self.evidence.states[f"{step.what} for longer than peers wait"] += 1
        self._say(f"{slot.index}: {step.what} {step.given or ''} for {step.lasts_s:g} s")
        match step.what:
            case "kill":
                machines.kill(machine)
                slot.node = None
                machines.at(machines.now_s + step.lasts_s, partial(self._start, slot))
            case "pause":
                machine.paused = True
                machines.at(machines.now_s + step.lasts_s, partial(setattr, machine, "paused", False))
            case "suspend":
                machines.suspend(machine, step.lasts_s)
            case "set clock":
                slot.wrong_s = machine.wrong_s = step.given
            case "move" if self.history.everywhere:
                slot.moves += 1
                machine.hosts = (f"10.0.{slot.moves}.{slot.index + 1}", f"fd00::{slot.moves}:{slot.index + 1}")

    def _part(self, step: Step) -> None:
        self.evidence.states["partition"] += 1
        self._say(f"the nodes below {step.given} are cut off for {step.lasts_s:g} s")
        self.machines.parts = {str(index): 1 for index in range(step.given)}
        self.machines.at(self.machines.now_s + step.lasts_s, self._merge)

    def _merge(self) -> None:
        self._say("the network is in one part")
        self.machines.parts = {}

    def _change_weather(self, step: Step) -> None:
        self.evidence.states["bad weather"] += 1
        self._say(f"the network: {step.given} for {step.lasts_s:g} s")
        self._weather += 1
        number, self.machines.weather = self._weather, step.given

        def end() -> None:
            if self._weather == number:
                self.machines.weather = Weather()

        self.machines.at(self.machines.now_s + step.lasts_s, end)

    def _repair(self) -> None:
        """Faults that are still under way end by themselves at this time; the network is whole."""
        self._merge()
        self.machines.weather = Weather()

    def _examine(self) -> None:
        """Every node searches for everything, and retrieves some of what it was notified of."""
        evidence, machines = self.evidence, self.machines
        for slot in self._slots:
            if slot.node is None or slot.machine is None or not slot.machine.runs:
                evidence.failures.append(f"node {slot.index} does not run at the end")
                continue
            slot.machine.begin(self._look(slot, slot.node))
        machines.run(machines.now_s + 60.0)
        for slot in self._slots:
            if slot.node is not None:
                evidence.peers[slot.index] = len(slot.node.device.neighbours())
                evidence.off_s[slot.index] = slot.node.now() - EPOCH_S - machines.now_s
            if slot.machine is not None:
                evidence.failures += [str(context) for context in slot.machine.loop.failures]

    async def _ask_for_more(self, slot: _Slot, node: Node, one: Subscribed) -> None:
        """Past matches come in batches."""
        try:
            while node.remaining(one.sid):
                await node.more(one.sid, PAST)
        except Exception as error:
            self.evidence.failures.append(f"node {slot.index} cannot ask for more: {error!r}")

    async def _look(self, slot: _Slot, node: Node) -> None:
        evidence = self.evidence
        for one in evidence.subscriptions:
            if one.node == slot.index and not one.ended:
                await self._ask_for_more(slot, node, one)
        keys = {key[2:] for key in evidence.notices if key[0] == slot.index}
        for name, owner in sorted(keys)[:RETRIEVED]:
            made = evidence.objects[(name, owner)]
            if made.deletion_begun:
                continue
            try:
                evidence.contents[(slot.index, name, owner)] = await node.retrieve(f"{name}@{owner + 1}")
            except Exception as error:
                evidence.contents[(slot.index, name, owner)] = repr(error)
        try:
            await node.find("a | b | c")  # the first search may meet routes of a node that was started again
            found = await node.find("a | b | c")
        except Exception as error:
            evidence.failures.append(f"node {slot.index} cannot search: {error!r}")
            return
        evidence.found[slot.index] = {(metadata.key.oid, metadata.key.owner - 1) for metadata in found}
