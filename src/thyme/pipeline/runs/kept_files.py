"""Short tasks of a sweep, and where their results are kept: in one file each, named by the task's identity."""

from __future__ import annotations

from pathlib import Path

import msgspec

from thyme.drafts import write_file
from thyme.pipeline.manifest import bytes_digest


class ShortTask(msgspec.Struct, frozen=True):
    """A task that is small enough to be packed beforehand."""

    run: str
    data: bytes
    weight: int = 1

    @property
    def title(self) -> str:
        return self.run

    def pack(self) -> bytes:
        return self.data

    @property
    def shares(self) -> str:
        return ""

    def carry(self) -> bytes:
        return b""


class Kept(msgspec.Struct, frozen=True):
    """What is in a file; `seconds` are of processor time."""

    seconds: float
    found: bytes
    digest: str = ""

    @property
    def whole(self) -> bool:
        return self.digest == bytes_digest(self.found)


class KeptFiles:
    """The results in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def seconds(self, run: str) -> float | None:
        try:
            kept = self._read(run)
        except (FileNotFoundError, msgspec.DecodeError):
            # What another version has kept in another form, or what was damaged, is as good as nothing.
            return None
        return kept.seconds if kept.whole else None

    def keep(self, run: str, found: bytes, seconds: float) -> None:
        write_file(self._file(run), msgspec.msgpack.encode(Kept(round(seconds, 3), found, bytes_digest(found))))

    def found(self, run: str) -> bytes:
        return self._read(run).found

    def _file(self, run: str) -> Path:
        return self._folder / f"{run}.msgpack"

    def _read(self, run: str) -> Kept:
        return msgspec.msgpack.decode(self._file(run).read_bytes(), type=Kept)
