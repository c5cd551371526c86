"""The table of endpoints: what there is to ask a node for over HTTP."""

from __future__ import annotations

from thyme.live.http import forms as f
from thyme.live.http.endpoints import Endpoint
from thyme.live.http.interface import NodeInterface


def endpoints_of(i: NodeInterface) -> list[Endpoint]:
    object_, upload, sid = "/v1/objects/{key:path}", "/v1/uploads/{upload}", "/v1/subscriptions/{sid:int}"
    tags = {"tag*": "a tag", "name": "the object's name; without it, one is made up"}
    summary = {"summary": "what subscribers see, as text …", "summary_base64": "… or as bytes"}
    after = {"Last-Event-ID": "the event behind which to go on"}
    offset = {"Upload-Offset": "how many bytes were sent before"}
    stream, octets = "text/event-stream", "application/octet-stream"
    asked = {
        "query": "which objects", "frame": "past, future or always", "last_s": "or: from so many seconds ago on",
        "start_s": "or: seconds since 1970", "end_s": "seconds since 1970",
    }  # fmt: skip
    page = {"skip": "how many to leave out", "limit": "how many to give"}
    return [
        Endpoint("GET", "/v1/status", i.status, "How the node is", gives=f.StatusView),
        Endpoint("GET", "/v1/peers", i.peers, "Who is in range", gives=list[f.PeerView]),
        Endpoint("GET", "/v1/query", i.query, "Check a query", gives=f.QueryView, query={"text": "the query"}),
        Endpoint("GET", "/v1/objects", i.objects, "Known objects", gives=list[f.ObjectView], query=page),
        Endpoint(
            *("POST", "/v1/objects", i.insert, "Insert an object whose content is the body"),
            takes_bytes=True, gives=f.ObjectView, status=201, query={**tags, **summary},
        ),
        Endpoint("GET", object_, i.object, "An object's metadata", gives=f.ObjectView),
        Endpoint("DELETE", object_, i.delete, "Delete an own object everywhere", status=204),
        Endpoint(
            *("GET", "/v1/contents/{key:path}", i.content, "Retrieve a content, or a range of it"),
            gives_type=octets, headers={"Range": "bytes=FIRST-LAST"},
        ),
        Endpoint(
            *("POST", "/v1/uploads", i.begin_upload, "Begin an upload in parts"),
            takes=f.NewUpload, gives=f.UploadView, status=201,
        ),
        Endpoint("GET", upload, i.upload, "How much of an upload is here", gives=f.UploadView),
        Endpoint(
            *("PATCH", upload, i.go_on_uploading, "Add a part; with the last one, insert the object"),
            takes_bytes=True, gives=f.UploadView, headers=offset,
        ),
        Endpoint("DELETE", upload, i.drop_upload, "Give an upload up", status=204),
        Endpoint("GET", "/v1/subscriptions", i.subscribed, "Subscriptions", gives=list[f.SubscriptionView]),
        Endpoint(
            *("POST", "/v1/subscriptions", i.subscribe, "Subscribe"),
            takes=f.NewSubscription, gives=f.SubscriptionView, status=201,
        ),
        Endpoint("GET", sid, i.subscription, "A subscription", gives=f.SubscriptionView),
        Endpoint("DELETE", sid, i.unsubscribe, "Unsubscribe", status=204),
        Endpoint("POST", f"{sid}/more", i.more, "Ask for the next past matches", gives=f.SubscriptionView),
        Endpoint(
            *("GET", f"{sid}/events", i.notifications, "Its notifications, the kept ones first"),
            gives=f.NoticeView, gives_type=stream, headers=after,
        ),
        Endpoint(
            *("GET", "/v1/found", i.asking.found, "What matches a query and is there now"),
            gives=list[f.ObjectView], query=asked,
        ),
        Endpoint(
            *("GET", "/v1/notifications", i.asking.listen, "Subscribe for as long as the connection lasts"),
            gives=f.NoticeView, gives_type=stream, query=asked,
        ),
        Endpoint("GET", "/v1/events", i.all_events, "What happens now", gives_type=stream, headers=after),
        Endpoint("GET", "/v1/retrievals", i.retrievals, "Retrievals", gives=list[f.RetrievalView]),
        Endpoint(
            *("POST", "/v1/retrievals", i.retrieve, "Begin a retrieval, or go on with it"),
            takes=f.NewRetrieval, gives=f.RetrievalView, status=202,
        ),
        Endpoint("GET", "/v1/retrievals/{key:path}", i.retrieval, "How far it is", gives=f.RetrievalView),
        Endpoint("DELETE", "/v1/retrievals/{key:path}", i.pause, "Pause a retrieval", status=204),
    ]  # fmt: skip
