"""Posts as tables: what of them is inserted, when, by whom and under which tags.

The steps of a trace that look at every post, each a function from a table of posts to a smaller table. A task applies
them to the posts that it reads, and few posts are one table, here; what they find is added up afterwards (`summing`).
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from thyme.model.objects import MAX_TAGS
from thyme.pipeline.coded_tags import CodedTags, as_numpy, coded_tags
from thyme.pipeline.schemas import Columns, arrow_schema
from thyme.pipeline.traces.behaviour import Compression, Floats, Ints

MINUTE_COLUMNS: Columns = (("minute", "int64"), ("posts", "int64"))
AUTHOR_COLUMNS: Columns = (("author", "string"), ("posts", "int64"))
FOUND_COLUMNS: Columns = (
    ("what", "string"),
    ("name", "string"),
    ("other", "string"),
    ("place", "int64"),
    ("at_s", "float64"),
    ("number", "int64"),
)
TAG, PAIR, SECOND, OWN = "tag", "pair", "second", "own"
"""What was found: a tag (`name`), two tags together (`name`, `other`) or a second (`place`) `number` times; an object
(`name`) of a node (`place`)."""
_MICRO = 1_000_000
_NEAR_HALF = 1e-3
_SIXTH = Decimal("0.000001")


class Window(msgspec.Struct, frozen=True):
    """The time of the event, from its start on."""

    start_s: float
    compression: Compression

    def holds(self, posts: pa.Table) -> npt.NDArray[np.bool_]:
        """Which of the posts have tags and are in the window."""
        at_s = as_numpy(posts["at_s"])
        return has_tags(posts) & (at_s >= self.start_s) & (at_s < self.start_s + self.compression.window_s)

    def played_s(self, at_s: Floats) -> Floats:
        pace = self.compression.duration_s / self.compression.window_s
        return to_micros(self.compression.first_s + (at_s - self.start_s) * pace)


class Inserting(msgspec.Struct, frozen=True):
    """Which posts are inserted: those with tags in the window, by the authors who publish, whose nodes are numbered in
    the order of `authors`."""

    window: Window
    authors: pa.Array
    publishes: npt.NDArray[np.bool_]

    def inserts(self, posts: pa.Table) -> pa.Table:
        """⟨at_s, node, oid, tags, text⟩ of what is inserted."""
        chosen, nodes = self.chosen(posts)
        lists = tidy(coded_tags(chosen["tags"])).to_lists()
        at_s = self.window.played_s(as_numpy(chosen["at_s"]))
        return pa.table({"at_s": at_s, "node": nodes, "oid": chosen["id"], "tags": lists, "text": chosen["text"]})

    def chosen(self, posts: pa.Table) -> tuple[pa.Table, Ints]:
        """The posts that are inserted, and by which node each."""
        found = pc.index_in(posts["author"], value_set=self.authors)
        nodes = as_numpy(pc.fill_null(found, 0)).astype(np.int64)
        inserted = self.window.holds(posts) & self.publishes[nodes] & as_numpy(pc.is_valid(found))
        return posts.filter(pa.array(inserted)), nodes[inserted]


def has_tags(posts: pa.Table) -> npt.NDArray[np.bool_]:
    return as_numpy(pc.fill_null(pc.greater(pc.list_value_length(posts["tags"]), 0), False))


def count_minutes(posts: pa.Table) -> pa.Table:
    """How many of the tagged posts fall into each minute."""
    minutes, counts = np.unique(
        np.floor(as_numpy(posts["at_s"])[has_tags(posts)] / 60.0).astype(np.int64), return_counts=True
    )
    return pa.table([minutes, counts], schema=arrow_schema(MINUTE_COLUMNS))


class CountAuthors(msgspec.Struct, frozen=True):
    """How many tagged posts in the window each author has."""

    window: Window

    def __call__(self, posts: pa.Table) -> pa.Table:
        counted = pc.value_counts(posts["author"].filter(pa.array(self.window.holds(posts))))
        return pa.table([counted.field("values"), counted.field("counts")], schema=arrow_schema(AUTHOR_COLUMNS))


class FindUses(msgspec.Struct, frozen=True):
    """What is known of the inserts before they are numbered: how often each tag is used and how much comes in each
    second; if asked for, which tags stand together; and the objects of the nodes that delete some."""

    inserting: Inserting
    deleting: npt.NDArray[np.int64]
    pairs: bool

    def __call__(self, posts: pa.Table) -> pa.Table:
        chosen, nodes = self.inserting.chosen(posts)
        tags = tidy(coded_tags(chosen["tags"]))
        at_s = self.inserting.window.played_s(as_numpy(chosen["at_s"]))
        seconds, rows = np.unique(np.floor(at_s).astype(np.int64), return_counts=True)
        own = np.isin(nodes, self.deleting)
        found = [
            _found(TAG, name=tags.names, number=np.bincount(tags.codes, minlength=len(tags.names))),
            _found(SECOND, place=seconds, number=rows),
            _found(OWN, name=chosen["id"].filter(pa.array(own)), place=nodes[own], at_s=at_s[own]),
        ]
        if self.pairs:
            first, second, times = tags.pairs()
            found.append(_found(PAIR, name=tags.names.take(first), other=tags.names.take(second), number=times))
        return pa.concat_tables(found)


def tidy(tags: CodedTags) -> CodedTags:
    """Each list in order, with each tag once, and not more of them than an object may have."""
    rising = (np.diff(tags.codes) > 0) | (np.diff(tags.lists) > 0)
    if rising.all() and (not tags.number or tags.lengths.max() <= MAX_TAGS):
        return tags
    names = max(1, len(tags.names))
    keys = np.unique(tags.lists * names + tags.codes)
    lists, codes = keys // names, keys % names
    starts = np.searchsorted(lists, lists)
    few = np.arange(len(keys)) - starts < MAX_TAGS
    return CodedTags(tags.names, codes[few], lists[few], tags.number)


def to_micros(values: Floats) -> Floats:
    """Rounded to six digits, halves upwards, as the number is written and not as it is kept: 0.0000625 is 0.000063."""
    scaled = values * _MICRO
    rounded: Floats = np.rint(scaled) / _MICRO
    for at in np.flatnonzero(np.abs(scaled - np.floor(scaled) - 0.5) < _NEAR_HALF).tolist():
        rounded[at] = float(Decimal(repr(float(values[at]))).quantize(_SIXTH, ROUND_HALF_UP))
    return rounded


def _found(what: str, **columns: pa.Array | npt.NDArray[np.int64]) -> pa.Table:
    rows = len(next(iter(columns.values())))
    arrays = [
        pa.repeat(what, rows) if name == "what" else columns[name] if name in columns else pa.nulls(rows, type_)
        for name, type_ in zip(_FOUND.names, _FOUND.types, strict=True)
    ]
    return pa.table(arrays, names=_FOUND.names).cast(_FOUND)


_FOUND = arrow_schema(FOUND_COLUMNS)
