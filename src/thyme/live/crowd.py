"""A crowd in one process: several live nodes over real UDP sockets, whose users play the operations of a trace.

Who hears whom is an adjacency list. All nodes share one clock that shows the trace's time, faster than time if
wanted. A patient crowd carries out one operation after the other: when the time of one has come, it still waits
until the last has ended and no packet is on its way, and the clock stands still meanwhile, so that the outcome does
not depend on how busy the machine is. Users ask for older matches as long as there are any, and fetch what the policy
tells them to.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from random import Random
from typing import Any

import msgspec

from thyme.live.node.clock import Clock
from thyme.live.node.log import MemoryLog
from thyme.live.node.node import Node
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.node.ongoing import OperationError
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation, RetrievalPolicy
from thyme.model.records import LogRecord, OperationKind

Adjacency = Mapping[int, Sequence[int]]
REACTION_NUMBERS = 1_000_000_000
"""Operations that are reactions to notifications are numbered from here on, apart from the trace's."""


class CrowdOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    approach: str = "ls"
    settings: dict[str, Any] = {}
    seed: int = 1
    speed: float = 1.0
    """Seconds of the trace per second."""
    patient: bool = False
    until_s: float = 0.0
    """How long the trace's time goes on; at least to the last operation."""
    retrieval: RetrievalPolicy = RetrievalPolicy()
    ask_more: bool = True
    quiet_checks: int = 5
    """The network is quiet when nothing but control was sent or heard between this many looks, …"""
    quiet_look_s: float = 0.02
    """… which are this far apart: longer than the approaches wait at random before they pass something on."""
    patience_s: float = 60.0
    """How long to wait for the crowd to join, or for quiet, before giving up."""


class CrowdError(RuntimeError):
    """The crowd did not get as far as it should have in the time it had."""


class Crowd:
    """Nodes 0 to n − 1, each with a socket of its own."""

    def __init__(self, neighbours: Adjacency, options: CrowdOptions | None = None) -> None:
        self._options = options or CrowdOptions()
        self._neighbours = {node: tuple(heard) for node, heard in neighbours.items()}
        for node, heard in self._neighbours.items():
            for other in heard:
                if node not in self._neighbours.get(other, ()):
                    raise InputError(f"node {node} hears node {other}, but node {other} does not hear node {node}")
        self.log = MemoryLog()
        self._nodes: dict[int, Node] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._mistakes: list[BaseException] = []
        self._looking = 0
        self._fetched: set[tuple[int, str]] = set()
        self._randoms = {node: Random(f"{self._options.seed}/{node}/user") for node in self._neighbours}
        self._reactions = REACTION_NUMBERS

    async def play(self, operations: Iterable[Operation]) -> MemoryLog:
        """Bring the crowd up, play the trace, let it settle, and take it down; what happened, in the log."""
        trace = sorted(operations, key=lambda each: (each.at_s, each.operation))
        for operation in trace:
            if operation.node not in self._neighbours:
                raise InputError(f"operation {operation.operation} is by node {operation.node}, who is not there")
        clock = Clock(0.0, self._options.speed)
        if trace:
            clock.hold_at(trace[0].at_s)
        try:
            await self._come_up(clock)
            for i, operation in enumerate(trace):
                await self._reach(clock, operation.at_s)
                self._begin(self._issue(operation))
                if i + 1 < len(trace):
                    clock.hold_at(trace[i + 1].at_s)
            end_s = max([self._options.until_s, *(each.at_s for each in trace)])
            clock.hold_at(inf)
            await self._reach(clock, end_s)
            await self._settle()
        finally:
            await self._go_down(clock)
        return self.log

    async def _come_up(self, clock: Clock) -> None:
        options = self._options
        for number in self._neighbours:
            node = Node(
                number,
                clock=clock,
                log_to=_Shared(self.log),
                approach=options.approach,
                settings=options.settings,
                seed=options.seed,
                only_peers=True,
            )
            await node.open()
            self._nodes[number] = node
        for number, heard in self._neighbours.items():
            await self._nodes[number].connect([self._nodes[other].address for other in heard])
        joining = asyncio.gather(*(node.join() for node in self._nodes.values()))
        joined = asyncio.gather(*(node.device.joined.wait() for node in self._nodes.values()))
        try:
            await asyncio.wait_for(asyncio.gather(joining, joined), options.patience_s)
        except TimeoutError:
            raise CrowdError(f"not all nodes joined within {options.patience_s} s") from None

    async def _reach(self, clock: Clock, at_s: float) -> None:
        """Wait until the clock shows `at_s`; a patient crowd then waits for quiet as well."""
        while (left_s := at_s - clock.now()) > 0.0:
            await asyncio.sleep(left_s / clock.speed)
        if self._options.patient:
            await self._settle()

    async def _settle(self) -> None:
        """Wait until no operation is under way and nothing is on its way."""
        options = self._options
        loop = asyncio.get_running_loop()
        give_up_s = loop.time() + options.patience_s
        still, last = 0, -1
        while still < options.quiet_checks:
            if loop.time() > give_up_s:
                raise CrowdError(f"the crowd did not become quiet within {options.patience_s} s")
            await asyncio.sleep(options.quiet_look_s)
            activity = sum(node.device.host.activity for node in self._nodes.values())
            busy = any(len(node.ongoing) or node.device.host.link.unacknowledged for node in self._nodes.values())
            still = 0 if busy or self._looking or activity != last else still + 1
            last = activity

    async def _go_down(self, clock: Clock) -> None:
        for node in self._nodes.values():
            await node.close("end")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.log.close(clock.now())
        if self._mistakes:
            raise self._mistakes[0]

    async def _issue(self, operation: Operation) -> None:
        node = self._nodes[operation.node]
        number = operation.operation
        match operation.kind:
            case OperationKind.INSERT:
                content, summary = operation.content(), operation.summary()
                await node.insert(operation.oid, content, operation.tags, summary, number=number)
            case OperationKind.DELETE:
                await node.delete(operation.oid, number=number)
            case OperationKind.SUBSCRIBE:
                await self._subscribe(node, operation)
            case OperationKind.UNSUBSCRIBE:
                await node.unsubscribe(operation.sid, number=number)
            case _:
                raise InputError(f"operation {number}: a trace cannot contain {operation.kind.value!r}")

    async def _subscribe(self, node: Node, operation: Operation) -> None:
        stream = await node.subscribe(operation.query, operation.frame, sid=operation.sid, number=operation.operation)
        self._begin(self._react(node, stream))

    async def _react(self, node: Node, stream: Notifications) -> None:
        policy, random = self._options.retrieval, self._randoms[node.id]
        async for notice in stream:
            fetched = (node.id, str(notice.metadata.key))
            if fetched not in self._fetched and random.random() < policy.probability:
                self._fetched.add(fetched)
                delay_s = random.uniform(policy.delay_low_s, policy.delay_high_s)
                self._begin(self._fetch(node, notice, delay_s))
            with suppress(OperationError, InputError):  # the log has it; or the subscription has ended
                if self._options.ask_more and node.remaining(stream.key.sid) > 0:
                    await node.more(stream.key.sid, number=self._reaction())

    async def _fetch(self, node: Node, notice: Notice, delay_s: float) -> None:
        self._looking += 1
        await asyncio.sleep(delay_s / self._options.speed)
        self._looking -= 1
        await node.retrieve(notice.metadata, number=self._reaction())

    def _reaction(self) -> int:
        self._reactions += 1
        return self._reactions

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        """Let something happen on its own; how operations end is in the log, so their errors are not raised here."""

        async def do() -> None:
            with suppress(OperationError, InputError):
                await doing

        task = asyncio.get_running_loop().create_task(do())
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (mistake := task.exception()) is not None:
            self._mistakes.append(mistake)


class _Shared:
    """The crowd's log as one node's: it is closed by the crowd, not by each node."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        self._log.record(at_s, node, event)

    def close(self, at_s: float) -> None:
        """The others may still be writing."""
