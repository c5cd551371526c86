"""What users do besides posting, drawn user by user (Thyme FGCS §9.2), as Arrow functions inside Spark.

Subscriptions, deletes and unsubscribes are Poisson processes, whose gaps are exponential draws named by (seed, user,
index); a change of rate stretches the same draws. A delete takes one of the user's own earlier objects that still
exists, an unsubscribe one of their own earlier subscriptions; with none left, nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Meta

from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import Share
from thyme.pipeline.chance import exponentials, uniforms
from thyme.pipeline.schemas import Columns, arrow_schema

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MAX_PER_HOUR = 100_000.0
"""Operations of one user; a trace holds them all."""
DRAWS_AT_ONCE = 4
MIN_EVENT_S, MAX_EVENT_S = 1.0, 366 * 86_400.0
Hourly = Annotated[float, Meta(ge=0.0, le=MAX_PER_HOUR)]
EventTime = Annotated[float, Meta(ge=0.0, le=MAX_EVENT_S)]
EventLength = Annotated[float, Meta(ge=MIN_EVENT_S, le=MAX_EVENT_S)]
SHAPES = ("single", "conjunction", "disjunction", "negation")
DRAWN_COLUMNS: Columns = (
    ("at_s", "float64"),
    ("node", "int64"),
    ("kind", "string"),
    ("sid", "int64"),
    ("query", "string"),
    ("start_s", "float64"),
    ("end_s", "float64"),
)
DELETED_COLUMNS: Columns = (("at_s", "float64"), ("node", "int64"), ("kind", "string"), ("oid", "string"))
_SIGNS = {"conjunction": " & ", "disjunction": " | ", "negation": " & !"}


class QueryMix(SettingsRecord, frozen=True):
    """Shares of query shapes and the number of tags in those with several; the paper has single tags."""

    single: Share = 1.0
    """Share of queries for one tag."""
    conjunction: Share = 0.0
    """Share of `a & b`."""
    disjunction: Share = 0.0
    """Share of `a | b`."""
    negation: Share = 0.0
    """Share of `a & !b`."""
    tags: Annotated[int, Meta(ge=2, le=8)] = 2
    """Tags of a query that has several."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if abs(sum(self.shares()) - 1.0) > 1e-9:
            raise InputError(f"the shares of query shapes are {self.shares()}; expected shares that sum to 1")

    def shares(self) -> tuple[float, ...]:
        return (self.single, self.conjunction, self.disjunction, self.negation)


class Rates(SettingsRecord, frozen=True):
    """Operations per user and hour, over the time line of the event in seconds from its start."""

    half_time_s: EventTime = 6_300.0
    """Until then, subscriptions have the first rate."""
    second_half_s: EventTime = 7_200.0
    """From then on, users delete and unsubscribe."""
    subscriptions_first_per_hour: Hourly = 3.0
    """Subscriptions until half-time."""
    subscriptions_rest_per_hour: Hourly = 1.0
    """Subscriptions after half-time."""
    deletes_per_hour: Hourly = 0.5
    """Deletions."""
    unsubscribes_per_hour: Hourly = 0.2
    """Unsubscriptions."""
    always_share: Share = 0.6
    """Subscriptions that are time independent; the others ask for the future, unless the shares below say otherwise."""
    past_share: Share = 0.0
    """Subscriptions on what there was before them."""
    frame_share: Share = 0.0
    """Subscriptions on a frame of `frame_s` of the event, half of it before them and half of it after."""
    frame_s: EventTime = 1_800.0
    """Length of these frames."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if sum(self.form_shares()) > 1.0:
            shares = ", ".join(f"{share:g}" for share in self.form_shares())
            raise InputError(
                f"always_share, past_share and frame_share are {shares}; expected shares that sum to 1 at most"
            )

    def form_shares(self) -> tuple[float, float, float]:
        """Of subscriptions that do not depend on time, on the past, and on a frame; the rest is on the future."""
        return (self.always_share, self.past_share, self.frame_share)


class Compression(SettingsRecord, frozen=True):
    """The hours of the event in minutes: `window_s` seconds become `duration_s`, from `first_s` on."""

    window_s: EventLength = 10_800.0
    """Length of the event in the posts."""
    duration_s: EventLength = 600.0
    """Length of the event in the trace."""
    first_s: EventTime = 60.0
    """Time of the first operation in the trace."""

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


class UserDraws(msgspec.Struct, frozen=True):
    """The named draws of users' operations."""

    seed: int
    rates: Rates
    mix: QueryMix
    compression: Compression

    def subscriptions(self, nodes: Ints) -> tuple[Ints, Floats, Ints]:
        """⟨index among `nodes`, time, number of the user's subscription⟩, user by user."""
        rates, end_s = self.rates, self.compression.window_s
        border_s = min(rates.half_time_s, end_s)
        phases = (
            (0.0, border_s, rates.subscriptions_first_per_hour),
            (border_s, end_s, rates.subscriptions_rest_per_hour),
        )
        who, at_s, index = arrivals(self.seed, "subscriptions", nodes, phases)
        return who, self.compression.played_s(at_s), index

    def removals(self, kind: str, nodes: Ints) -> tuple[Ints, Floats, Floats]:
        """⟨index among `nodes`, time, draw⟩ of the deletes or unsubscribes of the second half, user by user."""
        rate = self.rates.deletes_per_hour if kind == "delete" else self.rates.unsubscribes_per_hour
        phases = ((self.rates.second_half_s, self.compression.window_s, rate),)
        who, at_s, index = arrivals(self.seed, kind, nodes, phases)
        return who, self.compression.played_s(at_s), uniforms(self.seed, f"{kind} which", nodes[who], index)


class DrawSubscriptions(msgspec.Struct, frozen=True):
    """Turns batches of ⟨node, subscribes⟩ into subscribes and unsubscribes. `popular` are the tags to ask for, as a
    query spells them, most used first; `companions` are those that most often occur together with each."""

    draws: UserDraws
    popular: Sequence[str]
    companions: Mapping[str, Sequence[str]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nodes = np.asarray(batch["node"].to_numpy(zero_copy_only=False), dtype=np.int64)
            subscribing = nodes[np.asarray(batch["subscribes"].to_numpy(zero_copy_only=False), dtype=bool)]
            who, at_s, index = self.draws.subscriptions(subscribing)
            asked = self._subscribes(subscribing[who], at_s, index) if self.popular else []
            rows = [*asked, *self._unsubscribes(nodes, subscribing[who], at_s)]
            yield _batch(rows, DRAWN_COLUMNS)

    def _subscribes(self, nodes: Ints, at_s: Floats, index: Ints) -> Iterator[tuple[Any, ...]]:
        seed, draws = self.draws.seed, self.draws
        forms = np.searchsorted(
            np.cumsum(draws.rates.form_shares()), uniforms(seed, "frames", nodes, index), side="right"
        )
        shapes = np.searchsorted(
            np.cumsum(draws.mix.shares())[:-1], uniforms(seed, "shapes", nodes, index), side="right"
        )
        tags = np.floor(uniforms(seed, "tags", nodes, index) * len(self.popular)).astype(np.int64)
        companions = uniforms(seed, "companions", nodes, index)
        columns = (nodes, at_s, index, forms, shapes, tags, companions)
        for node, when_s, sid, form, shape, tag, draw in zip(*(one.tolist() for one in columns), strict=True):
            query = self._query(self.popular[tag], SHAPES[shape], draw)
            yield (when_s, node, "subscribe", sid, query, *self._frame(form, when_s))

    def _query(self, tag: str, shape: str, draw: float) -> str:
        others = self.companions.get(tag, ())
        if shape == "single" or not others:
            return tag
        first = int(draw * len(others))
        asked = [*others, *others][first : first + min(self.draws.mix.tags - 1, len(others))]
        return _SIGNS[shape].join([tag, *asked])

    def _frame(self, form: int, at_s: float) -> tuple[float | None, float | None]:
        """Where the frame of a subscription starts and ends, by its form: always, past, a frame around it, future."""
        compression = self.draws.compression
        half_s = self.draws.rates.frame_s * (compression.duration_s / compression.window_s) / 2.0
        around = (round(max(0.0, at_s - half_s), 6), round(at_s + half_s, 6))
        return ((None, None), (None, at_s), around, (at_s, None))[form]

    def _unsubscribes(self, nodes: Ints, subscribed: Ints, at_s: Floats) -> Iterator[tuple[Any, ...]]:
        own: dict[int, list[tuple[float, int]]] = {}
        for node, when_s in zip(subscribed.tolist(), at_s.tolist(), strict=True):
            made = own.setdefault(node, [])
            made.append((when_s, len(made)))
        for node, when_s, sid in _taken(nodes, self.draws.removals("unsubscribe", nodes), own):
            yield (when_s, node, "unsubscribe", sid, None, None, None)


class DrawDeletes(msgspec.Struct, frozen=True):
    """Turns batches of ⟨node, objects: [⟨at_s, oid⟩]⟩, the objects in order, into deletes of some of them."""

    draws: UserDraws

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            nodes = np.asarray(batch["node"].to_numpy(zero_copy_only=False), dtype=np.int64)
            own = {
                row["node"]: [(one["at_s"], one["oid"]) for one in row["objects"]]
                for row in batch.select(["node", "objects"]).to_pylist()
            }
            rows = [
                (at_s, node, "delete", oid)
                for node, at_s, oid in _taken(nodes, self.draws.removals("delete", nodes), own)
            ]
            yield _batch(rows, DELETED_COLUMNS)


def _batch(rows: Sequence[tuple[Any, ...]], columns: Columns) -> pa.RecordBatch:
    schema = arrow_schema(columns)
    values = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.record_batch([pa.array(c, f.type) for c, f in zip(values, schema, strict=True)], schema=schema)


def _taken(
    nodes: Ints, removals: tuple[Ints, Floats, Floats], own: Mapping[int, Sequence[tuple[float, Any]]]
) -> Iterator[tuple[int, float, Any]]:
    """⟨node, time, name⟩: which of a user's own things (⟨time, name⟩) each removal takes."""
    gone: set[tuple[int, int]] = set()
    who, when_s, draws = removals
    for node, at_s, draw in zip(nodes[who].tolist(), when_s.tolist(), draws.tolist(), strict=True):
        mine = own.get(node, ())
        there = [place for place, (made_s, _) in enumerate(mine) if made_s < at_s and (node, place) not in gone]
        if there:
            chosen = there[int(draw * len(there))]
            gone.add((node, chosen))
            yield node, at_s, mine[chosen][1]
