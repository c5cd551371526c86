"""Downloads: photos of others come here, some at a time, and are looked at before they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec

from thyme.approaches.interface import Failure
from thyme.gallery import pictures
from thyme.gallery.collection import Collection, line_of, metadata_of
from thyme.gallery.photos import Photo, PhotoState, PhotoView
from thyme.live.failures import OperationError
from thyme.model.errors import InputError

PROGRESS_S = 0.2
"""Between two tellings of a download's progress."""


class Downloads:
    def __init__(self, collection: Collection) -> None:
        self._photos = collection
        self._turns = asyncio.Semaphore(collection.options.downloads)

    def download(self, name: str) -> PhotoView:
        photo = self._photos.in_state(name, PhotoState.NEW, PhotoState.LATER, PhotoState.FAILED, PhotoState.DOWNLOADING)
        if photo.state is PhotoState.DOWNLOADING:
            return self._photos.view(photo)
        started = msgspec.structs.replace(photo, state=PhotoState.DOWNLOADING, error="")
        self._photos.start(self._download(started))
        return self._photos.changed(started)

    async def _download(self, photo: Photo) -> None:
        metadata = metadata_of(photo)
        assert metadata is not None, "only what somebody published is downloaded"
        arrived = self._photos.library.original(photo.id).with_suffix(".arriving")
        try:
            if metadata.size_bytes > self._photos.options.photo_bytes:
                raise InputError(
                    f"the photo has {metadata.size_bytes} bytes; at most {self._photos.options.photo_bytes}"
                )
            async with self._turns:
                await self._photos.node.retrieve_to(metadata, arrived, self._progress_of(photo))
            looked = await self._photos.in_thread(lambda: self._take(photo.id, arrived))
        except (InputError, OperationError, OSError) as error:
            if isinstance(error, OperationError) and error.reason == Failure.DELETED:
                self._photos.gone(photo.id, photo.by)
            elif self._photos.library.get(photo.id) is not None:
                self._photos.changed(msgspec.structs.replace(photo, state=PhotoState.FAILED, error=line_of(error)))
        else:
            if self._photos.library.get(photo.id) is None:  # deleted while it came
                self._photos.library.remove(photo.id)
                return
            self._photos.changed(
                msgspec.structs.replace(
                    photo,
                    state=PhotoState.DOWNLOADED,
                    kind=looked.kind,
                    width=looked.width,
                    height=looked.height,
                    orientation=looked.orientation,
                )
            )
        finally:
            self._photos.have.pop(photo.id, None)
            arrived.unlink(missing_ok=True)

    def _take(self, photo_id: str, arrived: Path) -> pictures.Looked:
        looked = pictures.look(arrived)
        pictures.make_shown(arrived, self._photos.library.thumb(photo_id), self._photos.library.view(photo_id))
        arrived.replace(self._photos.library.original(photo_id))
        return looked

    def _progress_of(self, photo: Photo) -> Callable[[int, int], None]:
        loop = asyncio.get_running_loop()
        due_s = 0.0

        def tell(have_bytes: int, size_bytes: int) -> None:
            nonlocal due_s
            self._photos.have[photo.id] = have_bytes
            if loop.time() >= due_s:
                due_s = loop.time() + PROGRESS_S
                self._photos.tell(photo)

        return tell
