"""Sharing: a gallery's photos between this device and the crowd.

Photos are added and published (`publishing`), notified of, postponed, dismissed and deleted here, and downloaded
(`downloads`). A deletion waits some seconds, in which it can be undone, before it is sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import msgspec

from thyme.gallery import pictures
from thyme.gallery.cards import read_card
from thyme.gallery.collection import Collection, line_of, metadata_of
from thyme.gallery.downloads import Downloads
from thyme.gallery.library import Library
from thyme.gallery.limits import DELETED_PHOTO, GalleryOptions
from thyme.gallery.photos import OFFERED, Photo, PhotoState, PhotoView
from thyme.gallery.publishing import Publishing
from thyme.live.failures import OperationError, RequestError
from thyme.live.http.events import Events
from thyme.live.node.node import Node
from thyme.live.node.notifications import Notice
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey

logger = logging.getLogger("thyme.gallery")


class Sharing:
    """One person's part of a gallery on a node."""

    def __init__(
        self, node: Node, library: Library, options: GalleryOptions, events: Events, thread: ThreadPoolExecutor
    ) -> None:
        self.node, self.library, self.options = node, library, options
        self.photos = Collection(node, library, options, events, thread)
        self.deleted: Callable[[str], None] = self.forget
        """Called with the key of a publication that was deleted everywhere."""
        self.publishing, self.downloads = Publishing(self.photos), Downloads(self.photos)
        self._undo: dict[str, asyncio.TimerHandle] = {}

    async def end(self) -> None:
        for timer in self._undo.values():
            timer.cancel()
        await self.photos.end()

    def postpone(self, name: str) -> PhotoView:
        photo = self.photos.in_state(name, PhotoState.NEW, PhotoState.LATER)
        return self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.LATER))

    def dismiss(self, name: str) -> None:
        photo = self.photos.in_state(name, PhotoState.NEW, PhotoState.LATER, PhotoState.FAILED)
        self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.DISMISSED, thumb=b""))

    def remove(self, name: str) -> PhotoView | None:
        """A private or downloaded photo leaves this device at once; a publication leaves the crowd, but for now it can
        be undone."""
        photo = self.photos.in_state(name, PhotoState.PRIVATE, PhotoState.DOWNLOADED, PhotoState.PUBLISHED)
        if photo.state is PhotoState.PUBLISHED:
            loop = asyncio.get_running_loop()
            self._undo[name] = loop.call_later(self.options.undo_s, lambda: self.photos.start(self._delete(name)))
            return self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.DELETING))
        if photo.state is PhotoState.DOWNLOADED:  # what was here is known, and is not offered again
            self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.DISMISSED, thumb=b""))
        else:
            self.photos.gone(name)
        return None

    def undo(self, name: str) -> PhotoView:
        photo = self.photos.in_state(name, PhotoState.DELETING)
        timer = self._undo.pop(name, None)
        if timer is None:
            raise RequestError(409, "late", "the deletion has been sent already")
        timer.cancel()
        return self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.PUBLISHED))

    async def _delete(self, name: str) -> None:
        self._undo.pop(name, None)
        photo = self.photos.in_state(name, PhotoState.DELETING)
        metadata = metadata_of(photo)
        assert metadata is not None, "only publications are deleted"
        try:
            await self.node.delete(metadata.key.oid)
        except (InputError, OperationError) as error:
            self.photos.changed(msgspec.structs.replace(photo, state=PhotoState.PUBLISHED, error=line_of(error)))
        else:
            self.photos.gone(name)
            self.deleted(str(metadata.key))
            await self._tell_others(metadata.key)

    async def _tell_others(self, key: ObjectKey) -> None:
        """Other devices subscribe to these notes. One that misses a note learns it when it downloads the photo."""
        try:
            await self.node.insert(f"deleted {key.oid}", b"", [DELETED_PHOTO], str(key).encode())
        except (InputError, OperationError) as error:
            logger.warning("others could not be notified that %s was deleted: %s", key, line_of(error))

    def published(self) -> list[Photo]:
        return [photo for photo in self.library.photos() if photo.state in (PhotoState.PUBLISHED, PhotoState.DELETING)]

    def forget(self, key: str) -> None:
        """The publisher deleted a photo: it disappears here unless it was downloaded."""
        photo = self.library.of_key(key)
        if photo is not None and photo.state in OFFERED:
            self.photos.gone(photo.id, self.photos.author_of(photo))

    def notified(self, notice: Notice) -> None:
        metadata = notice.metadata
        is_own = metadata.key.owner == self.node.id and self.library.get(metadata.key.oid) is not None
        if is_own or self.library.of_key(str(metadata.key)) is not None:
            return
        card = read_card(metadata.summary, metadata.key.oid)
        photo = Photo(
            id=self.library.new_id(),
            state=PhotoState.NEW,
            name=card.name,
            by=card.by,
            tags=metadata.tags,
            at_s=metadata.published_s,
            size_bytes=metadata.size_bytes,
            width=card.width,
            height=card.height,
            key=str(metadata.key),
            metadata=msgspec.msgpack.encode(metadata),
            thumb=card.thumb,
            thumb_type=pictures.thumb_type(card.thumb) if card.thumb else "",
        )
        self.photos.changed(photo)
