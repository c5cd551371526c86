"""How large the inserted objects are: the posts' own text, a fixed size, or photos.

Photos follow a lognormal law, which is how the sizes of files of one kind are spread; a photo's draw is named by
its id. A summary is what notifications carry, such as a thumbnail.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType, StructField, StructType

from thyme.model.errors import InputError
from thyme.model.objects import MAX_SUMMARY_BYTES, MAX_TRACE_BYTES
from thyme.pipeline.chance import uniforms
from thyme.pipeline.spark.arrow import map_arrow

MAX_SPREAD = 10.0


class ObjectSizes(msgspec.Struct, frozen=True):
    """Sizes of data and summary; `kind` text ignores the sizes of data, fixed ignores the spread."""

    kind: Literal["text", "fixed", "photos"] = "text"
    size_bytes: int = 100_000
    """The size of fixed objects, the median of photos."""
    spread: float = 0.5
    """The standard deviation of a photo's logarithm."""
    largest_bytes: int = 1_000_000
    summary_bytes: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("text", "fixed", "photos"):
            raise InputError(f"objects of kind {self.kind!r}; expected text, fixed or photos")
        if not 0.0 <= self.spread <= MAX_SPREAD:
            raise InputError(f"the spread of sizes is {self.spread:g}; expected from 0 to {MAX_SPREAD:g}")
        if not 0 < self.size_bytes <= self.largest_bytes <= MAX_TRACE_BYTES:
            raise InputError(
                f"objects of {self.size_bytes} up to {self.largest_bytes} bytes; expected sizes in order, "
                f"above 0 and at most {MAX_TRACE_BYTES}"
            )
        if not 0 <= self.summary_bytes <= MAX_SUMMARY_BYTES:
            raise InputError(f"summaries of {self.summary_bytes} bytes; expected at most {MAX_SUMMARY_BYTES}")


def sized(inserts: DataFrame, sizes: ObjectSizes, seed: int) -> DataFrame:
    """The inserts with `size_bytes` (0 where the text is the object) and `summary_bytes`."""
    summary = sf.lit(sizes.summary_bytes).cast("long").alias("summary_bytes")
    if sizes.kind == "photos":
        schema = StructType([*inserts.schema.fields, StructField("size_bytes", LongType())])
        return map_arrow(inserts, PhotoSizes(sizes, seed), schema).select("*", summary)
    fixed = sizes.size_bytes if sizes.kind == "fixed" else 0
    return inserts.select("*", sf.lit(fixed).cast("long").alias("size_bytes"), summary)


def sized_table(inserts: pa.Table, sizes: ObjectSizes, seed: int) -> pa.Table:
    """The same for a table."""
    if sizes.kind == "photos":
        size_bytes = PhotoSizes(sizes, seed).of(inserts["oid"].to_pylist())
    else:
        size_bytes = np.full(inserts.num_rows, sizes.size_bytes if sizes.kind == "fixed" else 0, np.int64)
    summary_bytes = np.full(inserts.num_rows, sizes.summary_bytes, np.int64)
    return inserts.append_column("size_bytes", [size_bytes]).append_column("summary_bytes", [summary_bytes])


class PhotoSizes(msgspec.Struct, frozen=True):
    """Adds the column `size_bytes` to batches of inserts."""

    sizes: ObjectSizes
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.append_column("size_bytes", pa.array(self.of(batch["oid"].to_pylist())))

    def of(self, oids: Sequence[str]) -> npt.NDArray[np.int64]:
        """The sizes of the photos with these names."""
        from scipy.special import ndtri  # only here, as loading it takes longer than most tasks

        names = np.array([_number(oid) for oid in oids], dtype=np.uint64)
        draws = np.clip(uniforms(self.seed, "photos", names), 1e-12, 1.0 - 1e-12)
        drawn = self.sizes.size_bytes * np.exp(self.sizes.spread * ndtri(draws))
        size_bytes: npt.NDArray[np.int64] = np.clip(np.round(drawn), 1, self.sizes.largest_bytes).astype(np.int64)
        return size_bytes


def _number(oid: str) -> int:
    return int.from_bytes(hashlib.blake2b(oid.encode(), digest_size=8).digest(), "little")
