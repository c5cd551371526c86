"""Traces on their way to those who play them.

A trace that was made up in memory is packed there. One that is kept as a dataset travels as the files it is: whoever
sends it reads them when a job leaves, holds neither their operations nor, afterwards, their bytes, and only those who
play it make operations of them.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from functools import lru_cache

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from thyme.model.operations import Operation
from thyme.pipeline.identity import bytes_identity, dataset_identity
from thyme.pipeline.manifest import data_files
from thyme.places import Place
from thyme.sim.traces import operations_from_table

UNPACKED = 1
"""So many traces stay unpacked in a process: the runs of a job that play the same one come after each other."""


class _Listed(msgspec.Struct, frozen=True, tag="operations"):
    operations: tuple[Operation, ...]


class _Written(msgspec.Struct, frozen=True, tag="files"):
    files: tuple[bytes, ...]


_CARRIED: msgspec.msgpack.Decoder[_Listed | _Written] = msgspec.msgpack.Decoder(_Listed | _Written)


class PackedTrace(msgspec.Struct, frozen=True):
    """The operations of a trace, packed; named by their content."""

    identity: str
    operations: int
    data: bytes

    def carry(self) -> bytes:
        return self.data

    def unpack(self) -> tuple[Operation, ...]:
        return operations_of(self.data)


class StoredTrace(msgspec.Struct, frozen=True):
    """A trace that is a dataset, named by the content of its files."""

    identity: str
    operations: int
    place: Place

    def carry(self) -> bytes:
        files = (self.place / name for name in data_files(self.place))
        return msgspec.msgpack.encode(_Written(tuple(file.read_bytes() for file in files)))

    def unpack(self) -> tuple[Operation, ...]:
        return operations_of(self.carry())


CarriedTrace = PackedTrace | StoredTrace


def pack_trace(operations: Iterable[Operation]) -> PackedTrace:
    ordered = tuple(sorted(operations, key=lambda operation: operation.operation))
    data = msgspec.msgpack.encode(_Listed(ordered))
    return PackedTrace(bytes_identity(data), len(ordered), data)


def stored_trace(place: Place, operations: int) -> StoredTrace:
    """A trace with so many operations whose files have been compared with their list."""
    return StoredTrace(dataset_identity(place), operations, place)


@lru_cache(UNPACKED)
def operations_of(data: bytes) -> tuple[Operation, ...]:
    """The operations of a trace that has travelled, in their order."""
    carried = _CARRIED.decode(data)
    if isinstance(carried, _Listed):
        return carried.operations
    return tuple(operations_from_table(pa.concat_tables(pq.read_table(io.BytesIO(file)) for file in carried.files)))
