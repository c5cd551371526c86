"""How large the inserted objects are: the posts' own text, a fixed size, or photos, alone or among texts.

Photos follow a lognormal law, which is how the sizes of files of one kind are spread; a photo's draw is named by
its id. A summary is what notifications carry, such as a thumbnail.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import msgspec
import numpy as np
import pyarrow as pa
from msgspec import Meta
from pyspark.sql import Column
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.model.objects import MAX_SUMMARY_BYTES, MAX_TRACE_BYTES
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne, Share
from thyme.pipeline.chance import uniforms
from thyme.pipeline.spark.arrow import column_function

MAX_SPREAD = 10.0


class ObjectSizes(SettingsRecord, frozen=True):
    """Sizes of data and summary; `kind` text ignores the sizes of data, fixed ignores the spread."""

    kind: Literal["text", "fixed", "photos"] = "text"
    """Texts of the posts, objects of a fixed size, or photos."""
    size_bytes: AtLeastOne = 100_000
    """The size of fixed objects, the median of photos."""
    spread: Annotated[float, Meta(ge=0.0, le=MAX_SPREAD)] = 0.5
    """The standard deviation of a photo's logarithm."""
    largest_bytes: Annotated[int, Meta(le=MAX_TRACE_BYTES)] = 1_000_000
    """Largest photo."""
    share: Share = 1.0
    """Of photos: the share of posts that are one; the others are their text."""
    summary_bytes: Annotated[int, Meta(ge=0, le=MAX_SUMMARY_BYTES)] = 0
    """Size of the summary of every object."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.kind not in ("text", "fixed", "photos"):
            raise InputError(f"objects of kind {self.kind!r}; expected text, fixed or photos")
        if self.size_bytes > self.largest_bytes:
            raise InputError(f"objects of {self.size_bytes} up to {self.largest_bytes} bytes; expected sizes in order")


def object_sizes(oid: Column, sizes: ObjectSizes, seed: int) -> Column:
    """The size of the object with this id; 0 where the text is the object."""
    if sizes.kind == "photos":
        return column_function(PhotoSizes(sizes, seed), "bigint")(oid)
    return sf.lit(sizes.size_bytes if sizes.kind == "fixed" else 0).cast("long")


class PhotoSizes(msgspec.Struct, frozen=True):
    """The sizes of the photos with these ids."""

    sizes: ObjectSizes
    seed: int

    def __call__(self, oids: pa.Array) -> pa.Array:
        from scipy.special import ndtri  # only here, as loading it takes longer than most tasks

        names = np.array([_number(oid) for oid in oids.to_pylist()], dtype=np.uint64)
        draws = np.clip(uniforms(self.seed, "photos", names), 1e-12, 1.0 - 1e-12)
        drawn = self.sizes.size_bytes * np.exp(self.sizes.spread * ndtri(draws))
        size_bytes = np.clip(np.round(drawn), 1, self.sizes.largest_bytes).astype(np.int64)
        size_bytes[uniforms(self.seed, "photo or text", names) >= self.sizes.share] = 0
        return pa.array(size_bytes)


def _number(oid: str) -> int:
    return int.from_bytes(hashlib.blake2b(oid.encode(), digest_size=8).digest(), "little")
