"""The HTTP interface of one node: what its clients share, and what it answers them.

The handlers translate and nothing more: an object, subscription or retrieval is what the node says it is.
"""

from __future__ import annotations

import asyncio
import time
from importlib.metadata import version
from pathlib import Path

import psutil
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from thyme.live.http import forms
from thyme.live.http.asking import Asking
from thyme.live.http.contents import Contents
from thyme.live.http.events import Event, Events
from thyme.live.http.faults import Fault, not_found
from thyme.live.http.limits import HttpOptions
from thyme.live.http.subscriptions import Subscriptions
from thyme.live.http.uploads import Uploads, made_up_name
from thyme.live.node.node import Node
from thyme.live.node.operations.notifications import Notice
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription


class NodeInterface:
    """What clients of one node share. Made when the node is open, ended before it is closed."""

    def __init__(self, node: Node, folder: Path, options: HttpOptions | None = None) -> None:
        self.node = node
        self.options = options or HttpOptions()
        self.events = Events(self.options)
        self.subscriptions = Subscriptions(node)
        self.uploads = Uploads(folder / "uploads", self.options)
        self.contents = Contents(
            node, folder / "contents", self.options, lambda view: self.events.put("retrieval", view)
        )
        self.asking = Asking(node, self.options)
        self._started_s = time.time()
        self._heard_before, node.on_notice = node.on_notice, self._heard
        self._presences = asyncio.get_running_loop().create_task(self._tell_presences())

    async def end(self) -> None:
        self.events.end()
        self.node.on_notice = self._heard_before
        self._presences.cancel()
        await asyncio.gather(self._presences, return_exceptions=True)
        await self.contents.end()

    def metadata(self, text: str) -> Metadata:
        key = forms.key_from(text)
        found = next((each for each in self.node.known() if each.key == key), None)
        if found is None:
            raise not_found(f"object {text[:200]} that this node knows of; subscribe to one of its tags first")
        return found

    def _heard(self, notice: Notice) -> None:
        if self._heard_before is not None:
            self._heard_before(notice)
        self.subscriptions.count(notice.subscription.sid)
        self.events.put("notified", forms.notice_view(notice, self.node.id), notice.subscription.sid)

    async def _tell_presences(self) -> None:
        async for presence in self.node.peers():
            self.events.put("peer", forms.PresenceView(str(presence.node), presence.address, presence.here))

    async def status(self, _: Request, __: None) -> forms.StatusView:
        node, device = self.node, self.node.device
        position = device.host.position()
        return forms.StatusView(
            node=str(node.id),
            approach=node.options.approach,
            address=node.address,
            version=version("thyme"),
            joined=device.joined.is_set(),
            now_s=node.now(),
            started_s=self._started_s,
            position=(position.x_m, position.y_m),
            peers=len(device.neighbours()),
            subscriptions=len(node.subscriptions()),
            objects=len(node.known()),
            held=tuple(forms.Held(*each) for each in device.store.stored()),
            memory_bytes=psutil.Process().memory_info().rss,
            last_event=self.events.last,
            streams=self.events.streams,
        )

    async def peers(self, _: Request, __: None) -> list[forms.PeerView]:
        return [forms.PeerView(str(node), address) for node, address in self.node.device.neighbours().items()]

    async def query(self, request: Request, _: None) -> forms.QueryView:
        query = parse_query(request.query_params.get("text", ""))
        key = SubscriptionKey(0, self.node.id)
        subscription = Subscription.to_query(key, query, TimeFrame.always())
        parts = subscription.conjunctions
        if self.node.device.store.capabilities.needs_positive_literal and not all(part.positive for part in parts):
            raise InputError("say at least one tag that is wanted; only what is unwanted is not enough to search for")
        shown = tuple(forms.ConjunctionView(part.positive, part.negative) for part in parts)
        return forms.QueryView(query.text, query.tags(), shown)

    async def objects(self, request: Request, _: None) -> list[forms.ObjectView]:
        known = self.node.known()
        skip = _whole_number(request, "skip", 0)
        page = known[skip : skip + min(self.options.listed, _whole_number(request, "limit", self.options.listed))]
        return [forms.object_view(each, self.node.id) for each in page]

    async def insert(self, request: Request, _: None) -> forms.ObjectView:
        asked = request.query_params
        summary = forms.summary_from(asked.get("summary", ""), asked.get("summary_base64", ""))
        announced = int(request.headers.get("content-length", "0"))
        file = await self.uploads.plain(request.stream(), announced)
        try:
            metadata = await self.node.insert(asked.get("name") or made_up_name(), file, asked.getlist("tag"), summary)
        finally:
            file.unlink(missing_ok=True)
        return self.inserted(metadata)

    def inserted(self, metadata: Metadata) -> forms.ObjectView:
        view = forms.object_view(metadata, self.node.id)
        self.events.put("inserted", view)
        return view

    async def object(self, request: Request, _: None) -> forms.ObjectView:
        return forms.object_view(self.metadata(request.path_params["key"]), self.node.id)

    async def delete(self, request: Request, _: None) -> None:
        key = forms.key_from(request.path_params["key"])
        self._expect_own(key)
        await self.node.delete(key.oid)
        self.contents.forget(key)
        self.events.put("deleted", {"key": str(key)})

    async def content(self, request: Request, _: None) -> Response:
        metadata = self.metadata(request.path_params["key"])
        file = await self.contents.file(metadata)
        return FileResponse(file, media_type="application/octet-stream", filename=metadata.key.oid.rpartition("/")[2])

    async def begin_upload(self, _: Request, asked: forms.NewUpload) -> forms.UploadView:
        if asked.name:
            self.node.device.store.new_key(asked.name)
        upload = self.uploads.begin(asked)
        return forms.UploadView(upload.upload, upload.name, 0, upload.size_bytes)

    async def upload(self, request: Request, _: None) -> forms.UploadView:
        upload = self.uploads.get(request.path_params["upload"])
        return forms.UploadView(upload.upload, upload.name, self.uploads.offset(upload), upload.size_bytes)

    async def go_on_uploading(self, request: Request, _: None) -> forms.UploadView:
        upload = self.uploads.get(request.path_params["upload"])
        given = request.headers.get("upload-offset", "")
        if not given.isdigit():
            raise InputError("say where the part begins, with Upload-Offset: NUMBER")
        here = await self.uploads.add(upload, int(given), request.stream())
        if here < upload.size_bytes:
            return forms.UploadView(upload.upload, upload.name, here, upload.size_bytes)
        metadata = await self.node.insert(upload.name, self.uploads.file(upload), upload.tags, upload.summary)
        self.uploads.forget(upload)
        return forms.UploadView(upload.upload, upload.name, here, upload.size_bytes, self.inserted(metadata))

    async def drop_upload(self, request: Request, _: None) -> None:
        self.uploads.forget(self.uploads.get(request.path_params["upload"]))

    async def subscribe(self, _: Request, asked: forms.NewSubscription) -> forms.SubscriptionView:
        return await self.subscriptions.add(asked)

    async def subscribed(self, _: Request, __: None) -> list[forms.SubscriptionView]:
        return self.subscriptions.views()

    async def subscription(self, request: Request, _: None) -> forms.SubscriptionView:
        return self.subscriptions.view(request.path_params["sid"])

    async def more(self, request: Request, _: None) -> forms.SubscriptionView:
        return await self.subscriptions.more(request.path_params["sid"])

    async def unsubscribe(self, request: Request, _: None) -> None:
        sid: int = request.path_params["sid"]
        await self.subscriptions.remove(sid)
        self.events.put("unsubscribed", {"subscription": sid}, sid)

    async def notifications(self, request: Request, _: None) -> StreamingResponse:
        sid: int = request.path_params["sid"]
        self.subscriptions.view(sid)

        def wanted(event: Event) -> bool:
            return event.sid == sid

        return self.events.response(_last_event(request), wanted, lambda: sid not in self.subscriptions)

    async def all_events(self, request: Request, _: None) -> StreamingResponse:
        return self.events.response(_last_event(request) or self.events.last, lambda _: True)

    async def retrieve(self, _: Request, asked: forms.NewRetrieval) -> forms.RetrievalView:
        return self.contents.begin(self.metadata(asked.key))

    async def retrievals(self, _: Request, __: None) -> list[forms.RetrievalView]:
        return self.contents.states()

    async def retrieval(self, request: Request, _: None) -> forms.RetrievalView:
        text = request.path_params["key"]
        state = self.contents.state(forms.key_from(text))
        if state is None:
            raise not_found(f"retrieval of {text[:200]}")
        return state

    async def pause(self, request: Request, _: None) -> None:
        text = request.path_params["key"]
        if self.contents.pause(forms.key_from(text)) is None:
            raise not_found(f"retrieval of {text[:200]}")

    def _expect_own(self, key: ObjectKey) -> None:
        if key.owner != self.node.id:
            raise Fault(403, "owner", f"{key} is not this node's; only its owner can delete an object")


def _last_event(request: Request) -> str | None:
    return request.headers.get("last-event-id") or request.query_params.get("after")


def _whole_number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, str(default))
    if not given.isascii() or not given.isdigit():
        raise InputError(f"{name} is {given[:40]!r}; expected a whole number")
    return int(given)
