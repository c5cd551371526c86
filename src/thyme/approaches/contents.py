"""Contents: an object's bytes, kept in the host's store and fetched in parts.

The requester asks for a few parts at a time, repeats what is not answered, and goes on to the next source when
one does not have the object or stays silent (Thyme FGCS §6.5: the next closest replica, until no more options are
available or a maximum number of retries is reached). A part fits one frame of the radio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from thyme.approaches.bounds import FrameBytes
from thyme.approaches.interface import Failure, Fetched, Outcome
from thyme.approaches.requests import Requests
from thyme.host import Host
from thyme.model.ids import ObjectKey
from thyme.model.settings.bounds import AtLeastOne
from thyme.wire.storage import PartReply, PartRequest

Source = TypeVar("Source")


class ContentOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    part_bytes: FrameBytes = 1_200
    """A part with its headers stays below the 1500 bytes above which 802.11 asks for RTS/CTS (§9.2)."""
    window: AtLeastOne = 4
    """Parts asked for at once, if so many requests may be under way."""
    fetches: AtLeastOne = 200
    """Retrievals that may be under way at once."""


class Contents:
    """What this node can serve."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def keep(self, key: ObjectKey, data: bytes) -> None:
        self._host.store.discard(str(key))
        self._host.store.write(str(key), 0, data)
        self._host.store.put("content", str(key), msgspec.msgpack.encode(len(data)))

    def drop(self, key: ObjectKey) -> None:
        self._host.store.discard(str(key))
        self._host.store.remove("content", str(key))

    def has(self, key: ObjectKey) -> bool:
        return self._host.store.get("content", str(key)) is not None

    def read(self, key: ObjectKey) -> bytes:
        return self._host.store.read(str(key), 0, self._host.store.size(str(key)))

    def answer(self, request: PartRequest) -> PartReply:
        if not self.has(request.key):
            return PartReply(request.request, request.key, False)
        part = self._host.store.read(str(request.key), request.offset, request.size)
        size_bytes = self._host.store.size(str(request.key))
        return PartReply(request.request, request.key, True, request.offset, size_bytes, part)


class _Fetch(Generic[Source]):
    def __init__(self, key: ObjectKey, size_bytes: int, sources: Sequence[Source], done: Fetched) -> None:
        self.key = key
        self.sources = list(sources)
        self.done = done
        self.data = bytearray(size_bytes)
        self.missing: list[int] = []
        self.under_way: dict[int, int] = {}
        self.ended = False


class Fetches(Generic[Source]):
    """The retrievals of one node that are under way."""

    def __init__(
        self,
        requests: Requests,
        ask: Callable[[Source, PartRequest], None],
        options: ContentOptions,
    ) -> None:
        self._requests = requests
        self._ask = ask
        self._options = options
        self._fetches: dict[int, _Fetch[Source]] = {}

    def fetch(self, key: ObjectKey, size_bytes: int, sources: Sequence[Source], done: Fetched) -> None:
        """Get `size_bytes` of `key` from the first of `sources` that has them."""
        if len(self._fetches) >= self._options.fetches:
            done(Outcome(Failure.REFUSED), b"")
            return
        fetch: _Fetch[Source] = _Fetch(key, size_bytes, sources, done)
        self._begin_with_next_source(fetch, Failure.NOT_FOUND)

    def on_reply(self, reply: PartReply) -> None:
        fetch = self._fetches.get(reply.request)
        if fetch is None:
            return
        if not reply.found or reply.total_bytes != len(fetch.data):
            self._requests.resolve(reply.request, Outcome(Failure.NOT_FOUND))
            return
        offset = fetch.under_way.get(reply.request)
        if offset == reply.offset:
            fetch.data[offset : offset + len(reply.part)] = reply.part
            self._requests.resolve(reply.request, Outcome())

    def _begin_with_next_source(self, fetch: _Fetch[Source], failure: Failure) -> None:
        for number in list(fetch.under_way):
            del fetch.under_way[number]
            del self._fetches[number]
            self._requests.resolve(number, Outcome(Failure.CANCELLED))
        if not fetch.sources:
            fetch.ended = True
            fetch.done(Outcome(failure), b"")
            return
        source = fetch.sources.pop(0)
        step = self._options.part_bytes
        fetch.missing = list(range(0, max(len(fetch.data), 1), step))
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
            self._ask(source, PartRequest(number, fetch.key, offset, self._options.part_bytes))

        def ended(outcome: Outcome) -> None:
            number = numbers[0]
            self._fetches.pop(number, None)
            if fetch.under_way.pop(number, None) is None or fetch.ended:
                return
            if not outcome.ok:
                self._begin_with_next_source(fetch, outcome.failure)
            elif fetch.missing:
                self._ask_next_part(fetch, source)
            elif not fetch.under_way:
                fetch.ended = True
                fetch.done(Outcome(), bytes(fetch.data))

        self._requests.begin(send, ended)
