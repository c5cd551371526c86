"""Lists of tags as numbers, in the order of their spelling: what numpy can count, sort and look up."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]


class CodedTags(msgspec.Struct, frozen=True, dict=True):
    """The tags of lists, one list after the other: `codes` are places in `names`, which are in order, and `lists` tells
    which list each belongs to; `number` lists there are."""

    names: pa.Array
    codes: Ints
    lists: Ints
    number: int

    @cached_property
    def lengths(self) -> Ints:
        return np.bincount(self.lists, minlength=self.number)

    def pairs(self) -> tuple[Ints, Ints, Ints]:
        """Two different tags of one list, in both orders, and in how many lists they are."""
        lengths = self.lengths[self.lists]
        starts = np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        first = np.repeat(np.arange(len(self.codes)), lengths)
        within = np.arange(len(first)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        second = np.repeat(starts, lengths) + within
        both = self.codes[first] * max(1, len(self.names)) + self.codes[second]
        found, times = np.unique(both[self.codes[first] != self.codes[second]], return_counts=True)
        return found // max(1, len(self.names)), found % max(1, len(self.names)), times

    def to_lists(self) -> pa.ListArray:
        offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(pa.array(offsets), self.names.take(pa.array(self.codes)))


def coded_tags(given: pa.ChunkedArray) -> CodedTags:
    """The lists of a column as numbers."""
    lists = as_array(given)
    coded = lists.flatten().dictionary_encode()
    order = pc.sort_indices(coded.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[as_numpy(order)] = np.arange(len(order))
    codes = ranks[as_numpy(coded.indices)] if len(order) else np.zeros(0, np.int64)
    return CodedTags(
        coded.dictionary.take(order), codes, as_numpy(pc.list_parent_indices(lists)).astype(np.int64), len(lists)
    )


def as_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def as_numpy(values: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    return np.asarray(values.to_numpy(zero_copy_only=False) if isinstance(values, pa.Array) else values.to_numpy())
