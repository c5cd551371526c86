"""Sharing: a gallery's photos between this device and the crowd.

Photos are added (private), published, notified of, downloaded, postponed, dismissed and deleted here; every change is
put into the library and told to the pages. Pictures are made in one thread, one photo at a time, so that the event loop
and with it notifications never wait for them. A deletion waits some seconds, in which it can be undone, before it is
sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from time import time_ns
from typing import Any, TypeVar

import msgspec

from thyme.drafts import write_file
from thyme.gallery import pictures
from thyme.gallery.cards import card_bytes, plain, read_card, thumb_room
from thyme.gallery.library import Library
from thyme.gallery.limits import EVERY_PHOTO, GalleryOptions
from thyme.gallery.photos import HERE, TABS, Photo, PhotoView, State
from thyme.gallery.places import distance_to
from thyme.live.failures import OperationError
from thyme.live.http.events import Events
from thyme.live.http.faults import Fault, not_found
from thyme.live.node.node import Node
from thyme.live.node.notifications import Notice
from thyme.model.errors import InputError
from thyme.model.objects import Metadata
from thyme.model.tags import normalise_tags

logger = logging.getLogger("thyme.gallery")
Result = TypeVar("Result")
PROGRESS_S = 0.2
"""Between two tellings of a download's progress."""
BY = "by"


class Sharing:
    """One gallery on one node."""

    def __init__(self, node: Node, library: Library, options: GalleryOptions, events: Events) -> None:
        self.node, self.library, self.options, self._events = node, library, options, events
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._turns = asyncio.Semaphore(options.downloads)
        self._have: dict[str, int] = {}
        self._told = count(time_ns() // 1_000_000)
        self._undo: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._heard_before, node.on_notice = node.on_notice, self._heard
        for photo in library.photos():  # what was under way when the last life ended
            if photo.state in _RESUMED:
                library.put(msgspec.structs.replace(photo, state=_RESUMED[photo.state]))

    async def end(self) -> None:
        self.node.on_notice = self._heard_before
        for timer in self._undo.values():
            timer.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._thread.shutdown()
        self.library.close()

    def views(self) -> list[PhotoView]:
        return [self.view(photo) for photo in self.library.photos() if photo.state in TABS]

    def view(self, photo: Photo) -> PhotoView:
        metadata = _metadata(photo)
        return PhotoView(
            id=photo.id,
            tab=TABS.get(photo.state, ""),
            state=photo.state,
            name=photo.name,
            by=photo.by,
            own=metadata is None or metadata.key.owner == self.node.id,
            tags=tuple(tag for tag in photo.tags if tag != EVERY_PHOTO),
            at_s=photo.at_s,
            size_bytes=photo.size_bytes,
            width=photo.width,
            height=photo.height,
            key=photo.key,
            picture=photo.state in HERE or bool(photo.thumb_type),
            here=photo.state in HERE,
            distance=distance_to(self.node, metadata.replicas) if metadata else None,
            have_bytes=self._have.get(photo.id, 0),
            error=photo.error,
            told=next(self._told),
        )

    def photo(self, name: str) -> Photo:
        photo = self.library.get(name)
        if photo is None or photo.state not in TABS:
            raise not_found("such photo here")
        return photo

    def metadata(self, name: str) -> Metadata | None:
        return _metadata(self.photo(name))

    def tags(self) -> list[str]:
        """Those seen most, for suggestions."""
        seen = Counter(tag for photo in self.library.photos() for tag in photo.tags if tag != EVERY_PHOTO)
        return [tag for tag, _ in seen.most_common(self.options.suggestions)]

    @property
    def by(self) -> str:
        return self.library.word(BY)

    def call_me(self, name: str) -> None:
        self.library.set_word(BY, plain(name, self.options.by_chars))

    async def add(self, file: Path, name: str) -> PhotoView:
        """A file of this device becomes a private photo; the file is moved here."""
        photo_id, options = self.library.new_id(), self.options
        here = self.library.original(photo_id)

        def take() -> pictures.Looked:
            looked = pictures.look(file, options)
            pictures.make_shown(file, self.library.thumb(photo_id), self.library.view(photo_id), options)
            file.replace(here)
            return looked

        looked = await self._in_thread(take)
        shown = plain(Path(name).stem, options.name_chars) or "photo"
        photo = Photo(
            id=photo_id,
            state=State.PRIVATE,
            name=shown,
            by=self.by,
            tags=(),
            at_s=self.node.now(),
            size_bytes=here.stat().st_size,
            width=looked.width,
            height=looked.height,
            kind=looked.kind,
            orientation=looked.orientation,
        )
        return self._changed(photo)

    def label(self, name: str, tags: Sequence[str]) -> PhotoView:
        """Note the tags that a private photo will be published with."""
        photo = self._in(name, State.PRIVATE)
        return self._changed(msgspec.structs.replace(photo, tags=normalise_tags(tags)))

    async def publish(self, name: str, tags: Sequence[str], keep_location: bool) -> PhotoView:
        photo = self._in(name, State.PRIVATE)
        given = normalise_tags([*photo.tags, *tags])
        if not any(tag != EVERY_PHOTO for tag in given):
            raise InputError("give at least one tag, so that others can find the photo")
        self._changed(msgspec.structs.replace(photo, state=State.PUBLISHING, tags=given, by=self.by))
        try:
            metadata, thumb = await self._insert(photo, normalise_tags([*given, EVERY_PHOTO]), keep_location)
        except BaseException as error:
            failed = msgspec.structs.replace(photo, tags=given, error=_line(error))
            self._changed(failed)
            raise
        published = msgspec.structs.replace(
            photo,
            state=State.PUBLISHED,
            tags=metadata.tags,
            by=self.by,
            at_s=metadata.published_s,
            size_bytes=metadata.size_bytes,
            key=str(metadata.key),
            metadata=msgspec.msgpack.encode(metadata),
            thumb=thumb,
            error="",
        )
        return self._changed(published)

    async def _insert(self, photo: Photo, tags: Sequence[str], keep_location: bool) -> tuple[Metadata, bytes]:
        library, by = self.library, self.by
        here = library.original(photo.id)

        def prepare() -> bytes:
            if not keep_location:
                looked = pictures.Looked(photo.kind, photo.width, photo.height, photo.orientation)
                write_file(here, pictures.cleaned(here, looked))
            return pictures.small_picture(library.thumb(photo.id), thumb_room(photo.name, by))

        thumb = await self._in_thread(prepare)
        card = card_bytes(photo.name, by, photo.width, photo.height, thumb)
        return await self.node.insert(photo.id, here, tags, card), thumb

    def download(self, name: str) -> PhotoView:
        photo = self._in(name, State.NEW, State.LATER, State.FAILED, State.DOWNLOADING)
        if photo.state is State.DOWNLOADING:
            return self.view(photo)
        started = msgspec.structs.replace(photo, state=State.DOWNLOADING, error="")
        self._start(self._download(started))
        return self._changed(started)

    async def _download(self, photo: Photo) -> None:
        metadata = _metadata(photo)
        assert metadata is not None, "only what somebody published is downloaded"
        arrived = self.library.original(photo.id).with_suffix(".arriving")
        try:
            if metadata.size_bytes > self.options.photo_bytes:
                raise InputError(f"the photo has {metadata.size_bytes} bytes; at most {self.options.photo_bytes}")
            async with self._turns:
                await self.node.retrieve_to(metadata, arrived, self._progress_of(photo))
            looked = await self._in_thread(lambda: self._take(photo.id, arrived))
        except (InputError, OperationError, OSError) as error:
            self._changed(msgspec.structs.replace(photo, state=State.FAILED, error=_line(error)))
        else:
            self._changed(
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
            self._have.pop(photo.id, None)
            arrived.unlink(missing_ok=True)

    def _take(self, photo_id: str, arrived: Path) -> pictures.Looked:
        looked = pictures.look(arrived, self.options)
        pictures.make_shown(arrived, self.library.thumb(photo_id), self.library.view(photo_id), self.options)
        arrived.replace(self.library.original(photo_id))
        return looked

    def postpone(self, name: str) -> PhotoView:
        photo = self._in(name, State.NEW, State.LATER)
        return self._changed(msgspec.structs.replace(photo, state=State.LATER))

    def dismiss(self, name: str) -> None:
        photo = self._in(name, State.NEW, State.LATER, State.FAILED)
        self._changed(msgspec.structs.replace(photo, state=State.DISMISSED, thumb=b""))

    def remove(self, name: str) -> PhotoView | None:
        """A private or downloaded photo leaves this device at once; a publication leaves the crowd, but for now it can
        be undone."""
        photo = self._in(name, State.PRIVATE, State.DOWNLOADED, State.PUBLISHED)
        if photo.state is State.PUBLISHED:
            loop = asyncio.get_running_loop()
            self._undo[name] = loop.call_later(self.options.undo_s, lambda: self._start(self._delete(name)))
            return self._changed(msgspec.structs.replace(photo, state=State.DELETING))
        if photo.state is State.DOWNLOADED:  # what was here is known, and is not offered again
            self._changed(msgspec.structs.replace(photo, state=State.DISMISSED, thumb=b""))
        else:
            self._gone(name)
        return None

    def undo(self, name: str) -> PhotoView:
        photo = self._in(name, State.DELETING)
        timer = self._undo.pop(name, None)
        if timer is None:
            raise Fault(409, "late", "the deletion has been sent already")
        timer.cancel()
        return self._changed(msgspec.structs.replace(photo, state=State.PUBLISHED))

    async def _delete(self, name: str) -> None:
        self._undo.pop(name, None)
        photo = self._in(name, State.DELETING)
        metadata = _metadata(photo)
        assert metadata is not None, "only publications are deleted"
        try:
            await self.node.delete(metadata.key.oid)
        except (InputError, OperationError) as error:
            self._changed(msgspec.structs.replace(photo, state=State.PUBLISHED, error=_line(error)))
        else:
            self._gone(name)

    def _heard(self, notice: Notice) -> None:
        if self._heard_before is not None:
            self._heard_before(notice)
        metadata = notice.metadata
        if metadata.key.owner == self.node.id or self.library.of_key(str(metadata.key)) is not None:
            return
        card = read_card(metadata.summary, metadata.key.oid, self.options)
        photo = Photo(
            id=self.library.new_id(),
            state=State.NEW,
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
        self._changed(photo)

    def _changed(self, photo: Photo) -> PhotoView:
        for gone in self.library.put(photo):
            self._events.put("photo gone", {"id": gone.id})
        view = self.view(photo)
        if photo.state in TABS:
            self._events.put("photo", view)
        else:
            self._events.put("photo gone", {"id": photo.id})
        return view

    def _gone(self, name: str) -> None:
        self.library.remove(name)
        self._events.put("photo gone", {"id": name})

    def _progress_of(self, photo: Photo) -> Callable[[int, int], None]:
        loop = asyncio.get_running_loop()
        due_s = 0.0

        def tell(have_bytes: int, size_bytes: int) -> None:
            nonlocal due_s
            self._have[photo.id] = have_bytes
            if loop.time() >= due_s:
                due_s = loop.time() + PROGRESS_S
                self._events.put("photo", self.view(photo))

        return tell

    def _in(self, name: str, *states: State) -> Photo:
        photo = self.photo(name)
        if photo.state not in states:
            raise Fault(409, "state", f"the photo is {photo.state.value}; that cannot be done with it now")
        return photo

    async def _in_thread(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _start(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


_RESUMED = {
    State.PUBLISHING: State.PRIVATE,
    State.DELETING: State.PUBLISHED,
    State.DOWNLOADING: State.LATER,
}


def _metadata(photo: Photo) -> Metadata | None:
    return msgspec.msgpack.decode(photo.metadata, type=Metadata) if photo.metadata else None


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
