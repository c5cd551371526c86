"""What the gallery's endpoints answer: they translate, and `sharing` and `galleries` do."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import msgspec
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from thyme.gallery import forms
from thyme.gallery.cell_map import MapView, ReplicaPlaces, map_of, places_of
from thyme.gallery.codes import code_of
from thyme.gallery.galleries import Galleries
from thyme.gallery.library import Library
from thyme.gallery.limits import ARCHIVED, BY_CHARS, EVERY_PHOTO
from thyme.gallery.photos import HERE, Photo, PhotoView
from thyme.gallery.pictures import SUFFIXES
from thyme.gallery.sessions import ENTRANCE, GuestView, Sessions, ViewerSession
from thyme.gallery.sharing import Sharing
from thyme.live.failures import RequestError, not_found
from thyme.live.http.endpoints import Endpoint, Parameter
from thyme.live.http.guard import SESSION
from thyme.live.http.interface import NodeInterface
from thyme.live.views import NewSubscription, QueryView, SubscriptionView, peer_views, status_view
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.records import TrafficKind

PHOTO_IDS = {"type": "array", "items": {"type": "string"}}
PICTURE_HEADERS = {"cache-control": "private, max-age=86400"}
TRANSMIT_W, RECEIVE_W = 3.0 * 0.38, 3.0 * 0.313
"""Of an 802.11 radio, as the simulator's energy model has it by default."""
RATE_BITS_S = 54e6


class GalleryHandlers:
    def __init__(
        self,
        interface: NodeInterface,
        sessions: Sessions,
        galleries: Galleries,
        page: Callable[[], str],
        *,
        fingerprint: str,
        demo: bool,
    ) -> None:
        """`page` gives the address of the guests' page on the network, or nothing if it is not shared; `fingerprint` is
        of the authority behind https, if that is used."""
        self._interface, self._sessions, self._galleries = interface, sessions, galleries
        self._page, self._fingerprint, self._demo = page, fingerprint, demo

    def _session(self, request: Request) -> ViewerSession:
        found: ViewerSession | None = request.scope.get(SESSION)
        return found or self._sessions.host

    def _sharing(self, request: Request) -> Sharing:
        return self._session(request).sharing

    def _me(self, session: ViewerSession) -> forms.Me:
        node, by = str(self._interface.node.id), session.sharing.photos.by
        if session.guest is None:
            return forms.Me(node, by)
        return forms.Me(node, session.guest.name, self._sessions.host.sharing.photos.by)

    async def enter(self, request: Request, asked: forms.Entering) -> Response:
        cookie = await self._sessions.enter(request.headers, request.url.scheme, asked.key, asked.name)
        return Response(status_code=204, headers={"set-cookie": cookie})

    async def guests(self, _: Request, __: None) -> list[GuestView]:
        return self._sessions.views()

    async def remove_guest(self, request: Request, _: None) -> None:
        await self._sessions.remove(_id(request))

    async def events(self, request: Request, _: None) -> Response:
        events = self._session(request).events
        after = request.headers.get("last-event-id") or request.query_params.get("after")
        return events.response(after or events.last, lambda _: True)

    async def around(self, _: Request, __: None) -> forms.Around:
        device = self._interface.node.device
        return forms.Around(len(device.neighbours()), bool(device.notes()))

    async def query(self, request: Request, _: None) -> QueryView:
        return await self._interface.query(request, None)

    async def subscribed(self, request: Request, _: None) -> list[SubscriptionView]:
        return self._sessions.subscriptions(self._session(request))

    async def subscribe(self, request: Request, asked: NewSubscription) -> SubscriptionView:
        return await self._sessions.subscribe(self._session(request), asked)

    async def unsubscribe(self, request: Request, _: None) -> None:
        await self._sessions.unsubscribe(self._session(request), request.path_params["sid"])

    async def more(self, request: Request, _: None) -> SubscriptionView:
        return await self._sessions.more(self._session(request), request.path_params["sid"])

    async def state(self, request: Request, _: None) -> forms.StateView:
        session = self._session(request)
        sharing, options = session.sharing, session.sharing.options
        return forms.StateView(
            gallery=self._galleries.current_view(),
            me=self._me(session),
            last_event=session.events.last,
            photos=sharing.photos.views(),
            subscriptions=self._sessions.subscriptions(session),
            tags=sharing.photos.tags(),
            every_photo=EVERY_PHOTO,
            limits=forms.Limits(options.photo_bytes, options.undo_s, BY_CHARS),
            demo=self._demo,
            now_s=sharing.node.now(),
        )

    async def add(self, request: Request, _: None) -> PhotoView:
        announced = int(request.headers.get("content-length", "0"))
        self._session(request).check_upload(announced)
        most = self._sharing(request).options.photo_bytes
        file = await self._interface.uploads.plain(request.stream(), announced, most)
        try:
            return await self._sharing(request).publishing.add(file, request.query_params.get("name", ""))
        finally:
            file.unlink(missing_ok=True)

    async def label(self, request: Request, asked: forms.Labels) -> PhotoView:
        return self._sharing(request).publishing.label(_id(request), asked.tags)

    async def publish(self, request: Request, asked: forms.PublishForm) -> PhotoView:
        return await self._sharing(request).publishing.publish(_id(request), asked.tags, asked.keep_location)

    async def download(self, request: Request, _: None) -> PhotoView:
        return self._sharing(request).downloads.download(_id(request))

    async def later(self, request: Request, _: None) -> PhotoView:
        return self._sharing(request).postpone(_id(request))

    async def dismiss(self, request: Request, _: None) -> None:
        self._sharing(request).dismiss(_id(request))

    async def remove(self, request: Request, _: None) -> PhotoView | None:
        return self._sharing(request).remove(_id(request))

    async def undo(self, request: Request, _: None) -> PhotoView:
        return self._sharing(request).undo(_id(request))

    async def thumb(self, request: Request, _: None) -> Response:
        sharing = self._sharing(request)
        photo = sharing.photos.photo(_id(request))
        if photo.state in HERE:
            return FileResponse(sharing.library.thumb(photo.id), media_type="image/webp", headers=PICTURE_HEADERS)
        if not photo.thumb_type:
            raise not_found("picture of this photo yet")
        return Response(photo.thumb, media_type=photo.thumb_type, headers=PICTURE_HEADERS)

    async def picture(self, request: Request, _: None) -> Response:
        file = self._sharing(request).library.view(self._here(request).id)
        return FileResponse(file, media_type="image/webp", headers=PICTURE_HEADERS)

    async def original(self, request: Request, _: None) -> Response:
        photo = self._here(request)
        return FileResponse(
            self._sharing(request).library.original(photo.id),
            media_type="application/octet-stream",
            filename=file_name(photo),
        )

    async def places(self, request: Request, _: None) -> ReplicaPlaces:
        metadata = self._sharing(request).photos.metadata(_id(request))
        return places_of(metadata.replicas if metadata else ())

    async def archive(self, request: Request, _: None) -> Response:
        names = list(dict.fromkeys(request.query_params.getlist("id")))
        if not 0 < len(names) <= ARCHIVED:
            raise InputError(f"choose 1 to {ARCHIVED} photos for an archive")
        photos = [self._sharing(request).photos.photo(name) for name in names]
        file = await asyncio.to_thread(
            self._pack, self._sharing(request).library, [one for one in photos if one.state in HERE]
        )
        return FileResponse(
            file, media_type="application/zip", filename="photos.zip", background=BackgroundTask(file.unlink)
        )

    @staticmethod
    def _pack(library: Library, photos: list[Photo]) -> Path:
        with NamedTemporaryFile(prefix="thyme-photos-", suffix=".zip", delete=False) as out:
            used: set[str] = set()
            with ZipFile(out, "w", ZIP_STORED) as archive:
                for photo in photos:
                    name = file_name(photo)
                    name = name if name not in used else f"{photo.id[:6]}-{name}"
                    used.add(name)
                    archive.write(library.original(photo.id), name)
        return Path(out.name)

    async def map(self, request: Request, _: None) -> MapView:
        return map_of(self._interface.node, self._sharing(request).photos.names())

    async def place(self, request: Request, asked: forms.NewPlace) -> MapView:
        if not (abs(asked.x_m) < 1e6 and abs(asked.y_m) < 1e6):
            raise InputError("this position is outside the map")
        self._interface.node.device.host.place(Point(asked.x_m, asked.y_m))
        return map_of(self._interface.node, self._sharing(request).photos.names())

    async def status(self, _: Request, __: None) -> forms.NodeStatus:
        node, flow, library = self._interface.node, self._flow, self._sessions.host.sharing.library
        sent, received = flow(TrafficKind.SENT), flow(TrafficKind.RECEIVED)
        joules = (sent.size_bytes * TRANSMIT_W + received.size_bytes * RECEIVE_W) * 8 / RATE_BITS_S
        folder = library.original("x").parent
        return forms.NodeStatus(
            **msgspec.structs.asdict(status_view(node)),
            in_range=tuple(peer.name for peer in peer_views(node) if peer.name),
            sent=sent,
            received=received,
            forwarded=flow(TrafficKind.FORWARDED),
            dropped=flow(TrafficKind.DROPPED),
            library_bytes=library.size_bytes(),
            free_bytes=shutil.disk_usage(folder).free,
            radio_joules=joules,
        )

    async def call_me(self, request: Request, asked: forms.NewName) -> forms.Me:
        session = self._session(request)
        self._sessions.call(session, asked.by)
        return self._me(session)

    async def galleries(self, _: Request, __: None) -> list[forms.GalleryView]:
        return self._galleries.views(self._interface.node.device.namespaces_around())

    async def join(self, _: Request, asked: forms.NewGallery) -> forms.GalleryView:
        return self._galleries.add(asked)

    async def switch(self, _: Request, asked: forms.Chosen) -> forms.GalleryView:
        return self._galleries.choose(asked.name)

    async def invitation(self, request: Request, _: None) -> forms.InviteView:
        page, is_guest = self._page(), self._session(request).guest is not None
        joining = None if is_guest else code_of(self._galleries.current.invitation())
        return forms.InviteView(code_of(page) if page else None, joining, self._fingerprint)

    def _here(self, request: Request) -> Photo:
        photo = self._sharing(request).photos.photo(_id(request))
        if photo.state not in HERE:
            raise RequestError(409, "state", "the photo is not on this device; download it first")
        return photo

    def _flow(self, kind: TrafficKind) -> forms.Flow:
        return forms.Flow(*self._interface.sums.traffic(kind))


def gallery_endpoints(h: GalleryHandlers) -> list[Endpoint]:
    base, photo = "/v1/gallery", "/v1/gallery/photos/{id}"
    octets = "application/octet-stream"
    return [
        Endpoint("POST", ENTRANCE, h.enter, "Become a guest of this gallery", takes=forms.Entering, status=204),
        Endpoint("GET", f"{base}/guests", h.guests, "Guests of this device", gives=list[GuestView]),
        Endpoint("DELETE", f"{base}/guests/{{id}}", h.remove_guest, "Remove a guest; publications stay", status=204),
        Endpoint("GET", f"{base}/events", h.events, "What happens now", gives_type="text/event-stream"),
        Endpoint("GET", f"{base}/around", h.around, "Devices in range", gives=forms.Around),
        Endpoint(
            *("GET", f"{base}/query", h.query, "Check a query"),
            gives=QueryView, query={"text": Parameter("the query")},
        ),
        Endpoint("GET", f"{base}/subscriptions", h.subscribed, "Subscriptions", gives=list[SubscriptionView]),
        Endpoint(
            *("POST", f"{base}/subscriptions", h.subscribe, "Subscribe"),
            takes=NewSubscription, gives=SubscriptionView, status=201,
        ),
        Endpoint("DELETE", f"{base}/subscriptions/{{sid:int}}", h.unsubscribe, "Unsubscribe", status=204),
        Endpoint(
            *("POST", f"{base}/subscriptions/{{sid:int}}/more", h.more, "Ask for the next past matches"),
            gives=SubscriptionView,
        ),
        Endpoint("GET", f"{base}/state", h.state, "All that a page needs when it opens", gives=forms.StateView),
        Endpoint(
            *("POST", f"{base}/photos", h.add, "Add a photo of this device; its file is the body"),
            takes_bytes=True, gives=PhotoView, status=201, query={"name": Parameter("the file's name")},
        ),
        Endpoint("PATCH", photo, h.label, "Note tags of a private photo", takes=forms.Labels, gives=PhotoView),
        Endpoint(
            *("POST", f"{photo}/publish", h.publish, "Share a private photo"),
            takes=forms.PublishForm, gives=PhotoView,
        ),
        Endpoint("POST", f"{photo}/download", h.download, "Download now, or try again", gives=PhotoView, status=202),
        Endpoint("POST", f"{photo}/later", h.later, "Postpone the download", gives=PhotoView),
        Endpoint("POST", f"{photo}/dismiss", h.dismiss, "Do not show it any more", status=204),
        Endpoint("DELETE", photo, h.remove, "Delete; a publication everywhere, after some seconds", gives=PhotoView),
        Endpoint("POST", f"{photo}/undo", h.undo, "Undo a deletion that was not sent yet", gives=PhotoView),
        Endpoint("GET", f"{photo}/thumb", h.thumb, "A small picture", gives_type="image/webp"),
        Endpoint("GET", f"{photo}/view", h.picture, "A screenful", gives_type="image/webp"),
        Endpoint("GET", f"{photo}/original", h.original, "The photo's file", gives_type=octets),
        Endpoint("GET", f"{photo}/places", h.places, "Where its replicas are", gives=ReplicaPlaces),
        Endpoint(
            *("GET", f"{base}/archive", h.archive, "Several photos as one archive"),
            gives_type="application/zip", query={"id": Parameter("a photo", PHOTO_IDS)},
        ),
        Endpoint("GET", f"{base}/map", h.map, "The cells and who is in them", gives=MapView),
        Endpoint("POST", f"{base}/place", h.place, "Say where this device is", takes=forms.NewPlace, gives=MapView),
        Endpoint("GET", f"{base}/status", h.status, "What this node does", gives=forms.NodeStatus),
        Endpoint("PUT", f"{base}/me", h.call_me, "What others see as author", takes=forms.NewName, gives=forms.Me),
        Endpoint("GET", f"{base}/galleries", h.galleries, "Galleries of this device", gives=list[forms.GalleryView]),
        Endpoint(
            *("POST", f"{base}/galleries", h.join, "Create or join a gallery, and switch to it"),
            takes=forms.NewGallery, gives=forms.GalleryView, status=202,
        ),
        Endpoint(
            *("POST", f"{base}/switch", h.switch, "Switch to another gallery"),
            takes=forms.Chosen, gives=forms.GalleryView, status=202,
        ),
        Endpoint("GET", f"{base}/invitation", h.invitation, "What to scan to come here", gives=forms.InviteView),
    ]  # fmt: skip


def _id(request: Request) -> str:
    given: Any = request.path_params["id"]
    return str(given)


def file_name(photo: Photo) -> str:
    """A name for the file that no system stumbles over."""
    plain = "".join(c if c.isalnum() or c in " -_()" else "_" for c in photo.name).strip(" .") or "photo"
    return f"{plain[:80]}{SUFFIXES.get(photo.kind, '')}"
