"""What an application gives, checked before anything happens: a wrong type is an `InputError`, never a `TypeError`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from thyme.live.node.device import DeviceOptions
from thyme.live.node.operations.notifications import Notice, Notifications
from thyme.live.node.position_file import read_position
from thyme.live.trust.choosing import refuse_auto
from thyme.live.trust.namespaces import DEFAULT_NAME, Namespace, namespace_of
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import Query, parse_query

MAX_NAME_CHARS = 255
"""Of an object: it travels with every notification, and should be a file's name as well."""
Given = bytes | bytearray | memoryview | str | os.PathLike[str] | BinaryIO | AsyncIterable[bytes]
"""What there is to insert: bytes, a text, the path of a file, or a stream, of which some are asynchronous."""
Wanted = Metadata | Notice | ObjectKey | str
"""An object: what a notification said of it, its key, or its key as text, such as `photo@1`."""
Which = int | SubscriptionKey | Notifications
"""A subscription: its number, its key, or what it brings."""


def namespace_in(options: dict[str, Any]) -> tuple[Namespace, dict[str, Any]]:
    """The namespace that options name, and the options with what an invitation to it says; what is given wins."""
    name, passphrase = options.get("namespace", DEFAULT_NAME), options.get("passphrase", "")
    if not isinstance(name, str) or not isinstance(passphrase, str):
        raise InputError("namespace and passphrase are texts")
    namespace = namespace_of(name or DEFAULT_NAME, passphrase)
    given = {**options, "namespace": namespace.name}
    if namespace.approach and given.setdefault("approach", namespace.approach) == namespace.approach:
        given["settings"] = {**namespace.settings, **given.get("settings", {})}
    return namespace, given


def options_of(node: int | None, options: dict[str, Any]) -> DeviceOptions:
    refuse_auto(options.get("approach"))
    peers = options.get("peers", ())
    if isinstance(peers, str):
        raise InputError(f"peers is the text {peers!r}; give a list of addresses, such as [{peers!r}]")
    try:
        checked = msgspec.convert({"node": node or 0, **options, "peers": tuple(peers)}, DeviceOptions)
    except (msgspec.ValidationError, TypeError) as error:
        raise InputError(f"node {'' if node is None else node}: {error}") from error
    if not checked.position_file:
        return checked
    if "position" in options:
        raise InputError(f"a position and the position file {checked.position_file} are given; one of them is enough")
    return msgspec.structs.replace(checked, position=read_position(Path(checked.position_file).expanduser()))


def path_of(path: object) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path is {path!r}; give a text or a pathlib.Path")
    return Path(path)


def query_of(query: object) -> Query:
    if not isinstance(query, str):
        raise InputError(f"the query is {query!r}; give a text, such as 'goal & !replay'")
    return parse_query(query)


def name_of(oid: object) -> str:
    if not isinstance(oid, str):
        raise InputError(f"the name of an object is {oid!r}; give a text")
    if len(oid) > MAX_NAME_CHARS:
        raise InputError(f"the name {oid[:20]!r}… has {len(oid)} characters: at most {MAX_NAME_CHARS} can be")
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
    raise InputError(f"the {name} is of type {type(given).__name__}; give bytes or a text")


def parse_key(text: str) -> ObjectKey:
    """`name@node`, as objects are shown."""
    oid, separator, owner = text.rpartition("@")
    if not separator or not oid or not (owner.isascii() and owner.isdigit()):
        raise InputError(f"object {text!r}: expected NAME@NODE, such as photo@1")
    return ObjectKey(oid, NodeId(int(owner)))


def wanted_of(what: object) -> Metadata | ObjectKey:
    match what:
        case Metadata() | ObjectKey():
            return what
        case Notice():
            return what.metadata
        case str():
            return parse_key(what)
    raise InputError(f"{what!r} is no object; give a notification, its metadata, or a key such as 'photo@1'")


def number_of(what: object) -> int:
    match what:
        case Notifications():
            return what.key.sid
        case SubscriptionKey():
            return what.sid
        case int() if not isinstance(what, bool):
            return what
    raise InputError(f"{what!r} is no subscription; give what `subscribe` returned, or its number")
