"""Downloads: photos of others come here, some at a time, and are looked at before they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from thyme.gallery import pictures
from thyme.gallery.photos import Photo, PhotoView, State
from thyme.gallery.shelf import Shelf, line_of, metadata_of
from thyme.live.failures import OperationError
from thyme.model.errors import InputError

PROGRESS_S = 0.2
"""Between two tellings of a download's progress."""


class Downloads:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._turns = asyncio.Semaphore(shelf.options.downloads)

    def download(self, name: str) -> PhotoView:
        photo = self._shelf.in_state(name, State.NEW, State.LATER, State.FAILED, State.DOWNLOADING)
        if photo.state is State.DOWNLOADING:
            return self._shelf.view(photo)
        started = msgspec.structs.replace(photo, state=State.DOWNLOADING, error="")
        self._shelf.start(self._download(started))
        return self._shelf.changed(started)

    async def _download(self, photo: Photo) -> None:
        metadata = metadata_of(photo)
        assert metadata is not None, "only what somebody published is downloaded"
        arrived = self._shelf.library.original(photo.id).with_suffix(".arriving")
        try:
            if metadata.size_bytes > self._shelf.options.photo_bytes:
                raise InputError(
                    f"the photo has {metadata.size_bytes} bytes; at most {self._shelf.options.photo_bytes}"
                )
            async with self._turns:
                await self._shelf.node.retrieve_to(metadata, arrived, self._progress_of(photo))
            looked = await self._shelf.in_thread(lambda: self._take(photo.id, arrived))
        except (InputError, OperationError, OSError) as error:
            self._shelf.changed(msgspec.structs.replace(photo, state=State.FAILED, error=line_of(error)))
        else:
            self._shelf.changed(
                msgspec.structs.replace(
                    photo,
                    state=State.DOWNLOADED,
                    kind=looked.kind,
                    width=looked.width,
                    height=looked.height,
                    orientation=looked.orientation,
                )
            )
        finally:
            self._shelf.have.pop(photo.id, None)
            arrived.unlink(missing_ok=True)

    def _take(self, photo_id: str, arrived: Path) -> pictures.Looked:
        looked = pictures.look(arrived, self._shelf.options)
        pictures.make_shown(
            arrived, self._shelf.library.thumb(photo_id), self._shelf.library.view(photo_id), self._shelf.options
        )
        arrived.replace(self._shelf.library.original(photo_id))
        return looked

    def _progress_of(self, photo: Photo) -> Callable[[int, int], None]:
        loop = asyncio.get_running_loop()
        due_s = 0.0

        def tell(have_bytes: int, size_bytes: int) -> None:
            nonlocal due_s
            self._shelf.have[photo.id] = have_bytes
            if loop.time() >= due_s:
                due_s = loop.time() + PROGRESS_S
                self._shelf.tell(photo)

        return tell
