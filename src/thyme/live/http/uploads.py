"""Uploads: contents from a client, collected in files, part by part, then inserted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from secrets import token_hex

import msgspec

from thyme.drafts import write_file
from thyme.live.failures import RequestError, not_found
from thyme.live.http.limits import MAX_UPLOADS, UPLOAD_AGE_S, WRITE_BYTES, HttpOptions
from thyme.live.views import NewUpload, summary_from
from thyme.model.errors import InputError
from thyme.model.objects import check_object

NAME_BYTES = 8


class Upload(msgspec.Struct, frozen=True):
    upload: str
    name: str
    tags: tuple[str, ...]
    summary: bytes
    size_bytes: int
    lasts_s: float | None = None


class Uploads:
    """The uploads that are under way, in one folder."""

    def __init__(self, folder: Path, options: HttpOptions) -> None:
        self._folder = folder
        self._options = options
        self._busy: set[str] = set()
        folder.mkdir(parents=True, exist_ok=True)
        for rest in folder.glob("*.plain"):
            rest.unlink()

    async def plain(self, body: AsyncIterator[bytes], announced: int, most_bytes: int = 0) -> Path:
        """A content that is sent at once, as a file that the caller removes; of at most so many bytes, if they are less
        than what any upload may have."""
        most_bytes = min(most_bytes or self._options.upload_bytes, self._options.upload_bytes)
        if announced > most_bytes:
            raise _too_large(most_bytes)
        file = self._folder / f"{token_hex(NAME_BYTES)}.plain"
        try:
            await self._append(file, body, 0, most_bytes)
        except BaseException:
            file.unlink(missing_ok=True)
            raise
        return file

    def begin(self, asked: NewUpload) -> Upload:
        """InputError if the object could not be inserted afterwards."""
        if asked.size_bytes < 0:
            raise InputError(f"size_bytes is {asked.size_bytes}; expected the number of bytes that will be sent")
        if asked.size_bytes > self._options.upload_bytes:
            raise _too_large(self._options.upload_bytes)
        summary = summary_from(asked.summary, asked.summary_base64)
        check_object(b"", asked.tags, summary)
        self._make_room()
        name = asked.name or token_hex(NAME_BYTES)
        upload = Upload(token_hex(NAME_BYTES), name, asked.tags, summary, asked.size_bytes, asked.lasts_s)
        self.file(upload).touch()
        write_file(self._record(upload.upload), msgspec.json.encode(upload))
        return upload

    def get(self, name: str) -> Upload:
        record = self._record(name) if name.isalnum() else None
        if record is None or not record.exists():
            raise not_found(f"upload {name[:40]!r}")
        return msgspec.json.decode(record.read_bytes(), type=Upload)

    def offset(self, upload: Upload) -> int:
        return self.file(upload).stat().st_size

    async def add(self, upload: Upload, offset: int, body: AsyncIterator[bytes]) -> int:
        """Append a part; how much is here. What arrived of a part whose connection broke stays."""
        if upload.upload in self._busy:
            raise RequestError(
                409, "offset", "another part of this upload is being received; wait until it is complete"
            )
        here = self.offset(upload)
        if offset != here:
            raise RequestError(
                409, "offset", f"the part begins at {offset}, but {here} bytes were received; continue from there"
            )
        self._busy.add(upload.upload)
        try:
            return await self._append(self.file(upload), body, here, upload.size_bytes)
        finally:
            self._busy.discard(upload.upload)

    def forget(self, upload: Upload) -> None:
        self._record(upload.upload).unlink(missing_ok=True)
        self.file(upload).unlink(missing_ok=True)

    def file(self, upload: Upload) -> Path:
        return self._folder / f"{upload.upload}.part"

    def _record(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    async def _append(self, file: Path, body: AsyncIterator[bytes], here: int, most_bytes: int) -> int:
        """Write the body as it arrives; after an interruption, the part that had arrived is kept."""
        pieces: list[bytes] = []
        gathered = 0
        with await asyncio.to_thread(file.open, "ab") as out:
            try:
                async for piece in body:
                    if here + gathered + len(piece) > most_bytes:
                        raise _too_large(most_bytes)
                    pieces.append(piece)
                    gathered += len(piece)
                    if gathered >= WRITE_BYTES:
                        await asyncio.to_thread(out.writelines, pieces)
                        here, gathered, pieces = here + gathered, 0, []
            finally:
                out.writelines(pieces)
        return here + gathered

    def _make_room(self) -> None:
        oldest_s = time.time() - UPLOAD_AGE_S
        records = list(self._folder.glob("*.json"))
        for record in records:
            part = record.with_suffix(".part")
            if not part.exists() or part.stat().st_mtime < oldest_s:
                record.unlink()
                part.unlink(missing_ok=True)
                records = [each for each in records if each != record]
        if len(records) >= MAX_UPLOADS:
            raise RequestError(503, "busy", f"{len(records)} uploads are in progress, which is the limit; finish some")


def _too_large(most_bytes: int) -> RequestError:
    return RequestError(413, "size", f"too many bytes: at most {most_bytes} bytes")
