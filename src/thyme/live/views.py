"""A node's state as JSON records: what the HTTP interface takes and gives, and what its clients read.

Ids of nodes are text, because JavaScript's numbers are too short for them; objects are named by their key, `NAME@NODE`;
times are seconds since 1970 in the crowd's time. No web framework is imported here: the command line reads these, too.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from math import inf, nan
from typing import TYPE_CHECKING, Annotated

import msgspec

from thyme import __version__
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.terminal import printable

if TYPE_CHECKING:
    from thyme.live.node.node import Node
    from thyme.live.node.notifications import Notice
    from thyme.model.objects import Metadata

ANY_CELL = -1


class ReplicaView(msgspec.Struct, frozen=True):
    node: str
    """Empty: all nodes of the cell."""
    cell: int


class ObjectView(msgspec.Struct, frozen=True):
    key: str
    name: str
    owner: str
    owner_name: str
    """What people call the owner's device; empty if unknown."""
    own: bool
    tags: tuple[str, ...]
    summary: str
    """In base64."""
    summary_text: str | None
    """The summary, if it is text."""
    published_s: float
    expires_s: float | None
    """It ends then on all devices, unless it stays until it is deleted."""
    size_bytes: int
    replicas: tuple[ReplicaView, ...]


Tags = Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1)], ...], msgspec.Meta(min_length=1, max_length=32)]
QueryText = Annotated[str, msgspec.Meta(min_length=1)]
KeyText = Annotated[str, msgspec.Meta(pattern="^.+@[0-9]{1,19}$")]


class NewUpload(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tags: Tags
    size_bytes: Annotated[int, msgspec.Meta(ge=0)]
    name: Annotated[str, msgspec.Meta(max_length=255)] = ""
    """Of the object; without it, one is made up."""
    summary: str = ""
    """As text, …"""
    summary_base64: str = ""
    """… or as bytes."""
    lasts_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """The object ends so long after its insertion, on all devices."""


class UploadView(msgspec.Struct, frozen=True):
    upload: str
    name: str
    offset: int
    """Bytes received so far: the next part begins there."""
    size_bytes: int
    object: ObjectView | None = None
    """The object, once all is here and it was inserted."""


class NewSubscription(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: QueryText
    frame: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["", "past", "future", "always"]})] = ""
    """`past`, `future` or `always` (the default); or instead …"""
    start_s: float | None = None
    end_s: float | None = None
    last_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    """… from this many seconds ago on; with `past`, until now."""


class SubscriptionView(msgspec.Struct, frozen=True):
    sid: int
    key: str
    query: str
    start_s: float | None
    end_s: float | None
    told: int
    """Matches that this node was notified of since it was started."""
    remaining: int
    """Past matches that are known of and can be asked for with `more`."""


class NoticeView(msgspec.Struct, frozen=True):
    subscription: int
    delay_s: float
    object: ObjectView


class NewRetrieval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: KeyText


class RetrievalView(msgspec.Struct, frozen=True):
    key: str
    state: str
    """`running`, `done`, `failed` or `paused`."""
    have_bytes: int
    size_bytes: int
    error: str = ""


class PeerView(msgspec.Struct, frozen=True):
    node: str
    name: str
    address: str


class PresenceView(msgspec.Struct, frozen=True):
    node: str
    name: str
    address: str
    here: bool


class HeldCount(msgspec.Struct, frozen=True):
    name: str
    count: int
    size_bytes: int


class StatusView(msgspec.Struct, frozen=True):
    node: str
    name: str
    """What people call this device."""
    namespace: str
    """Its name."""
    approach: str
    address: str
    version: str
    joined: bool
    now_s: float
    started_s: float
    position: tuple[float, float]
    """Metres from the area's south-west corner."""
    coordinates: tuple[float, float] | None
    """Latitude and longitude, if the area has a reference point."""
    peers: int
    subscriptions: int
    objects: int
    """Known here: inserted, or notified of."""
    held: tuple[HeldCount, ...]
    """What this node holds, for itself and for others."""
    memory_bytes: int
    last_event: str = ""
    """Id of the newest event: a new stream of events can begin behind it."""
    streams: int = 0
    notes: tuple[str, ...] = ()
    """What its user should know."""

    def line(self) -> str:
        """For people."""
        joining = "" if self.joined else ", joining"
        name = f"{printable(self.name)}: " if self.name else ""
        return f"{name}node {self.node} ({self.approach}) listens on {self.address}{joining}"


class QueryView(msgspec.Struct, frozen=True):
    query: str
    """Its canonical spelling."""
    tags: tuple[str, ...]
    conjunctions: tuple[ConjunctionView, ...]
    """An object has to match one of them."""


class ConjunctionView(msgspec.Struct, frozen=True):
    with_tags: tuple[str, ...]
    without_tags: tuple[str, ...]


class SessionView(msgspec.Struct, frozen=True):
    node: str


def status_view(node: Node, last_event: str = "", streams: int = 0) -> StatusView:
    import psutil

    device, process = node.device, psutil.Process()
    position = device.host.position()
    return StatusView(
        node=str(node.id),
        name=node.name,
        namespace=node.namespace.name,
        approach=node.options.approach,
        address=node.address,
        version=__version__,
        joined=device.joined.is_set(),
        now_s=node.now(),
        started_s=node.now() - node.up_s,
        position=(position.x_m, position.y_m),
        coordinates=node.coordinates(),
        peers=len(device.neighbours()),
        subscriptions=len(node.subscriptions()),
        objects=len(node.known()),
        held=held_views(node),
        memory_bytes=process.memory_info().rss,
        last_event=last_event,
        streams=streams,
        notes=tuple(node.notes()),
    )


def held_views(node: Node) -> tuple[HeldCount, ...]:
    return tuple(HeldCount(*each) for each in node.device.approach.stored())


def peer_views(node: Node) -> list[PeerView]:
    return [PeerView(str(peer), node.name_of(peer), address) for peer, address in node.device.neighbours().items()]


def object_view(metadata: Metadata, node: Node) -> ObjectView:
    return ObjectView(
        key=str(metadata.key),
        name=metadata.key.oid,
        owner=str(metadata.key.owner),
        owner_name=node.name_of(metadata.key.owner),
        own=metadata.key.owner == node.id,
        tags=metadata.tags,
        summary=b64encode(metadata.summary).decode(),
        summary_text=text_of(metadata.summary),
        published_s=metadata.published_s,
        expires_s=metadata.expires_s,
        size_bytes=metadata.size_bytes,
        replicas=tuple(
            ReplicaView("" if replica.node == ANY_CELL else str(replica.node), replica.cell)
            for replica in metadata.replicas
        ),
    )


def notice_view(notice: Notice, node: Node) -> NoticeView:
    return NoticeView(notice.subscription.sid, round(notice.delay_s, 6), object_view(notice.metadata, node))


def text_of(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def summary_from(text: str, base64: str) -> bytes:
    if text and base64:
        raise InputError("the summary is given twice; give summary or summary_base64")
    if not base64:
        return text.encode()
    try:
        return b64decode(base64, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError("summary_base64 cannot be read as base64") from error


def lasts_from(text: str | None) -> float | None:
    """How long an object lasts, from a query string."""
    try:
        lasts_s = None if text is None else float(text)
    except ValueError:
        lasts_s = nan
    if lasts_s is not None and not 0.0 < lasts_s < inf:
        raise InputError(f"lasts_s is {text!r}; expected a number of seconds above 0")
    return lasts_s


def subscription_from(given: Mapping[str, str]) -> NewSubscription:
    """What a query string asks for: `query` and a time frame."""
    known = {key: given[key] for key in NewSubscription.__struct_fields__ if key in given}
    try:
        return msgspec.convert(known, NewSubscription, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"the request cannot be read: {error}") from error


def frame_from(asked: NewSubscription, now_s: float) -> TimeFrame:
    if asked.frame == "past" and asked.last_s is not None and asked.start_s is None and asked.end_s is None:
        return frame_from(NewSubscription(asked.query, end_s=now_s, last_s=asked.last_s), now_s)
    given = [asked.frame != "", asked.start_s is not None or asked.end_s is not None, asked.last_s is not None]
    if sum(given) > 1 and not (asked.last_s is not None and asked.start_s is None and not asked.frame):
        raise InputError("the time frame is given twice; give frame, or start_s and end_s, or last_s")
    if asked.last_s is not None:
        if not 0 <= asked.last_s < float("inf"):
            raise InputError(f"last_s is {asked.last_s}; expected a number of seconds from 0")
        return TimeFrame(now_s - asked.last_s, asked.end_s)
    match asked.frame:
        case "":
            return TimeFrame(asked.start_s, asked.end_s)
        case "past":
            return TimeFrame.past(now_s)
        case "future":
            return TimeFrame.future(now_s)
        case "always":
            return TimeFrame.always()
    raise InputError(f"frame is {asked.frame!r}; expected past, future or always")
