"""The collection: the photos of one gallery, as its parts change them and its pages see them.

Every change goes into the library and is sent to the pages. Slow work on pictures is done in one thread, one photo at a
time, so it never blocks the event loop or notifications.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from time import time_ns
from typing import Any, TypeVar

import msgspec

from thyme.gallery.cards import plain
from thyme.gallery.cell_map import distance_to
from thyme.gallery.library import Library
from thyme.gallery.limits import BY_CHARS, EVERY_PHOTO, GalleryOptions
from thyme.gallery.photos import HERE, OWN, TABS, Photo, PhotoState, PhotoView
from thyme.live.failures import RequestError, not_found
from thyme.live.http.events import Events
from thyme.live.node.node import Node
from thyme.model.objects import Metadata

ResultT = TypeVar("ResultT")
SUGGESTED_TAGS = 24
BY = "by"
GUEST = ", guest"
"""Follows the name of a guest."""


class Collection:
    def __init__(
        self, node: Node, library: Library, options: GalleryOptions, events: Events, thread: ThreadPoolExecutor
    ) -> None:
        self.node, self.library, self.options, self._events = node, library, options, events
        self.have: dict[str, int] = {}
        """Bytes that are here of photos on their way."""
        self._thread = thread
        self._told = count(time_ns() // 1_000_000)
        self._tasks: set[asyncio.Task[None]] = set()
        for photo in library.photos():  # what was under way when the last life ended
            if photo.state in _RESUMED:
                library.put(msgspec.structs.replace(photo, state=_RESUMED[photo.state]))

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.library.close()

    def views(self) -> list[PhotoView]:
        return [self.view(photo) for photo in self.library.photos() if photo.state in TABS]

    def view(self, photo: Photo) -> PhotoView:
        metadata = metadata_of(photo)
        return PhotoView(
            id=photo.id,
            tab=TABS.get(photo.state, ""),
            state=photo.state,
            name=photo.name,
            by=self.author_of(photo),
            own=photo.state in OWN,
            tags=tuple(tag for tag in photo.tags if tag != EVERY_PHOTO),
            at_s=photo.at_s,
            size_bytes=photo.size_bytes,
            width=photo.width,
            height=photo.height,
            key=photo.key,
            picture=photo.state in HERE or bool(photo.thumb_type),
            here=photo.state in HERE,
            distance=distance_to(self.node, metadata.replicas) if metadata else None,
            have_bytes=self.have.get(photo.id, 0),
            error=photo.error,
            told=next(self._told),
        )

    def author_of(self, photo: Photo) -> str:
        """Who published a photo: the name on its card, or what people call the device; nothing if neither is known."""
        metadata = None if photo.by else metadata_of(photo)
        return photo.by if metadata is None else plain(self.node.name_of(metadata.key.owner), BY_CHARS)

    def photo(self, name: str) -> Photo:
        photo = self.library.get(name)
        if photo is None or photo.state not in TABS:
            raise not_found("such photo here")
        return photo

    def metadata(self, name: str) -> Metadata | None:
        return metadata_of(self.photo(name))

    def tags(self) -> list[str]:
        """Those seen most, for suggestions."""
        seen = Counter(tag for photo in self.library.photos() for tag in photo.tags if tag != EVERY_PHOTO)
        return [tag for tag, _ in seen.most_common(SUGGESTED_TAGS)]

    def names(self) -> dict[str, str]:
        """What users of other nodes are called, by the ids of their nodes, as their newest photo says. Guests do not
        name the node of their host."""
        return {
            photo.key.rpartition("@")[2]: photo.by
            for photo in self.library.photos()
            if photo.key and photo.by and GUEST not in photo.by
        }

    @property
    def by(self) -> str:
        return self.library.word(BY)

    def call_me(self, name: str) -> None:
        self.library.set_word(BY, plain(name, BY_CHARS))

    def in_state(self, name: str, *states: PhotoState) -> Photo:
        photo = self.photo(name)
        if photo.state not in states:
            raise RequestError(409, "state", f"the photo is {photo.state.value}; that cannot be done with it now")
        return photo

    def changed(self, photo: Photo) -> PhotoView:
        for gone in self.library.put(photo):
            self._events.put("photo gone", {"id": gone.id})
        view = self.view(photo)
        if photo.state in TABS:
            self._events.put("photo", view)
        else:
            self._events.put("photo gone", {"id": photo.id})
        return view

    def tell(self, photo: Photo) -> None:
        """Report progress of a photo that is otherwise unchanged."""
        self._events.put("photo", self.view(photo))

    def gone(self, name: str, deleted_by: str | None = None) -> None:
        """Remove a photo; the page says who deleted it, if another person did."""
        self.library.remove(name)
        self._events.put("photo gone", {"id": name, "deleted_by": deleted_by})

    async def in_thread(self, work: Callable[[], ResultT]) -> ResultT:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_RESUMED = {
    PhotoState.PUBLISHING: PhotoState.PRIVATE,
    PhotoState.DELETING: PhotoState.PUBLISHED,
    PhotoState.DOWNLOADING: PhotoState.LATER,
}


def metadata_of(photo: Photo) -> Metadata | None:
    return msgspec.msgpack.decode(photo.metadata, type=Metadata) if photo.metadata else None


def line_of(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
