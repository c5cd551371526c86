"""Arguments of an application, checked before anything happens: a wrong type is an `InputError`, never a `TypeError`.

Time is given as people say it: the last ten minutes, from an instant on, until another (Thyme FGCS §3.3).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, TypedDict

import msgspec

from thyme.approaches.entry import with_defaults
from thyme.live.link.link import LinkOptions
from thyme.live.node.device import DeviceOptions
from thyme.live.node.gpsd import gpsd_address
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.node.position import read_position
from thyme.live.store.room import DiskOptions
from thyme.live.trust.approach_choice import APPROACH_BY_HAND, DEFAULT_APPROACH, refuse_auto, settings_of
from thyme.live.trust.device_names import device_name_of
from thyme.live.trust.namespaces import DEFAULT_NAME, Namespace, namespace_of
from thyme.model.areas import Area
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.geometry import Point
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.quantities import seconds_in
from thyme.model.queries import Query, parse_query

Instant = float | datetime
"""Seconds since 1970, or a date and time; without a time zone, this device's."""
Span = float | str | timedelta
"""Seconds, a text such as "10m" or "1h30m", or a `timedelta`."""


def frame_of(
    now_s: float,
    frame: TimeFrame | None = None,
    start: Instant | None = None,
    end: Instant | None = None,
    last: Span | None = None,
) -> TimeFrame:
    """The frame that was said: as such, by its ends, or as the last while up to `now_s` and from then on."""
    if frame is not None:
        if not isinstance(frame, TimeFrame):
            raise InputError(f"frame is {frame!r}; give a TimeFrame, or `start`, `end` or `last`")
        if (start, end, last) != (None, None, None):
            raise InputError("give a frame, or `start`, `end` and `last`, but not both")
        return frame
    if start is not None and last is not None:
        raise InputError("give `start` or `last`, but not both: each says when the frame begins")
    start_s = now_s - span_s(last) if last is not None else _seconds("start", start)
    return TimeFrame(start_s, _seconds("end", end))


def span_s(span: object) -> float:
    """A length of time in seconds."""
    match span:
        case timedelta():
            seconds = span.total_seconds()
        case str():
            seconds = seconds_in(span)
        case float() | int() if not isinstance(span, bool):
            seconds = float(span)
        case _:
            raise InputError(f"{span!r} is not a duration; give seconds, a timedelta, or a string such as '10m'")
    if not seconds > 0.0:
        raise InputError(f"the duration {span!r} is not positive")
    return seconds


def _seconds(name: str, instant: object) -> float | None:
    match instant:
        case None:
            return None
        case datetime():
            return instant.timestamp()
        case float() | int() if not isinstance(instant, bool):
            return float(instant)
    raise InputError(f"{name} is {instant!r}; give seconds since 1970 or a datetime")


MAX_OWNER_DIGITS = 19
"""Of the largest number of a node."""
MAX_NAME_CHARS = 255
"""Of an object: it travels with every notification, and should be a file's name as well."""
Given = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | AsyncIterable[bytes]
"""What can be inserted: bytes, a text, the path of a file, or a stream (synchronous or asynchronous)."""
Wanted = Metadata | Notice | ObjectKey | str
"""An object: what a notification said of it, its key, or its key as text, such as `photo@1`."""
Which = int | SubscriptionKey | Notifications
"""A subscription: its number, its key, or what it brings."""


class NodeOptions(TypedDict, total=False):
    """Options of a node, by keyword: see `DeviceOptions`."""

    namespace: str
    passphrase: str
    listen: str
    discover: bool | None
    peers: Sequence[str]
    only_peers: bool
    approach: str
    settings: dict[str, Any]
    name: str
    seed: int | None
    position: Point | Mapping[str, float]
    position_file: str
    position_source: str
    log: str
    tell: str
    signed: bool
    link: LinkOptions | Mapping[str, Any]
    disk: DiskOptions | Mapping[str, Any]
    leave_s: float
    operations: int
    greet_patience_s: float


def options_of(node: int | None, options: NodeOptions) -> tuple[Namespace, DeviceOptions]:
    """The namespace, and the options from its invitation; given options take precedence."""
    expected = ["store", *NodeOptions.__annotations__]
    for unknown in options.keys() - NodeOptions.__annotations__.keys():
        near = get_close_matches(unknown, expected, 1)
        meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(expected)}"
        raise InputError(f"a node has no option {unknown!r}; {meant}")
    name, passphrase = options.get("namespace", DEFAULT_NAME), options.get("passphrase", "")
    if not isinstance(name, str) or not isinstance(passphrase, str):
        raise InputError("namespace and passphrase must be strings")
    refuse_auto(options.get("approach"))
    namespace = namespace_of(name or DEFAULT_NAME, passphrase)
    given: dict[str, Any] = {"node": node or 0, **options, "namespace": namespace.name}
    given.setdefault("approach", namespace.approach or (DEFAULT_APPROACH if node is None else APPROACH_BY_HAND))
    if found := settings_of(namespace, str(given["approach"])):
        given["settings"] = with_defaults(given.get("settings", {}), found)
    peers = given.get("peers", ())
    if isinstance(peers, str):
        raise InputError(f"peers is the string {peers!r}; give a list of addresses, such as [{peers!r}]")
    if "name" in options:
        given["name"] = device_name_of(options["name"])
    try:
        checked = msgspec.convert({**given, "peers": tuple(peers)}, DeviceOptions)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"node {'' if node is None else node}: {error}") from error
    if checked.position_source:
        gpsd_address(checked.position_source)
        area_of(namespace)
        if checked.position_file:
            raise InputError(f"a position file and {checked.position_source} are given; one of them is enough")
    if not checked.position_file:
        return namespace, checked
    if "position" in options:
        raise InputError(f"a position and the position file {checked.position_file} are both given; give only one")
    here = read_position(Path(checked.position_file).expanduser())
    return namespace, msgspec.structs.replace(checked, position=here)


def area_of(namespace: Namespace) -> Area:
    if namespace.area is None:
        raise InputError(
            f"namespace {namespace.name!r} has no reference point, so latitude and longitude say nothing; give x_m and "
            "y_m, or create it with: thyme namespace new NAME --area 200x120 --reference LATITUDE,LONGITUDE"
        )
    return namespace.area


def place_of(
    namespace: Namespace, x_m: object, y_m: object, latitude: object, longitude: object
) -> tuple[object, object]:
    """Metres from the area's corner, from metres or from latitude and longitude."""
    if latitude is None and longitude is None:
        return x_m, y_m
    if x_m is not None or y_m is not None:
        raise InputError("give x_m and y_m, or latitude and longitude, but not both")
    here = area_of(namespace).point(latitude, longitude)
    return here.x_m, here.y_m


def path_of(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path is {path!r}; give a string or a pathlib.Path")
    return Path(path)


def query_of(query: object) -> Query:
    if not isinstance(query, str):
        raise InputError(f"the query is {query!r}; give a string, such as 'goal & !replay'")
    return parse_query(query)


def name_of(oid: object) -> str:
    if not isinstance(oid, str):
        raise InputError(f"the name of an object is {oid!r}; give a string")
    if len(oid) > MAX_NAME_CHARS:
        raise InputError(f"the name {oid[:20]!r}… has {len(oid)} characters: at most {MAX_NAME_CHARS} are allowed")
    return oid


def bytes_of(name: str, given: object) -> bytes:
    """What fits in memory: bytes as they are, a text as UTF-8."""
    if type(given) is bytes:
        return given
    match given:
        case str():
            return given.encode()
        case bytes() | bytearray() | memoryview():
            return bytes(given)
    raise InputError(f"the {name} is of type {type(given).__name__}; give bytes or a string")


def parse_key(text: str) -> ObjectKey:
    """`name@node`, as objects are shown."""
    oid, separator, owner = text.rpartition("@")
    if not separator or not oid or not (owner.isascii() and owner.isdigit() and len(owner) <= MAX_OWNER_DIGITS):
        raise InputError(f"object {text[:80]!r}: expected NAME@NODE, such as photo@1")
    return ObjectKey(oid, NodeId(int(owner)))


def wanted_of(what: object) -> Metadata | ObjectKey:
    match what:
        case Metadata() | ObjectKey():
            return what
        case Notice():
            return what.metadata
        case str():
            return parse_key(what)
    raise InputError(f"{what!r} is not an object; give a notification, its metadata, or a key such as 'photo@1'")


def number_of(what: object) -> int:
    match what:
        case Notifications():
            return what.key.sid
        case SubscriptionKey():
            return what.sid
        case int() if not isinstance(what, bool):
            return what
    raise InputError(f"{what!r} is not a subscription; give the one that `subscribe` returned, or its number")
