"""What tasks found in their posts, put together: the window, the users, the popular tags, and the queries over them.

All of it is small beside the posts, up to `LIGHT_POSTS` of them, and is worked out in this process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from math import ceil
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.formulas import tag_text
from thyme.pipeline.chance import uniforms
from thyme.pipeline.traces.behaviour import DRAWN_COLUMNS, UserOperations, taken_objects
from thyme.pipeline.traces.inserting import OWN, PAIR, SECOND, TAG
from thyme.pipeline.traces.trace import MAX_COMPANIONS, TraceOptions, check_users

DRAWN_AT_ONCE = 10_000
"""Users whose operations are drawn together."""

Rows = list[dict[str, Any]]


class Users(msgspec.Struct, frozen=True):
    """The authors who become nodes, in the order of their numbers, and what they do."""

    authors: pa.Array
    publishes: npt.NDArray[np.bool_]
    subscribes: npt.NDArray[np.bool_]


def choose_users(counted: pa.Table, options: TraceOptions) -> Users:
    """The most active authors; ties go by name."""
    summed = counted.group_by("author").aggregate([("posts", "sum")])
    check_users(summed.num_rows, options)
    ordered = summed.sort_by([("posts_sum", "descending"), ("author", "ascending")])
    authors = ordered["author"].slice(0, options.users).combine_chunks()
    everybody = np.ones(options.users, dtype=np.bool_)
    if options.publisher_share is None:
        return Users(authors, everybody, everybody)
    draws = uniforms(options.seed, "roles", np.arange(options.users))
    first = np.argsort(draws, kind="stable")[: max(1, round(options.publisher_share * options.users))]
    publishes = ~everybody
    publishes[first] = True
    return Users(authors, publishes, ~publishes)


def draw_operations(users: Users, options: TraceOptions) -> pa.Table:
    """What users do besides posting, in DRAWN_COLUMNS."""
    draw = UserOperations(options.seed, options.rates, options.queries, options.compression)
    nodes = pa.table({"node": np.arange(options.users), "subscribes": users.subscribes})
    drawn = [draw.draw(batch) for batch in nodes.to_batches(max_chunksize=DRAWN_AT_ONCE)]
    return pa.Table.from_batches(drawn) if drawn else pa.table({name: [] for name, _ in DRAWN_COLUMNS})


def deleting(drawn: pa.Table) -> npt.NDArray[np.int64]:
    """The nodes that delete something."""
    found: npt.NDArray[np.int64] = np.unique(drawn.filter(pc.equal(drawn["kind"], "delete"))["node"].to_numpy())
    return found


class Uses:
    """What was found of the inserts, added up."""

    def __init__(self, found: pa.Table) -> None:
        self._found = found

    def popular(self, share: float) -> list[str]:
        """The most used tags, in order."""
        tags = self._summed(TAG, "name").sort_by([("number_sum", "descending"), ("name", "ascending")])
        names: list[str] = tags["name"].slice(0, ceil(tags.num_rows * share)).to_pylist()
        return names

    def seconds(self) -> pa.Table:
        """⟨second, rows⟩."""
        return self._summed(SECOND, "place").rename_columns(["second", "rows"])

    def companions(self, spelled: Mapping[str, str]) -> dict[str, list[str]]:
        """For each popular tag the spellings of the popular tags that most often stand beside it."""
        order = [("number_sum", "descending"), ("other", "ascending")]
        beside: dict[str, list[str]] = {}
        for pair in self._summed(PAIR, "name", "other").sort_by(order).to_pylist():
            if pair["name"] in spelled and pair["other"] in spelled:
                others = beside.setdefault(pair["name"], [])
                if len(others) < MAX_COMPANIONS:
                    others.append(spelled[pair["other"]])
        return beside

    def owned(self) -> dict[int, list[tuple[float, str]]]:
        """The objects of each node that deletes some, in order."""
        rows = self._of(OWN).sort_by([("place", "ascending"), ("at_s", "ascending"), ("name", "ascending")])
        objects: dict[int, list[tuple[float, str]]] = {}
        for node, at_s, oid in zip(*(rows[name].to_pylist() for name in ("place", "at_s", "name")), strict=True):
            objects.setdefault(node, []).append((at_s, oid))
        return objects

    def _summed(self, what: str, *by: str) -> pa.Table:
        return self._of(what).group_by(list(by)).aggregate([("number", "sum")]).select([*by, "number_sum"])

    def _of(self, what: str) -> pa.Table:
        return self._found.filter(pc.equal(self._found["what"], what))


def other_operations(drawn: pa.Table, uses: Uses, options: TraceOptions) -> Rows:
    """Subscribes, unsubscribes and deletes as rows of a trace, without their numbers."""
    subscribes = drawn.filter(pc.equal(drawn["kind"], "subscribe")).to_pylist()
    cancelled = drawn.filter(pc.equal(drawn["kind"], "unsubscribe")).select(["at_s", "node", "kind", "sid"])
    return [*_asked(subscribes, uses, options), *cancelled.to_pylist(), *_deletes(drawn, uses)]


def _asked(subscribes: Rows, uses: Uses, options: TraceOptions) -> Iterator[dict[str, Any]]:
    popular = uses.popular(options.popular_share)
    spelled = {tag: tag_text(tag) for tag in popular}
    companions = uses.companions(spelled) if options.asks_together else {}
    for row in subscribes if popular else ():
        tag = popular[int(row["tag_draw"] * len(popular))]
        others = companions.get(tag, [])
        first = int(row["companion_draw"] * len(others))
        asked = [*others, *others][first : first + min(options.queries.tags - 1, len(others))]
        query = _query(spelled[tag], asked, row["shape"] if options.asks_together else "single")
        yield {name: row[name] for name in ("at_s", "node", "kind", "sid", "start_s", "end_s")} | {"query": query}


def _query(literal: str, others: list[str], shape: str) -> str:
    if shape == "single" or not others:
        return literal
    sign = {"conjunction": " & ", "disjunction": " | ", "negation": " & !"}[shape]
    return sign.join([literal, *others])


def _deletes(drawn: pa.Table, uses: Uses) -> Iterator[dict[str, Any]]:
    """Each delete with the object that it takes."""
    order = [("node", "ascending"), ("sid", "ascending")]
    rows = drawn.filter(pc.equal(drawn["kind"], "delete")).select(["node", "sid", "at_s", "tag_draw"]).sort_by(order)
    wanted: dict[int, list[tuple[float, float]]] = {}
    for row in rows.to_pylist():
        wanted.setdefault(row["node"], []).append((row["at_s"], row["tag_draw"]))
    objects = uses.owned()
    for node, deletes in wanted.items():
        for at_s, oid in taken_objects(deletes, objects.get(node, [])):
            yield {"at_s": at_s, "node": node, "kind": "delete", "oid": oid}


def rows_per_second(inserted: pa.Table, others: Iterable[Mapping[str, Any]]) -> tuple[list[int], list[int]]:
    """The seconds of a trace in which something happens, in order, and how many rows each has."""
    counts = dict(zip(inserted["second"].to_pylist(), inserted["rows"].to_pylist(), strict=True))
    for row in others:
        second = int(row["at_s"] // 1.0)
        counts[second] = counts.get(second, 0) + 1
    return sorted(counts), [counts[second] for second in sorted(counts)]
