"""The HTTP interface of one node: what its clients share, and what it answers them.

The handlers translate and nothing more: an object, subscription or retrieval is what the node says it is.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from secrets import token_hex

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from thyme.live import views
from thyme.live.failures import RequestError, not_found
from thyme.live.http.contents import RetrievedContents
from thyme.live.http.endpoints import WHOLE, Endpoint, Parameter
from thyme.live.http.events import Events, NodeEvent
from thyme.live.http.limits import HttpOptions
from thyme.live.http.metrics import MEDIA_TYPE, NodeSums, metrics_text
from thyme.live.http.subscriptions import ClientSubscriptions, ConnectionSubscriptions
from thyme.live.http.uploads import Uploads
from thyme.live.node.arguments import MAX_NAME_CHARS, parse_key
from thyme.live.node.logs.log import SeveralLogs
from thyme.live.node.node import NAME_BYTES, Node
from thyme.live.node.notifications import Notice
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.objects import MAX_TAGS, Metadata
from thyme.model.queries import parse_query
from thyme.model.subscriptions import Subscription

MAX_DIGITS = 18
"""Of a number in a request."""


class NodeInterface:
    """State shared by the clients of one node. Created when the node is open, ended before it is closed."""

    def __init__(self, node: Node, folder: Path, options: HttpOptions | None = None) -> None:
        self.node = node
        self.options = options or HttpOptions()
        self.events = Events(self.options)
        self.subscriptions = ClientSubscriptions(node)
        self.uploads = Uploads(folder / "uploads", self.options)
        self.contents = RetrievedContents(
            node, folder / "contents", self.options, lambda view: self.events.put("retrieval", view)
        )
        self.listeners = ConnectionSubscriptions(node, self.options)
        self.sums = NodeSums()
        self._log_before = node.device.host.log
        node.device.host.log = SeveralLogs(self._log_before, self.sums)
        self._heard_before, node.on_notice = node.on_notice, self._heard
        self._presences = asyncio.get_running_loop().create_task(self._tell_presences())

    async def end(self) -> None:
        self.events.end()
        self.listeners.end()
        self.node.on_notice = self._heard_before
        self.node.device.host.log = self._log_before
        self._presences.cancel()
        await asyncio.gather(self._presences, return_exceptions=True)
        await self.contents.end()

    def metadata(self, text: str) -> Metadata:
        key = parse_key(text)
        found = next((each for each in self.node.known() if each.key == key), None)
        if found is None and self.node.device.approach.deleted(key):
            raise RequestError(404, "deleted", f"object {key} of this device was deleted or has expired")
        if found is None:
            raise not_found(f"object {text[:200]} that this node knows of; look for it with: thyme ls QUERY")
        return found

    def _heard(self, notice: Notice) -> None:
        if self._heard_before is not None:
            self._heard_before(notice)
        self.subscriptions.count(notice.subscription.sid)
        self.events.put("notified", views.notice_view(notice, self.node), notice.subscription.sid)

    async def _tell_presences(self) -> None:
        async for presence in self.node.peers():
            view = views.PresenceView(str(presence.node), presence.name, presence.address, presence.here)
            self.events.put("peer", view)

    async def status(self, _: Request, __: None) -> views.StatusView:
        return views.status_view(self.node, self.events.last, self.events.streams)

    async def metrics(self, _: Request, __: None) -> Response:
        return Response(metrics_text(self.node, self.sums), media_type=MEDIA_TYPE)

    async def peers(self, _: Request, __: None) -> list[views.PeerView]:
        return views.peer_views(self.node)

    async def query(self, request: Request, _: None) -> views.QueryView:
        query = parse_query(request.query_params.get("text", ""))
        key = SubscriptionKey(0, self.node.id)
        subscription = Subscription.to_query(key, query, TimeFrame.always())
        parts = subscription.conjunctions
        if self.node.device.approach.capabilities.needs_positive_literal and not all(part.positive for part in parts):
            raise InputError("give at least one tag to search for; tags to exclude are not enough")
        shown = tuple(views.ConjunctionView(part.positive, part.negative) for part in parts)
        return views.QueryView(query.text, query.tags(), shown)

    async def objects(self, request: Request, _: None) -> list[views.ObjectView]:
        known = self.node.known()
        asked, listed = request.query_params, self.options.listed
        skip = whole_number("skip", asked.get("skip", "0"))
        page = known[skip : skip + min(listed, whole_number("limit", asked.get("limit", str(listed))))]
        return [views.object_view(each, self.node) for each in page]

    async def found(self, request: Request, _: None) -> list[views.ObjectView]:
        asked = views.subscription_from(request.query_params)
        frame = views.frame_from(asked, self.node.now())
        objects = await self.node.find(asked.query, start=frame.start_s, end=frame.end_s)
        return [views.object_view(each, self.node) for each in objects]

    async def insert(self, request: Request, _: None) -> views.ObjectView:
        asked = request.query_params
        summary = views.summary_from(asked.get("summary", ""), asked.get("summary_base64", ""))
        lasts_s = views.lasts_from(asked.get("lasts_s"))
        announced = int(request.headers.get("content-length", "0"))
        file = await self.uploads.plain(request.stream(), announced)
        try:
            name = asked.get("name") or token_hex(NAME_BYTES)
            metadata = await self.node.insert(name, file, asked.getlist("tag"), summary, expires=lasts_s)
        finally:
            file.unlink(missing_ok=True)
        return self.inserted(metadata)

    def inserted(self, metadata: Metadata) -> views.ObjectView:
        view = views.object_view(metadata, self.node)
        self.events.put("inserted", view)
        return view

    async def object(self, request: Request, _: None) -> views.ObjectView:
        return views.object_view(self.metadata(request.path_params["key"]), self.node)

    async def delete(self, request: Request, _: None) -> None:
        key = parse_key(request.path_params["key"])
        self._expect_own(key)
        await self.node.delete(key.oid)
        self.contents.forget(key)
        self.events.put("deleted", {"key": str(key)})

    async def content(self, request: Request, _: None) -> Response:
        metadata = self.metadata(request.path_params["key"])
        file = await self.contents.file(metadata)
        return FileResponse(file, media_type="application/octet-stream", filename=metadata.key.oid.rpartition("/")[2])

    async def begin_upload(self, _: Request, asked: views.NewUpload) -> views.UploadView:
        if asked.name:
            self.node.device.approach.new_key(asked.name)
        upload = self.uploads.begin(asked)
        return views.UploadView(upload.upload, upload.name, 0, upload.size_bytes)

    async def upload(self, request: Request, _: None) -> views.UploadView:
        upload = self.uploads.get(request.path_params["upload"])
        return views.UploadView(upload.upload, upload.name, self.uploads.offset(upload), upload.size_bytes)

    async def go_on_uploading(self, request: Request, _: None) -> views.UploadView:
        upload = self.uploads.get(request.path_params["upload"])
        given = request.headers.get("upload-offset", "")
        if not given:
            raise InputError("give the start of this part in the header Upload-Offset: NUMBER")
        here = await self.uploads.add(upload, whole_number("Upload-Offset", given), request.stream())
        if here < upload.size_bytes:
            return views.UploadView(upload.upload, upload.name, here, upload.size_bytes)
        file, lasts_s = self.uploads.file(upload), upload.lasts_s
        metadata = await self.node.insert(upload.name, file, upload.tags, upload.summary, expires=lasts_s)
        self.uploads.forget(upload)
        return views.UploadView(upload.upload, upload.name, here, upload.size_bytes, self.inserted(metadata))

    async def drop_upload(self, request: Request, _: None) -> None:
        self.uploads.forget(self.uploads.get(request.path_params["upload"]))

    async def subscribe(self, _: Request, asked: views.NewSubscription) -> views.SubscriptionView:
        return await self.subscriptions.add(asked)

    async def subscribed(self, _: Request, __: None) -> list[views.SubscriptionView]:
        return self.subscriptions.views()

    async def subscription(self, request: Request, _: None) -> views.SubscriptionView:
        return self.subscriptions.view(_sid(request))

    async def more(self, request: Request, _: None) -> views.SubscriptionView:
        return await self.subscriptions.more(_sid(request))

    async def unsubscribe(self, request: Request, _: None) -> None:
        sid = _sid(request)
        await self.subscriptions.remove(sid)
        self.events.put("unsubscribed", {"subscription": sid}, sid)

    async def notifications(self, request: Request, _: None) -> StreamingResponse:
        sid = _sid(request)
        self.subscriptions.view(sid)

        def wanted(event: NodeEvent) -> bool:
            return event.sid == sid

        return self.events.response(_last_event(request), wanted, lambda: sid not in self.subscriptions)

    async def all_events(self, request: Request, _: None) -> StreamingResponse:
        return self.events.response(_last_event(request) or self.events.last, lambda _: True)

    async def retrieve(self, _: Request, asked: views.NewRetrieval) -> views.RetrievalView:
        return self.contents.begin(self.metadata(asked.key))

    async def retrievals(self, _: Request, __: None) -> list[views.RetrievalView]:
        return self.contents.states()

    async def retrieval(self, request: Request, _: None) -> views.RetrievalView:
        text = request.path_params["key"]
        state = self.contents.state(parse_key(text))
        if state is None:
            raise not_found(f"retrieval of {text[:200]}")
        return state

    async def pause(self, request: Request, _: None) -> None:
        text = request.path_params["key"]
        if self.contents.pause(parse_key(text)) is None:
            raise not_found(f"retrieval of {text[:200]}")

    def _expect_own(self, key: ObjectKey) -> None:
        if key.owner != self.node.id:
            raise RequestError(403, "owner", f"{key} is not this node's; only its owner can delete an object")


def _last_event(request: Request) -> str | None:
    return request.headers.get("last-event-id") or request.query_params.get("after")


def whole_number(name: str, given: str) -> int:
    if not given.isascii() or not given.isdigit() or len(given) > MAX_DIGITS:
        raise InputError(f"{name} is {given[:40]!r}; expected a whole number of at most {MAX_DIGITS} digits")
    return int(given)


def _sid(request: Request) -> int:
    return whole_number("the number of a subscription", request.path_params["sid"])


def endpoints_of(i: NodeInterface) -> list[Endpoint]:
    """The table of endpoints of a node's HTTP interface."""
    object_, upload, sid = "/v1/objects/{key:path}", "/v1/uploads/{upload}", "/v1/subscriptions/{sid}"
    text, number = {"type": "string"}, {"type": "number"}
    tag = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "maxItems": MAX_TAGS}
    tags = {
        "tag": Parameter("the tags, one parameter each", tag, True),
        "name": Parameter("the object's name; generated if missing", {**text, "maxLength": MAX_NAME_CHARS}),
    }
    summary = {"summary": Parameter("what subscribers see, as text …"), "summary_base64": Parameter("… or as bytes")}
    lasts = {"lasts_s": Parameter("seconds from insertion to expiry", {**number, "exclusiveMinimum": 0})}
    after = {"Last-Event-ID": Parameter("the event after which to continue")}
    offset = {"Upload-Offset": Parameter("offset of this part in bytes", WHOLE, True)}
    stream, octets = "text/event-stream", "application/octet-stream"
    asked = {
        "query": Parameter("which objects", {**text, "minLength": 1}, True),
        "frame": Parameter("past, future or always", {**text, "enum": ["past", "future", "always"]}),
        "last_s": Parameter("or: length of the past, in seconds", {**number, "minimum": 0}),
        "start_s": Parameter("or: seconds since 1970", number),
        "end_s": Parameter("seconds since 1970", number),
    }
    spelling = {"text": Parameter("the query", {**text, "minLength": 1}, True)}
    page = {
        "skip": Parameter("number of results to skip", WHOLE),
        "limit": Parameter("largest number of results", WHOLE),
    }
    return [
        Endpoint("GET", "/v1/status", i.status, "State of the node", gives=views.StatusView),
        Endpoint("GET", "/metrics", i.metrics, "Counters, for Prometheus", gives_type="text/plain"),
        Endpoint("GET", "/v1/peers", i.peers, "Nodes in range", gives=list[views.PeerView]),
        Endpoint("GET", "/v1/query", i.query, "Check a query", gives=views.QueryView, query=spelling),
        Endpoint("GET", "/v1/objects", i.objects, "Known objects", gives=list[views.ObjectView], query=page),
        Endpoint(
            *("POST", "/v1/objects", i.insert, "Insert an object whose content is the body"),
            takes_bytes=True, gives=views.ObjectView, status=201, query={**tags, **summary, **lasts},
        ),
        Endpoint("GET", object_, i.object, "An object's metadata", gives=views.ObjectView),
        Endpoint("DELETE", object_, i.delete, "Delete an object of this node everywhere", status=204),
        Endpoint(
            *("GET", "/v1/contents/{key:path}", i.content, "Retrieve content, or a range of it"),
            gives_type=octets, headers={"Range": Parameter("bytes=FIRST-LAST")},
        ),
        Endpoint(
            *("POST", "/v1/uploads", i.begin_upload, "Start an upload in parts"),
            takes=views.NewUpload, gives=views.UploadView, status=201,
        ),
        Endpoint("GET", upload, i.upload, "Bytes of an upload received so far", gives=views.UploadView),
        Endpoint(
            *("PATCH", upload, i.go_on_uploading, "Add a part; with the last one, insert the object"),
            takes_bytes=True, gives=views.UploadView, headers=offset,
        ),
        Endpoint("DELETE", upload, i.drop_upload, "Cancel an upload", status=204),
        Endpoint("GET", "/v1/subscriptions", i.subscribed, "Subscriptions", gives=list[views.SubscriptionView]),
        Endpoint(
            *("POST", "/v1/subscriptions", i.subscribe, "Subscribe"),
            takes=views.NewSubscription, gives=views.SubscriptionView, status=201,
        ),
        Endpoint("GET", sid, i.subscription, "A subscription", gives=views.SubscriptionView),
        Endpoint("DELETE", sid, i.unsubscribe, "Unsubscribe", status=204),
        Endpoint("POST", f"{sid}/more", i.more, "Ask for the next past matches", gives=views.SubscriptionView),
        Endpoint(
            *("GET", f"{sid}/events", i.notifications, "Its notifications, stored ones first"),
            gives=views.NoticeView, gives_type=stream, headers=after,
        ),
        Endpoint(
            *("GET", "/v1/found", i.found, "Objects that match a query now"),
            gives=list[views.ObjectView], query=asked,
        ),
        Endpoint(
            *("GET", "/v1/notifications", i.listeners.listen, "Subscribe until the connection closes"),
            gives=views.NoticeView, gives_type=stream, query=asked,
        ),
        Endpoint("GET", "/v1/events", i.all_events, "What happens now", gives_type=stream, headers=after),
        Endpoint("GET", "/v1/retrievals", i.retrievals, "Retrievals", gives=list[views.RetrievalView]),
        Endpoint(
            *("POST", "/v1/retrievals", i.retrieve, "Start or resume a retrieval"),
            takes=views.NewRetrieval, gives=views.RetrievalView, status=202,
        ),
        Endpoint("GET", "/v1/retrievals/{key:path}", i.retrieval, "Progress of a retrieval", gives=views.RetrievalView),
        Endpoint("DELETE", "/v1/retrievals/{key:path}", i.pause, "Pause a retrieval", status=204),
    ]  # fmt: skip
