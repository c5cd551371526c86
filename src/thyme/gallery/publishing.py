"""Publishing: photos of this device are added, tagged, and given to the crowd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from thyme.drafts import write_file
from thyme.gallery import pictures
from thyme.gallery.cards import card_bytes, plain, thumb_room
from thyme.gallery.collection import Collection, line_of
from thyme.gallery.limits import EVERY_PHOTO, NAME_CHARS
from thyme.gallery.photos import Photo, PhotoState, PhotoView
from thyme.model.objects import Metadata
from thyme.model.tags import normalise_tags


class Publishing:
    def __init__(self, collection: Collection) -> None:
        self._photos = collection

    async def add(self, file: Path, name: str) -> PhotoView:
        """A file of this device becomes a private photo; the file is moved here."""
        photo_id = self._photos.library.new_id()
        here = self._photos.library.original(photo_id)

        def take() -> pictures.Looked:
            looked = pictures.look(file)
            pictures.make_shown(file, self._photos.library.thumb(photo_id), self._photos.library.view(photo_id))
            file.replace(here)
            return looked

        looked = await self._photos.in_thread(take)
        shown = plain(Path(name).stem, NAME_CHARS) or "photo"
        photo = Photo(
            id=photo_id,
            state=PhotoState.PRIVATE,
            name=shown,
            by=self._photos.by,
            tags=(),
            at_s=self._photos.node.now(),
            size_bytes=here.stat().st_size,
            width=looked.width,
            height=looked.height,
            kind=looked.kind,
            orientation=looked.orientation,
        )
        return self._photos.changed(photo)

    def label(self, name: str, tags: Sequence[str]) -> PhotoView:
        """Note the tags that a private photo will be published with."""
        photo = self._photos.in_state(name, PhotoState.PRIVATE)
        return self._photos.changed(msgspec.structs.replace(photo, tags=normalise_tags(tags)))

    async def publish(self, name: str, tags: Sequence[str], keep_location: bool) -> PhotoView:
        photo = self._photos.in_state(name, PhotoState.PRIVATE)
        given = normalise_tags([*photo.tags, *tags])
        self._photos.changed(
            msgspec.structs.replace(photo, state=PhotoState.PUBLISHING, tags=given, by=self._photos.by)
        )
        try:
            metadata, thumb = await self._insert(photo, normalise_tags([*given, EVERY_PHOTO]), keep_location)
        except BaseException as error:
            failed = msgspec.structs.replace(photo, tags=given, error=line_of(error))
            self._photos.changed(failed)
            raise
        published = msgspec.structs.replace(
            photo,
            state=PhotoState.PUBLISHED,
            tags=metadata.tags,
            by=self._photos.by,
            at_s=metadata.published_s,
            size_bytes=metadata.size_bytes,
            key=str(metadata.key),
            metadata=msgspec.msgpack.encode(metadata),
            thumb=thumb,
            error="",
        )
        return self._photos.changed(published)

    async def _insert(self, photo: Photo, tags: Sequence[str], keep_location: bool) -> tuple[Metadata, bytes]:
        library, by = self._photos.library, self._photos.by
        here = library.original(photo.id)

        def prepare() -> bytes:
            if not keep_location:
                looked = pictures.Looked(photo.kind, photo.width, photo.height, photo.orientation)
                write_file(here, pictures.cleaned(here, looked))
            return pictures.small_picture(library.thumb(photo.id), thumb_room(photo.name, by))

        thumb = await self._photos.in_thread(prepare)
        card = card_bytes(photo.name, by, photo.width, photo.height, thumb)
        return await self._photos.node.insert(photo.id, here, tags, card), thumb
