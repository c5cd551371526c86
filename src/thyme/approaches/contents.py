"""Contents: an object's bytes, kept in the host's store and fetched in parts.

A content is kept, read or delivered only if it matches the digest in the object's metadata; this is checked when all
parts have arrived, and again when it is read.

The requester asks for a few parts at a time, retries, and goes on to the next source when one does not have the object
or does not answer (Thyme FGCS §6.5: the next closest replica, until no more options are available or a maximum number
of retries is reached). A part fits one frame of the radio. Contents of more than one chunk are fetched by `transfers`
and are in the store from the first part on; their list of chunks is served as further parts, at offsets from the
content's size on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Generic, TypeVar

import msgspec

from thyme.approaches.eviction import Evictable, Rank
from thyme.approaches.interface import Failure, Fetched, Outcome
from thyme.approaches.partial_contents import KIND as DRAFT
from thyme.approaches.partial_contents import drop_draft, key_of_draft, list_key
from thyme.approaches.requests import Requests
from thyme.approaches.transfers.fetching import Progress, Transfers
from thyme.approaches.transfers.supplies import TransferOptions
from thyme.approaches.transfers.transfer import Known, failure_of, nothing_known
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.chunks import CHUNK_BYTES, ChunkDigests, list_bytes, root_of
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, InStore, Metadata
from thyme.model.records import Counted, TrafficKind
from thyme.model.settings.bounds import AtLeastOne
from thyme.wire.codec import MAX_PART_BYTES, FrameBytes
from thyme.wire.storage import DELETED, PartReply, PartRequest

KIND = "content"
MAX_PARTIAL = 16
"""Objects whose parts are kept after a failed retrieval, up to one chunk of each."""
Source = TypeVar("Source")


class ContentOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    part_bytes: FrameBytes = 1_200
    """A part with its headers stays below the 1500 bytes above which 802.11 asks for RTS/CTS (§9.2)."""
    window: AtLeastOne = 4
    """Parts requested at once, within the limit of pending requests."""
    fetches: AtLeastOne = 200
    """Most retrievals under way at once."""
    transfers: TransferOptions = TransferOptions()


class Contents:
    """The contents that this node can serve."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.lost: Callable[[ObjectKey], None] | None = None
        """Called with contents that were kept here and are damaged."""
        self.is_deleted: Callable[[ObjectKey], bool] = lambda _: False
        """Asked about contents that are not here: whether their owner deleted them, as far as this node knows."""

    def keep(self, metadata: Metadata, content: Content) -> bool:
        """Keep an object's content if it matches its metadata; returns whether it does."""
        if not metadata.describes(content):
            self._host.record(Counted(TrafficKind.DROPPED, "content", reason="not what its metadata says"))
            return False
        self.keep_own(metadata, content)
        return True

    def keep_own(self, metadata: Metadata, content: Content) -> None:
        """Keep a content from which its metadata was just made."""
        store, key = self._host.store, str(metadata.key)
        if isinstance(content, bytes):
            store.discard(key)
            store.write(key, 0, content, since_s=metadata.published_s)
            if len(content) > CHUNK_BYTES:
                self._list_chunks(metadata.key, content)
        elif store.get(DRAFT, key) is not None:  # what came in parts lasts from now on
            store.write(key, content.size_bytes, b"")
            store.write(list_key(metadata.key), list_bytes(content.size_bytes), b"")
        store.remove(DRAFT, key)
        store.put(KIND, key, msgspec.msgpack.encode(metadata.size_bytes))

    def _list_chunks(self, key: ObjectKey, data: bytes) -> None:
        digests = ChunkDigests()
        digests.add(data)
        self._host.store.write(list_key(key), 0, digests.listed())

    def drop(self, key: ObjectKey) -> None:
        self._host.store.discard(str(key))
        self._host.store.discard(list_key(key))
        self._host.store.remove(KIND, str(key))

    def has(self, key: ObjectKey) -> bool:
        return self._host.store.get(KIND, str(key)) is not None

    def delivered(self, node: NodeId, drop: Callable[[ObjectKey], None]) -> Iterator[Evictable]:
        """Contents that arrived with notifications, the oldest first."""
        for name, value in self._host.store.items(KIND):
            key = key_of_draft(name)
            if key.owner != node:
                yield Evictable(key, Rank.DELIVERED, msgspec.msgpack.decode(value, type=int), None, partial(drop, key))

    def release(self, key: ObjectKey) -> None:
        """A retrieved content is no longer needed, unless it is kept."""
        drop_draft(self._host.store, key)

    def read(self, metadata: Metadata) -> Content | None:
        """The content of an object, or its file if it is large; None if it is missing or damaged."""
        key, size_bytes = metadata.key, metadata.size_bytes
        if not self.has(key):
            return None
        if size_bytes > CHUNK_BYTES:
            listed = self._host.store.read(list_key(key), 0, list_bytes(size_bytes))
            whole = self._host.store.size(str(key)) == size_bytes and root_of(listed) == metadata.digest
            content: Content = InStore(size_bytes, metadata.digest) if whole else b""
        else:
            content = self._host.store.read(str(key), 0, size_bytes + 1)
        if metadata.describes(content):
            return content
        self._lose(key)
        return None

    def read_small(self, metadata: Metadata) -> bytes:
        """The bytes of a content of one chunk; none if it is not here."""
        content = self.read(metadata)
        return content if isinstance(content, bytes) else b""

    def deliver(self, metadata: Metadata, done: Fetched) -> None:
        """For a reader on this device; asks no other node."""
        data = self.read(metadata)
        failure = Failure.DELETED if self.is_deleted(metadata.key) else Failure.NOT_FOUND
        done(Outcome(failure) if data is None else Outcome(), data or b"")

    def answer(self, request: PartRequest) -> PartReply:
        kept = self._host.store.get(KIND, str(request.key))
        if kept is None:
            return PartReply(request.request, request.key, False, DELETED if self.is_deleted(request.key) else 0)
        store, size = self._host.store, min(request.size, MAX_PART_BYTES)
        size_bytes = store.size(str(request.key))
        if size_bytes != msgspec.msgpack.decode(kept):
            self._lose(request.key)
            return PartReply(request.request, request.key, False)
        if request.offset >= size_bytes > CHUNK_BYTES:
            part = store.read(list_key(request.key), request.offset - size_bytes, size)
        else:
            part = store.read(str(request.key), request.offset, size)
        return PartReply(request.request, request.key, True, request.offset, size_bytes, part)

    def _lose(self, key: ObjectKey) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "content", reason="damaged"))
        self.drop(key)
        if self.lost is not None:
            self.lost(key)


class _Fetch(Generic[Source]):
    def __init__(self, metadata: Metadata, sources: Sequence[Source], done: Fetched, known: Known) -> None:
        self.metadata = metadata
        self.known = known
        self.sources = list(sources)
        self.done = done
        self.data = bytearray(metadata.size_bytes)
        self.missing: list[int] = []
        """The offsets of parts that have not arrived and are not requested."""
        self.under_way: dict[int, int] = {}
        self.ended = False


class Fetches(Generic[Source]):
    """The retrievals of one node that are under way."""

    def __init__(
        self,
        requests: Requests,
        ask: Callable[[Source, PartRequest], None],
        options: ContentOptions,
        progress: Progress | None = None,
    ) -> None:
        """`progress` is called with the received part of a large content."""
        self._transfers = Transfers(requests, ask, options.transfers, options.part_bytes, progress)
        self._contents = Contents(requests.host)
        self._requests = requests
        self._ask = ask
        self._options = options
        self._fetches: dict[int, _Fetch[Source]] = {}
        self._partial: Bounded[ObjectKey, tuple[bytes, bytearray, list[int]]] = Bounded(MAX_PARTIAL)
        """Failed retrievals: the digest, the data, and the offsets of the missing parts."""

    def fetch(self, metadata: Metadata, sources: Sequence[Source], done: Fetched, known: Known = nothing_known) -> None:
        """Get an object's content from the first of `sources` that has it, a large one from several of them. Parts that
        are `known` when it is their turn are not asked for."""
        if metadata.size_bytes > CHUNK_BYTES and metadata.digest:
            here = self._contents.read(metadata)
            if here is not None:
                done(Outcome(), here)
            else:
                self._transfers.fetch(metadata, sources, done, known)
            return
        if len(self._fetches) >= self._options.fetches:
            done(Outcome(Failure.REFUSED), b"")
            return
        fetch: _Fetch[Source] = _Fetch(metadata, sources, done, known)
        self._miss_all(fetch)
        digest, data, missing = self._partial.pop(metadata.key, (b"", fetch.data, fetch.missing))
        if digest and digest == metadata.digest:
            fetch.data, fetch.missing = data, missing
        self._take_known(fetch)
        if fetch.missing:
            self._begin_with_next_source(fetch, Failure.NOT_FOUND)
        else:
            self._end(fetch)

    def _take_known(self, fetch: _Fetch[Source]) -> None:
        for offset in list(fetch.missing):
            part = fetch.known(offset)
            if part and len(part) == min(self._options.part_bytes, len(fetch.data) - offset):
                fetch.data[offset : offset + len(part)] = part
                fetch.missing.remove(offset)

    def _miss_all(self, fetch: _Fetch[Source]) -> None:
        fetch.missing = list(range(0, max(len(fetch.data), 1), self._options.part_bytes))

    def pause(self, key: ObjectKey) -> None:
        """Stop requesting a large content; what has arrived is kept."""
        self._transfers.pause(key)

    def fetching(self, key: ObjectKey) -> bool:
        """Whether a large content is being fetched."""
        return self._transfers.fetching(key)

    def on_reply(self, reply: PartReply) -> None:
        if self._transfers.on_reply(reply):
            return
        fetch = self._fetches.get(reply.request)
        if fetch is None or reply.key != fetch.metadata.key:
            return
        if not reply.found or reply.total_bytes != len(fetch.data):
            self._requests.resolve(reply.request, Outcome(failure_of(reply)))
            return
        offset = fetch.under_way.get(reply.request)
        if offset != reply.offset:
            return
        if len(reply.part) != min(self._options.part_bytes, len(fetch.data) - offset):
            self._requests.resolve(reply.request, Outcome(Failure.DAMAGED))
            return
        fetch.data[offset : offset + len(reply.part)] = reply.part
        self._requests.resolve(reply.request, Outcome())

    def _begin_with_next_source(self, fetch: _Fetch[Source], failure: Failure) -> None:
        """Keep the parts of other sources, unless together they were not the object."""
        for number in list(fetch.under_way):
            fetch.missing.append(fetch.under_way.pop(number))
            del self._fetches[number]
            self._requests.resolve(number, Outcome(Failure.CANCELLED))
        if failure is Failure.DAMAGED:
            fetch.known = nothing_known
            self._miss_all(fetch)
        fetch.missing.sort()
        if not fetch.sources:
            fetch.ended = True
            if fetch.metadata.digest:
                self._partial[fetch.metadata.key] = (fetch.metadata.digest, fetch.data, fetch.missing)
            fetch.done(Outcome(failure), b"")
            return
        source = fetch.sources.pop(0)
        for _ in range(min(self._options.window, len(fetch.missing), max(1, self._requests.room))):
            self._ask_next_part(fetch, source)

    def _ask_next_part(self, fetch: _Fetch[Source], source: Source) -> None:
        offset = fetch.missing.pop(0)
        numbers: list[int] = []

        def send(number: int) -> None:
            if not numbers:
                numbers.append(number)
                fetch.under_way[number] = offset
                self._fetches[number] = fetch
            self._ask(source, PartRequest(number, fetch.metadata.key, offset, self._options.part_bytes))

        def ended(outcome: Outcome) -> None:
            number = numbers[0]
            self._fetches.pop(number, None)
            if fetch.under_way.pop(number, None) is None or fetch.ended:
                return
            if not outcome.ok:
                fetch.missing.append(offset)
                self._begin_with_next_source(fetch, outcome.failure)
                return
            self._take_known(fetch)
            if fetch.missing:
                self._ask_next_part(fetch, source)
            elif not fetch.under_way:
                self._end(fetch)

        self._requests.begin(send, ended)

    def _end(self, fetch: _Fetch[Source]) -> None:
        """All parts of one source have arrived; if the digest differs, ask the next source."""
        data = bytes(fetch.data)
        if not fetch.metadata.describes(data):
            self._begin_with_next_source(fetch, Failure.DAMAGED)
            return
        fetch.ended = True
        fetch.done(Outcome(), data)
