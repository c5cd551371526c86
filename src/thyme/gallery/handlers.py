"""What the gallery's endpoints answer: they translate, and `sharing` and `galleries` do."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import psutil
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from thyme.gallery import forms
from thyme.gallery.codes import code_of
from thyme.gallery.galleries import Galleries
from thyme.gallery.limits import EVERY_PHOTO
from thyme.gallery.photos import HERE, Photo, PhotoView
from thyme.gallery.pictures import SUFFIXES
from thyme.gallery.places import MapView, ReplicaPlaces, map_of, places_of
from thyme.gallery.sharing import Sharing
from thyme.gallery.traffic import TrafficSums
from thyme.live.http.faults import Fault, not_found
from thyme.live.http.forms import Held
from thyme.live.http.interface import NodeInterface
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.records import TrafficKind

PICTURE_HEADERS = {"cache-control": "private, max-age=86400"}
TRANSMIT_W, RECEIVE_W = 3.0 * 0.38, 3.0 * 0.313
"""Of an 802.11 radio, as the simulator's energy model has it by default."""
RATE_BITS_S = 54e6


class Handlers:
    def __init__(
        self,
        interface: NodeInterface,
        sharing: Sharing,
        galleries: Galleries,
        traffic: TrafficSums,
        page: Callable[[], str],
        *,
        demo: bool,
    ) -> None:
        """`page` gives the address of this page on the network, with the token, or nothing if it is not shared."""
        self._interface, self._sharing, self._galleries = interface, sharing, galleries
        self._traffic, self._page, self._demo = traffic, page, demo
        self._began_s = time.monotonic()

    async def state(self, _: Request, __: None) -> forms.StateView:
        sharing, interface = self._sharing, self._interface
        options = sharing.options
        return forms.StateView(
            gallery=self._galleries.current_view(),
            me=forms.Me(str(sharing.node.id), sharing.shelf.by),
            last_event=interface.events.last,
            photos=sharing.shelf.views(),
            subscriptions=interface.subscriptions.views(),
            tags=sharing.shelf.tags(),
            every_photo=EVERY_PHOTO,
            limits=forms.Limits(
                options.photo_bytes, options.undo_s, options.archived, options.name_chars, options.by_chars
            ),
            demo=self._demo,
            now_s=sharing.node.now(),
        )

    async def add(self, request: Request, _: None) -> PhotoView:
        announced = int(request.headers.get("content-length", "0"))
        most = self._sharing.options.photo_bytes
        file = await self._interface.uploads.plain(request.stream(), announced, most)
        try:
            return await self._sharing.publishing.add(file, request.query_params.get("name", ""))
        finally:
            file.unlink(missing_ok=True)

    async def label(self, request: Request, asked: forms.Labels) -> PhotoView:
        return self._sharing.publishing.label(_id(request), asked.tags)

    async def publish(self, request: Request, asked: forms.Publication) -> PhotoView:
        return await self._sharing.publishing.publish(_id(request), asked.tags, asked.keep_location)

    async def download(self, request: Request, _: None) -> PhotoView:
        return self._sharing.downloads.download(_id(request))

    async def later(self, request: Request, _: None) -> PhotoView:
        return self._sharing.postpone(_id(request))

    async def dismiss(self, request: Request, _: None) -> None:
        self._sharing.dismiss(_id(request))

    async def remove(self, request: Request, _: None) -> PhotoView | None:
        return self._sharing.remove(_id(request))

    async def undo(self, request: Request, _: None) -> PhotoView:
        return self._sharing.undo(_id(request))

    async def thumb(self, request: Request, _: None) -> Response:
        photo = self._sharing.shelf.photo(_id(request))
        if photo.state in HERE:
            return FileResponse(self._sharing.library.thumb(photo.id), media_type="image/webp", headers=PICTURE_HEADERS)
        if not photo.thumb_type:
            raise not_found("picture of this photo yet")
        return Response(photo.thumb, media_type=photo.thumb_type, headers=PICTURE_HEADERS)

    async def picture(self, request: Request, _: None) -> Response:
        file = self._sharing.library.view(self._here(request).id)
        return FileResponse(file, media_type="image/webp", headers=PICTURE_HEADERS)

    async def original(self, request: Request, _: None) -> Response:
        photo = self._here(request)
        return FileResponse(
            self._sharing.library.original(photo.id), media_type="application/octet-stream", filename=file_name(photo)
        )

    async def places(self, request: Request, _: None) -> ReplicaPlaces:
        metadata = self._sharing.shelf.metadata(_id(request))
        return places_of(metadata.replicas if metadata else ())

    async def archive(self, request: Request, _: None) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("id")))
        if not 0 < len(names) <= self._sharing.options.archived:
            raise InputError(f"choose 1 to {self._sharing.options.archived} photos for an archive")
        photos = [self._sharing.shelf.photo(name) for name in names]
        file = await asyncio.to_thread(self._pack, [photo for photo in photos if photo.state in HERE])
        return FileResponse(
            file, media_type="application/zip", filename="photos.zip", background=BackgroundTask(file.unlink)
        )

    def _pack(self, photos: list[Photo]) -> Path:
        with NamedTemporaryFile(prefix="thyme-photos-", suffix=".zip", delete=False) as out:
            used: set[str] = set()
            with ZipFile(out, "w", ZIP_STORED) as archive:
                for photo in photos:
                    name = file_name(photo)
                    name = name if name not in used else f"{photo.id[:6]}-{name}"
                    used.add(name)
                    archive.write(self._sharing.library.original(photo.id), name)
        return Path(out.name)

    async def map(self, _: Request, __: None) -> MapView:
        return map_of(self._sharing.node)

    async def place(self, _: Request, asked: forms.NewPlace) -> MapView:
        if not (abs(asked.x_m) < 1e6 and abs(asked.y_m) < 1e6):
            raise InputError("the place is not on this map")
        self._sharing.node.device.host.place(Point(asked.x_m, asked.y_m))
        return map_of(self._sharing.node)

    async def status(self, _: Request, __: None) -> forms.NodeStatus:
        node, flow = self._sharing.node, self._flow
        sent, received = flow(TrafficKind.SENT), flow(TrafficKind.RECEIVED)
        joules = (sent.size_bytes * TRANSMIT_W + received.size_bytes * RECEIVE_W) * 8 / RATE_BITS_S
        folder = self._sharing.library.original("x").parent
        return forms.NodeStatus(
            approach=node.options.approach,
            address=node.address,
            joined=node.device.joined.is_set(),
            up_s=time.monotonic() - self._began_s,
            peers=len(node.device.neighbours()),
            held=tuple(Held(*each) for each in node.device.store.stored()),
            sent=sent,
            received=received,
            forwarded=flow(TrafficKind.FORWARDED),
            dropped=flow(TrafficKind.DROPPED),
            library_bytes=self._sharing.library.size_bytes(),
            free_bytes=shutil.disk_usage(folder).free,
            memory_bytes=psutil.Process().memory_info().rss,
            radio_joules=joules,
        )

    async def call_me(self, _: Request, asked: forms.NewName) -> forms.Me:
        self._sharing.shelf.call_me(asked.by)
        return forms.Me(str(self._sharing.node.id), self._sharing.shelf.by)

    async def galleries(self, _: Request, __: None) -> list[forms.GalleryView]:
        return self._galleries.views(self._sharing.node.device.namespaces_around())

    async def join(self, _: Request, asked: forms.NewGallery) -> forms.GalleryView:
        return self._galleries.add(asked)

    async def switch(self, _: Request, asked: forms.Chosen) -> forms.GalleryView:
        return self._galleries.choose(asked.name)

    async def invitation(self, _: Request, __: None) -> forms.InviteView:
        page = self._page()
        return forms.InviteView(code_of(page) if page else None, code_of(self._galleries.current.invitation()))

    def _here(self, request: Request) -> Photo:
        photo = self._sharing.shelf.photo(_id(request))
        if photo.state not in HERE:
            raise Fault(409, "state", "the photo is not on this device; download it first")
        return photo

    def _flow(self, kind: TrafficKind) -> forms.Flow:
        return forms.Flow(*self._traffic.of(kind))


def _id(request: Request) -> str:
    given: Any = request.path_params["id"]
    return str(given)


def file_name(photo: Photo) -> str:
    """A name for the file that no system stumbles over."""
    plain = "".join(c if c.isalnum() or c in " -_()" else "_" for c in photo.name).strip(" .") or "photo"
    return f"{plain[:80]}{SUFFIXES.get(photo.kind, '')}"
