"""Data objects and their metadata ⟨oid, T, s, tspub, nid⟩ (Thyme FGCS §3.1, §6.2).

An object is an opaque, immutable run of bytes, named by its key. Its metadata is what notifications carry and
what brokers keep; it says by a digest (`chunks`) which bytes they are, so that whoever keeps, fetches or delivers them
can tell them from others. With cell-based storage it also lists the replicas from which the object can be had.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite

import msgspec

from thyme.model.chunks import DIGEST_BYTES, content_digest
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.tags import normalise_tags

MAX_DATA_BYTES = 2**40
"""The list of chunks of such an object takes 256 MB; usually the disk is full before."""
MAX_TRACE_BYTES = 16 * 1024 * 1024
"""Of an object in a trace: a large photo or a short clip. A simulation holds all contents in memory."""
MAX_SUMMARY_BYTES = 2 * 1024
"""A small thumbnail: it is sent with each notification, which must fit one 802.11 frame, as must an insertion that
carries both it and a part of the content."""
MAX_TAGS = 32


class Replica(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A node that holds the object, and the cell in which it was last known to be."""

    node: NodeId
    cell: CellId


class Expiring(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The seal of an object that ends at an instant; most objects do not, and their metadata is shorter."""

    seal: bytes
    expires_s: float

    def __post_init__(self) -> None:
        if not isfinite(self.expires_s):
            raise InputError(
                f"an object cannot expire at {self.expires_s}: give a number of seconds, or none if it never expires"
            )


class Metadata(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """All that is known of an object besides its bytes; the tags are normalised, sorted and unique."""

    key: ObjectKey
    tags: tuple[str, ...]
    summary: bytes
    published_s: float
    size_bytes: int
    replicas: tuple[Replica, ...] = ()
    seal: bytes | Expiring = b""
    """The digest of the content, when the object expires and, where objects are signed, the owner's signature of the
    metadata."""

    def __post_init__(self) -> None:
        if not isfinite(self.published_s):
            raise InputError(f"object {self.key} cannot be published at {self.published_s}: give seconds")

    @classmethod
    def of(
        cls,
        key: ObjectKey,
        tags: tuple[str, ...],
        summary: bytes,
        published_s: float,
        content: Content,
        expires_s: float | None = None,
    ) -> Metadata:
        """That of an object with this content."""
        digest = digest_of(content)
        seal = digest if expires_s is None else Expiring(digest, expires_s)
        return cls(key, tags, summary, published_s, size_of(content), (), seal)

    @property
    def expires_s(self) -> float | None:
        """When the object ends everywhere; None if only its owner ends it."""
        return None if isinstance(self.seal, bytes) else self.seal.expires_s

    def expired(self, now_s: float) -> bool:
        return not isinstance(self.seal, bytes) and self.seal.expires_s <= now_s

    @property
    def digest(self) -> bytes:
        """Of the content (`chunks`); none only if it was made by a version that had no digests."""
        return self._sealed[:DIGEST_BYTES]

    @property
    def proof(self) -> bytes:
        """A public key and its signature, or nothing (`wire.signing`)."""
        return self._sealed[DIGEST_BYTES:]

    @property
    def _sealed(self) -> bytes:
        return self.seal if isinstance(self.seal, bytes) else self.seal.seal

    def add_proof(self, proof: bytes) -> None:
        """Complete an own object whose proof is needed for the first time: it stays the same object."""
        sealed = self._sealed + proof
        seal = sealed if isinstance(self.seal, bytes) else Expiring(sealed, self.seal.expires_s)
        msgspec.structs.force_setattr(self, "seal", seal)

    def describes(self, content: Content) -> bool:
        """Whether these bytes are the object's content."""
        return size_of(content) == self.size_bytes and self.digest in (b"", digest_of(content))


class InStore(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A content in its node's store, because it may be larger than memory."""

    size_bytes: int
    digest: bytes


Content = bytes | InStore


def size_of(content: Content) -> int:
    return len(content) if isinstance(content, bytes) else content.size_bytes


def digest_of(content: Content) -> bytes:
    return content_digest(content) if isinstance(content, bytes) else content.digest


class DataObject(msgspec.Struct, frozen=True, array_like=True, gc=False):
    metadata: Metadata
    data: bytes

    @property
    def whole(self) -> bool:
        """Whether the data are the content that the metadata describes."""
        return self.metadata.describes(self.data)


class ObjectLimits(msgspec.Struct, frozen=True):
    """Maximum sizes of one object."""

    data_bytes: int = MAX_DATA_BYTES
    """Largest content."""
    summary_bytes: int = MAX_SUMMARY_BYTES
    """Largest summary."""
    tags: int = MAX_TAGS
    """Most tags."""


DEFAULT_LIMITS = ObjectLimits()


def check_object(
    data: Content, tags: Iterable[str], summary: bytes, limits: ObjectLimits = DEFAULT_LIMITS
) -> tuple[str, ...]:
    """The normalised tags of an object about to be inserted; InputError if it breaks a limit."""
    if type(data) is not bytes and not isinstance(data, InStore):
        check_bytes("content", data)
    if type(summary) is not bytes:
        check_bytes("summary", summary)
    size_bytes = len(data) if isinstance(data, bytes) else data.size_bytes
    if size_bytes > limits.data_bytes:
        raise InputError(f"the object has {size_bytes} bytes: at most {limits.data_bytes} can be stored")
    if len(summary) > limits.summary_bytes:
        raise InputError(f"the summary has {len(summary)} bytes: at most {limits.summary_bytes} can be sent")
    normalised = normalise_tags(tags_of(tags))
    if not normalised:
        raise InputError("the object has no tags, so nobody could find it: give at least one")
    if len(normalised) > limits.tags:
        raise InputError(f"the object has {len(normalised)} tags: at most {limits.tags} are allowed")
    return normalised


def tags_of(given: object) -> list[str]:
    """The given tags; InputError if they are not a list of texts."""
    if isinstance(given, str):
        raise InputError(f"tags is the string {given!r}; give a list of tags, such as [{given!r}]")
    if not isinstance(given, list | tuple) and (isinstance(given, bytes) or not isinstance(given, Iterable)):
        raise InputError(f"tags is {given!r}; give a list of tags, such as ['goal']")
    tags = list(given)
    for tag in tags:
        if not isinstance(tag, str):
            raise InputError(f"the tag {tag!r} is of type {type(tag).__name__}; give a string")
    return tags


def check_bytes(name: str, given: object) -> None:
    if not isinstance(given, bytes):
        raise InputError(f"the {name} is of type {type(given).__name__}; give bytes, for example text.encode()")
