"""A trial of an emulated crowd: a workload drawn from a seed, with walkers, kills and a partition.

Users subscribe to what some care about, and share objects. Tags are as unequal as people's interests: the second is
half as frequent as the first, the third a third.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

import msgspec

from thyme.drafts import drafted
from thyme.live.emulation.area import AirOptions, EmulatedArea, scattered
from thyme.live.emulation.stage import Stage, StageOptions
from thyme.live.node.logs.log import read_log
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.model.settings.bounds import NotNegative, Positive

TAGS = ("goal", "crowd", "portugal", "france", "replay", "save", "corner", "card", "final", "anthem")


class WorkloadOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    duration_s: Positive = 60.0
    inserts_per_s: Positive = 2.0
    """Of the whole crowd."""
    size_bytes: int = 20_000
    deletes: NotNegative = 0.05
    """Part of the objects that their owners delete before the end."""
    settle_s: NotNegative = 3.0
    """Between the subscriptions, which come first, and what is shared."""


def operations_of(options: WorkloadOptions, nodes: int, begin_s: float, seed: int) -> list[Operation]:
    """The trace, in order of time, from `begin_s` on."""
    random = Random(f"{seed}/workload")
    planned: list[Operation] = []
    for node in range(nodes):
        at_s = begin_s + random.uniform(0.0, options.settle_s / 2.0)
        wanted, unwanted = _tags(random, 2)
        query = wanted if random.random() < 0.7 else f"{wanted} & !{unwanted}"
        start_s = None if random.random() < 0.3 else at_s
        planned.append(Operation(0, at_s, NodeId(node), OperationKind.SUBSCRIBE, sid=0, query=query, start_s=start_s))
    at_s, count = begin_s + options.settle_s, 0
    while (at_s := at_s + random.expovariate(options.inserts_per_s)) < begin_s + options.duration_s:
        node, count = NodeId(random.randrange(nodes)), count + 1
        tags = tuple(sorted(_tags(random, random.randint(1, 3))))
        size_bytes = max(1, round(options.size_bytes * random.lognormvariate(-0.5, 1.0)))
        planned.append(
            Operation(0, at_s, node, OperationKind.INSERT, oid=f"photo{count}", tags=tags, size_bytes=size_bytes)
        )
        if random.random() < options.deletes:
            gone_s = random.uniform(at_s, begin_s + options.duration_s)
            planned.append(Operation(0, gone_s, node, OperationKind.DELETE, oid=f"photo{count}"))
    planned.sort(key=lambda each: each.at_s)
    return [msgspec.structs.replace(each, operation=number) for number, each in enumerate(planned)]


def _tags(random: Random, count: int) -> Sequence[str]:
    """Different ones, the frequent ones more often."""
    chosen: dict[str, None] = {}
    weights = [1.0 / (rank + 1) for rank in range(len(TAGS))]
    while len(chosen) < count:
        chosen[random.choices(TAGS, weights)[0]] = None
    return list(chosen)


LEAD_S = 1.0
"""Between the last to join and the first operation."""


class TrialOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    nodes: int
    air: AirOptions
    stage: StageOptions = StageOptions()
    workload: WorkloadOptions = WorkloadOptions()
    walkers: int = 0
    kills: int = 0
    """Members that are killed without a goodbye, evenly over the trial, …"""
    revive_s: float = 10.0
    """… and start again on their stores after this time; 0: never."""
    rest_s: float = 5.0
    """For what is under way when the workload ends."""
    cut: tuple[float, float] | None = None
    """The area falls into two halves between these seconds of the workload."""

    def __post_init__(self) -> None:
        if not 0 <= self.kills <= self.nodes:
            raise InputError(f"{self.kills} of {self.nodes} members cannot be killed")
        if not 0 <= self.walkers <= self.nodes:
            raise InputError(f"{self.walkers} of {self.nodes} members cannot walk")
        if self.cut is not None and not 0.0 <= self.cut[0] < self.cut[1]:
            raise InputError(
                f"the cut lasts from {self.cut[0]:g} to {self.cut[1]:g} s; expected the start before the end"
            )


class Trial:
    def __init__(self, options: TrialOptions, folder: Path) -> None:
        seed = options.stage.seed
        self.options = options
        self.stage = Stage(
            EmulatedArea(options.air, scattered(options.air, options.nodes, seed), seed), options.stage, folder
        )
        self.operations: list[Operation] = []
        self.begun_s: float | None = None
        """When the workload began, by the crowd's time."""

    async def run(self, told: Callable[[str], None], *, stay: bool = False) -> list[Operation]:
        """Play the workload to its end, and if wanted stay until cancelled; the operations that were planned."""
        stage, options = self.stage, self.options
        begin = [stage.walk_on(), self._kill(told), self._cut(told)]
        try:
            await stage.open()
            heard = len(stage.area.links())
            told(f"{options.nodes} members have joined after {stage.now():.0f} s; {heard} pairs hear each other")
            self.begun_s = stage.now() + LEAD_S
            self.operations = operations_of(options.workload, options.nodes, self.begun_s, options.stage.seed)
            stage.walk(range(options.walkers))
            happening = [asyncio.ensure_future(each) for each in begin]
            begin = []
            try:
                await stage.play(self.operations)
                await asyncio.sleep(max(0.0, self.begun_s + options.workload.duration_s + options.rest_s - stage.now()))
                if stay:
                    told("the workload is over; press Ctrl-C to stop the crowd")
                    with suppress(asyncio.CancelledError):
                        await asyncio.Event().wait()
            finally:
                for each in happening:
                    each.cancel()
                await asyncio.gather(*happening, return_exceptions=True)
        finally:
            for unused in begin:
                unused.close()
            await stage.close()
        return self.operations

    async def _kill(self, told: Callable[[str], None]) -> None:
        """One after the other, those that the seed says."""
        stage, options = self.stage, self.options
        if not options.kills:
            return
        chosen = Random(f"{options.stage.seed}/kills").sample(range(options.nodes), options.kills)
        every_s = options.workload.duration_s / (options.kills + 1)
        reviving = []
        try:
            for node in chosen:
                await asyncio.sleep(every_s)
                stage.kill(node)
                told(f"{stage.now():.0f} s: node {node} was killed")
                if options.revive_s:
                    reviving.append(asyncio.ensure_future(self._revive(node, told)))
            await asyncio.gather(*reviving)
        finally:
            for each in reviving:
                each.cancel()

    async def _revive(self, node: int, told: Callable[[str], None]) -> None:
        await asyncio.sleep(self.options.revive_s)
        await self.stage.start(node)
        told(f"{self.stage.now():.0f} s: node {node} is back")

    async def _cut(self, told: Callable[[str], None]) -> None:
        if self.options.cut is None:
            return
        begins_s, ends_s = self.options.cut
        await asyncio.sleep(begins_s)
        self.stage.area.cut_at_m = self.options.air.width_m / 2.0
        told(f"{self.stage.now():.0f} s: the area is cut in two")
        await asyncio.sleep(ends_s - begins_s)
        self.stage.area.cut_at_m = None
        told(f"{self.stage.now():.0f} s: the area is whole again")


def write_events(logs: Sequence[Path], path: Path) -> int:
    """The events of all members in order of time, as one Parquet file; how many."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.concat_tables([read_log(log) for log in logs]).sort_by([("at_s", "ascending"), ("node", "ascending")])
    with drafted(path) as draft:
        pq.write_table(table, draft, compression="zstd")
    return int(table.num_rows)
