"""What users do besides posting, drawn user by user (Thyme FGCS §9.2).

Subscriptions, deletes and unsubscribes are Poisson processes, whose gaps are exponential draws named by (seed,
user, index); a change of rate stretches the same draws. A delete takes one of the user's own earlier objects
that is still there, an unsubscribe one of their own earlier subscriptions; with none left, nothing happens. Which
object it is is decided apart from when (`take_objects`), so that only the objects of those who delete are gathered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from thyme.model.errors import InputError
from thyme.pipeline.chance import exponentials, uniforms

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = dict[str, list[Any]]
"""Drawn operations, column by column."""

MAX_PER_HOUR = 100_000.0
"""Operations of one user; a trace holds them all."""
DRAWS_AT_ONCE = 4
MIN_EVENT_S, MAX_EVENT_S = 1.0, 366 * 86_400.0
SHAPES = ("single", "conjunction", "disjunction", "negation")
DRAWN_COLUMNS = (
    ("node", "int64"),
    ("kind", "string"),
    ("at_s", "float64"),
    ("oid", "string"),
    ("sid", "int64"),
    ("start_s", "float64"),
    ("end_s", "float64"),
    ("tag_draw", "float64"),
    ("companion_draw", "float64"),
    ("shape", "string"),
)
TAKEN_COLUMNS = (("node", "int64"), ("at_s", "float64"), ("oid", "string"))


class QueryMix(msgspec.Struct, frozen=True):
    """Shares of query shapes and the number of tags in those with several; the paper has single tags."""

    single: float = 1.0
    conjunction: float = 0.0
    disjunction: float = 0.0
    negation: float = 0.0
    tags: int = 2

    def __post_init__(self) -> None:
        shares = self.shares()
        if not (min(shares) >= 0.0 and abs(sum(shares) - 1.0) <= 1e-9):
            raise InputError(f"the shares of query shapes are {shares}; expected shares that sum to 1")
        if not 2 <= self.tags <= 8:
            raise InputError(f"queries of several tags have {self.tags} of them; expected from 2 to 8")

    def shares(self) -> tuple[float, ...]:
        return (self.single, self.conjunction, self.disjunction, self.negation)


class Rates(msgspec.Struct, frozen=True):
    """Operations per user and hour, over the time line of the event in seconds from its start."""

    half_time_s: float = 6_300.0
    second_half_s: float = 7_200.0
    subscriptions_first_per_hour: float = 3.0
    subscriptions_rest_per_hour: float = 1.0
    deletes_per_hour: float = 0.5
    unsubscribes_per_hour: float = 0.2
    always_share: float = 0.6
    """Subscriptions that are time independent; the others ask for the future, unless the shares below say otherwise."""
    past_share: float = 0.0
    """Subscriptions on what there was before them."""
    frame_share: float = 0.0
    """Subscriptions on a frame of `frame_s` of the event, half of it before them and half of it after."""
    frame_s: float = 1_800.0

    def __post_init__(self) -> None:
        figures = msgspec.structs.asdict(self)
        for name, value in figures.items():
            most = MAX_PER_HOUR if name.endswith("_per_hour") else MAX_EVENT_S
            if not 0.0 <= value <= most:
                raise InputError(f"{name} is {value:g}; expected a number from 0 to {most:,g}")
        if sum(self.form_shares()) > 1.0:
            shares = ", ".join(f"{share:g}" for share in self.form_shares())
            raise InputError(
                f"always_share, past_share and frame_share are {shares}; expected shares that sum to 1 at most"
            )

    def form_shares(self) -> tuple[float, float, float]:
        """Of subscriptions that do not depend on time, on the past, and on a frame; the rest is on the future."""
        return (self.always_share, self.past_share, self.frame_share)


class Compression(msgspec.Struct, frozen=True):
    """The event's hours played in minutes: `window_s` seconds become `duration_s`, from `first_s` on."""

    window_s: float = 10_800.0
    duration_s: float = 600.0
    first_s: float = 60.0

    def __post_init__(self) -> None:
        for name, least_s in (("window_s", MIN_EVENT_S), ("duration_s", MIN_EVENT_S), ("first_s", 0.0)):
            value_s = getattr(self, name)
            if not least_s <= value_s <= MAX_EVENT_S:
                raise InputError(f"{name} is {value_s:g}; expected seconds from {least_s:g} to {MAX_EVENT_S:,g}")

    def played_s(self, since_start_s: Floats) -> Floats:
        return np.round(self.first_s + since_start_s * (self.duration_s / self.window_s), 6)


Phases = tuple[tuple[float, float, float], ...]
"""(from, until, operations per hour), in order, in seconds from the event's start."""


def arrivals(seed: int, purpose: str, nodes: Ints, phases: Phases) -> tuple[Ints, Floats, Ints]:
    """Poisson arrivals of each node: the node's position in `nodes`, the time, and the arrival's index."""
    spans = np.array([max(0.0, until - start) * rate / 3600.0 for start, until, rate in phases])
    total = float(spans.sum())
    if total <= 0.0 or len(nodes) == 0:
        return np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    found, loads = [], np.zeros(len(nodes))
    whose, column = np.arange(len(nodes)), 0
    while len(whose):  # most users are done after a few draws, and the others go on
        gaps = exponentials(seed, purpose, nodes[whose, None], np.arange(column, column + DRAWS_AT_ONCE)[None, :])
        load = np.cumsum(np.concatenate([loads[whose, None], gaps], axis=1), axis=1)
        who, index = np.nonzero(load[:, 1:] < total)
        found.append((whose[who], load[who, index + 1], index + column))
        loads[whose] = load[:, -1]
        whose, column = whose[load[:, -1] < total], column + DRAWS_AT_ONCE
    who, reached, index = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(who, kind="stable")
    return who[order], _times(reached[order], spans, phases), index[order]


def _times(load: Floats, spans: Floats, phases: Phases) -> Floats:
    """Where on the time line the accumulated rate reaches each load."""
    before = np.concatenate([[0.0], np.cumsum(spans)])
    phase = np.clip(np.searchsorted(before, load, side="right") - 1, 0, len(phases) - 1)
    starts = np.array([start for start, _, _ in phases])
    rates = np.array([rate for _, _, rate in phases])
    times: Floats = starts[phase] + (load - before[phase]) * 3600.0 / rates[phase]
    return times


class UserOperations(msgspec.Struct, frozen=True):
    """Draws the operations of users, batch by batch of ⟨node, subscribes⟩. A delete has no object yet, but its number
    among those of its user (`sid`) and the draw by which it takes one (`tag_draw`)."""

    seed: int
    rates: Rates
    mix: QueryMix
    compression: Compression

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield self.draw(batch)

    def draw(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        nodes = np.asarray(batch["node"].to_numpy(zero_copy_only=False), dtype=np.int64)
        subscribing = np.flatnonzero(np.asarray(batch["subscribes"].to_numpy(zero_copy_only=False), dtype=bool))
        rows = self._subscriptions(nodes[subscribing])
        times: dict[int, list[float]] = {}
        for node, at_s in zip(rows["node"], rows["at_s"], strict=True):
            times.setdefault(node, []).append(at_s)
        self._deletes(rows, nodes)
        self._unsubscribes(rows, nodes, times)
        arrays = [pa.array(rows[name], _ARROW[kind]) for name, kind in DRAWN_COLUMNS]
        return pa.record_batch(arrays, [name for name, _ in DRAWN_COLUMNS])

    def _subscriptions(self, nodes: Ints) -> Rows:
        rates, end_s = self.rates, self.compression.window_s
        border_s = min(rates.half_time_s, end_s)
        phases = (
            (0.0, border_s, rates.subscriptions_first_per_hour),
            (border_s, end_s, rates.subscriptions_rest_per_hour),
        )
        who, at_s, index = arrivals(self.seed, "subscriptions", nodes, phases)
        nodes = nodes[who]
        played_s = self.compression.played_s(at_s)
        forms = np.cumsum(rates.form_shares())
        form = np.searchsorted(forms, uniforms(self.seed, "frames", nodes, index), side="right")
        starts_s, ends_s = self._frames(form, played_s)
        borders = np.cumsum(self.mix.shares())[:-1]
        shapes = np.searchsorted(borders, uniforms(self.seed, "shapes", nodes, index), side="right")
        count = len(nodes)
        return {
            "node": nodes.tolist(),
            "kind": ["subscribe"] * count,
            "at_s": played_s.tolist(),
            "oid": [""] * count,
            "sid": index.tolist(),
            "start_s": starts_s,
            "end_s": ends_s,
            "tag_draw": uniforms(self.seed, "tags", nodes, index).tolist(),
            "companion_draw": uniforms(self.seed, "companions", nodes, index).tolist(),
            "shape": [SHAPES[shape] for shape in shapes],
        }

    def _frames(self, form: Ints, played_s: Floats) -> tuple[list[float | None], list[float | None]]:
        """Where the frame of each subscription begins and ends, by its form: always, past, a frame, future."""
        pace = self.compression.duration_s / self.compression.window_s
        half_s = self.rates.frame_s * pace / 2.0
        starts_s, ends_s = [], []
        for which, at_s in zip(form.tolist(), played_s.tolist(), strict=True):
            around = (round(max(0.0, at_s - half_s), 6), round(at_s + half_s, 6))
            start_s, end_s = ((None, None), (None, at_s), around, (at_s, None))[which]
            starts_s.append(start_s)
            ends_s.append(end_s)
        return starts_s, ends_s

    def _late(self, kind: str, rate: float, nodes: Ints) -> Iterator[tuple[int, float, int, float]]:
        """⟨node, time, index, draw⟩ of what users take back in the second half."""
        phases = ((self.rates.second_half_s, self.compression.window_s, rate),)
        who, at_s, index = arrivals(self.seed, kind, nodes, phases)
        draws = uniforms(self.seed, f"{kind} which", nodes[who], index)
        played_s = self.compression.played_s(at_s)
        return zip(nodes[who].tolist(), played_s.tolist(), index.tolist(), draws.tolist(), strict=True)

    def _deletes(self, rows: Rows, nodes: Ints) -> None:
        for node, at_s, index, draw in self._late("delete", self.rates.deletes_per_hour, nodes):
            _append(rows, node, "delete", at_s, index, draw)

    def _unsubscribes(self, rows: Rows, nodes: Ints, subscribed: dict[int, list[float]]) -> None:
        gone: set[tuple[int, int]] = set()
        for node, at_s, _, draw in self._late("unsubscribe", self.rates.unsubscribes_per_hour, nodes):
            open_ones = [
                one for one, made_s in enumerate(subscribed.get(node, ())) if made_s < at_s and (node, one) not in gone
            ]
            if open_ones:
                chosen = open_ones[int(draw * len(open_ones))]
                gone.add((node, chosen))
                _append(rows, node, "unsubscribe", at_s, chosen, 0.0)


def _append(rows: Rows, node: int, kind: str, at_s: float, sid: int, draw: float) -> None:
    values = (node, kind, at_s, "", sid, None, None, draw, 0.0, "")
    for (name, _), value in zip(DRAWN_COLUMNS, values, strict=True):
        rows[name].append(value)


def take_objects(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which object each delete takes, from batches of ⟨node, deletes: [⟨sid, at_s, tag_draw⟩], objects: [⟨at_s, oid⟩]⟩,
    both lists in order."""
    for batch in batches:
        taken: list[tuple[int, float, str]] = []
        for row in batch.to_pylist():
            deletes = [(delete["at_s"], delete["tag_draw"]) for delete in row["deletes"]]
            objects = [(one["at_s"], one["oid"]) for one in row["objects"]]
            taken.extend((row["node"], at_s, oid) for at_s, oid in taken_objects(deletes, objects))
        columns = list(zip(*taken, strict=True)) or [(), (), ()]
        arrays = [pa.array(values, _ARROW[kind]) for values, (_, kind) in zip(columns, TAKEN_COLUMNS, strict=True)]
        yield pa.record_batch(arrays, [name for name, _ in TAKEN_COLUMNS])


def taken_objects(
    deletes: Sequence[tuple[float, float]], objects: Sequence[tuple[float, str]]
) -> Iterator[tuple[float, str]]:
    """When each of a user's deletes (⟨when, draw⟩) takes which of the user's objects (⟨when, name⟩), both in order."""
    gone: set[int] = set()
    for at_s, draw in deletes:
        there = [place for place, (inserted_s, _) in enumerate(objects) if inserted_s < at_s and place not in gone]
        if there:
            chosen = there[int(draw * len(there))]
            gone.add(chosen)
            yield at_s, objects[chosen][1]


_ARROW = {"int64": pa.int64(), "float64": pa.float64(), "string": pa.string()}
