"""Lists of tags as numbers, in the order of their spelling: what numpy can count, sort and look up."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]


class CodedTags(msgspec.Struct, frozen=True):
    """The tags of lists, one list after the other: `codes` are places in `names`, which are in order, and `lists` tells
    which list each belongs to; `number` lists there are."""

    names: pa.Array
    codes: Ints
    lists: Ints
    number: int


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
