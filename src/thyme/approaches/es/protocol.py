"""Thyme-ES: a server that everybody knows stores and matches everything (Thyme FGCS §8).

The papers' baseline: each operation is a request to the server and an answer back, over a unicast router; only
notifications go one way. A scenario puts the server (or several) into the middle of the area as nodes of their own;
they hold no user. With several, a request that is not answered is repeated to the next of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from thyme.approaches.contents import ContentOptions, Contents, Fetches
from thyme.approaches.entry import Entry
from thyme.approaches.es.server import NO_REQUEST, Server
from thyme.approaches.eviction import Evictable
from thyme.approaches.interface import (
    Capabilities,
    Done,
    Failure,
    Fetched,
    Outcome,
    ReactiveStore,
    StoreLimits,
)
from thyme.approaches.pager import Pager
from thyme.approaches.requests import Requests, RetryOptions
from thyme.approaches.unicast import RoutedOptions
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.chunks import CHUNK_BYTES
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Content, Metadata
from thyme.model.records import Joined
from thyme.model.settings.bounds import AtLeastOne
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.wire.message import Message
from thyme.wire.server import DeleteRequest, InsertRequest, SubscribeRequest, UnsubscribeRequest
from thyme.wire.storage import Acknowledged, MoreRequest, Notification, PartReply, PartRequest, PastMatches

OWN_OBJECT = "own object"
MAX_LARGE = 1_000
"""As many as operations may be under way."""
SERVER = NodeId(-1)
"""The servers as one source of past matches: whoever is asked goes on where another stopped."""


class ExternalStorageOptions(RoutedOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-ES and the router below it."""

    servers: tuple[int, ...] = ()
    """The server's node, or several; in a scenario without a choice, one node more than the crowd's."""
    past_matches: AtLeastOne = 10
    """n: past matches of a first batch, the most recent ones (§3.3)."""
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    limits: StoreLimits = StoreLimits()
    matches_per_notification: AtLeastOne = 8
    """A notification of more matches than this is sent in several frames."""


class ExternalStorage(ReactiveStore):
    """One node of Thyme-ES: a client, and on a server's node the server as well."""

    capabilities = Capabilities(needs_server=True)

    def __init__(self, host: Host, options: ExternalStorageOptions) -> None:
        super().__init__(host, options.limits)
        if not options.servers:
            raise InputError("Thyme-ES needs a server: name at least one node in `servers`")
        self.options = options
        self._servers = tuple(NodeId(server) for server in options.servers)
        self.router = options.router(host, self._on_message)
        self._requests = Requests(host, options.retry)
        self._contents = Contents(host)
        self._fetches: Fetches[NodeId] = Fetches(
            self._requests, self.router.send, options.contents, self._tell_progress
        )
        self._pager: Pager[NodeId] = Pager(self._inbox, self._requests, self._ask_for_past, options.past_matches)
        self._large: Bounded[ObjectKey, int] = Bounded(MAX_LARGE)
        """The insertions of large objects, which last while the server fetches them."""
        self._last_asked = -1
        self._turn = 0
        others = tuple(server for server in self._servers if server != host.node)
        self._server = (
            Server(
                host,
                self.router,
                self._contents,
                self._fetches,
                others,
                options.matches_per_notification,
                self._expiries,
            )
            if host.node in self._servers
            else None
        )

    def start(self) -> None:
        self.router.start()

    def join(self) -> None:
        if self._server:
            self._server.join()
        self.host.record(Joined())

    def stop(self) -> None:
        """The server keeps what was stored; a client leaves nothing behind."""

    def receive(self, sender: NodeId, message: Message) -> None:
        self.router.receive(sender, message)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        return self.router.broadcast_handlers(kind)

    def _expire(self, key: ObjectKey) -> None:
        if key.owner == self.node:
            self.host.store.remove(OWN_OBJECT, key.oid)
        self._contents.drop(key)
        if self._server:
            self._server.let_go(key)

    def _was_inserted(self, key: ObjectKey) -> bool:
        return self.host.store.get(OWN_OBJECT, key.oid) is not None

    def _insert(self, metadata: Metadata, data: Content, done: Done, replicate: bool | None) -> Metadata:
        self.host.store.put(OWN_OBJECT, metadata.key.oid, b"")
        inline = data if isinstance(data, bytes) and len(data) <= self.options.contents.part_bytes else b""
        if not inline:
            self._contents.keep(metadata, data)
        number = self._ask(lambda number: InsertRequest(number, metadata, inline), done)
        if metadata.size_bytes > CHUNK_BYTES:
            self._large[metadata.key] = number
        return metadata

    def _delete(self, key: ObjectKey, done: Done) -> None:
        self.host.store.remove(OWN_OBJECT, key.oid)
        if self._server is None:
            self._contents.drop(key)
        self._ask(lambda number: DeleteRequest(number, key), done)

    def _subscribe(self, subscription: Subscription, done: Done) -> None:
        own = self._inbox.get(subscription.key.sid)
        past = self.options.past_matches

        def message(request: int) -> Message:
            if own.past.cursor(SERVER) is None:
                return SubscribeRequest(request, subscription, past)
            return MoreRequest(request, subscription, own.past.cursor(SERVER), past)

        def answered(outcome: Outcome) -> None:
            self._pager.give(own, lambda _: None)
            done(Outcome(outcome.failure, own.remaining))

        self._ask(message, answered)

    def _unsubscribe(self, subscription: Subscription, done: Done) -> None:
        self._inbox.remove(subscription.key.sid)
        self._ask(lambda number: UnsubscribeRequest(number, subscription.key), done)

    def _retrieve(self, metadata: Metadata, done: Fetched) -> None:
        data = self._contents.read(metadata) if self._server else None
        if data is not None:
            done(Outcome(), data)
        else:
            self._fetches.fetch(metadata, self._servers, done)

    def pause(self, key: ObjectKey) -> None:
        self._fetches.pause(key)

    def evictable(self) -> Iterator[Evictable]:
        yield from super().evictable()
        if self._server:
            yield from self._server.evictable()

    def _fetching(self, key: ObjectKey) -> bool:
        return self._fetches.fetching(key)

    def more(self, sid: int, done: Done, most: int = 0) -> None:
        own = self._inbox.get(sid)
        self._expect_room()
        self._pager.give(own, self._begun(done), most)

    def has_room(self) -> bool:
        return self.router.has_room()

    def stored(self) -> Iterable[tuple[str, int, int]]:
        return self._server.stored() if self._server else ()

    def _ask(self, message: Callable[[int], Message], done: Done) -> int:
        tries = 0

        def send(number: int) -> None:
            nonlocal tries
            self.router.send(self._servers[tries % len(self._servers)], message(number))
            tries += 1

        return self._requests.begin(send, done)

    def _ask_for_past(self, source: NodeId, request: MoreRequest) -> None:
        """A request that is repeated was not answered: from then on another server is asked."""
        if request.request == self._last_asked:
            self._turn += 1
        self._last_asked = request.request
        self.router.send(self._servers[self._turn % len(self._servers)], request)

    def _on_message(self, origin: NodeId, message: Message) -> None:
        match message:
            case Acknowledged(request, ok, _):
                self._requests.resolve(request, Outcome() if ok else Outcome(Failure.REFUSED))
            case Notification(key, matches):
                self._inbox.accept_all(key, matches)
            case PastMatches():
                self._pager.on_piece(SERVER, message)
            case PartReply():
                self._fetches.on_reply(message)
            case _:
                handled = self._server.receive(origin, message) if self._server else False
                if not handled and isinstance(message, PartRequest):
                    self._requests.prolong(self._large.get(message.key, NO_REQUEST))
                    self.router.send(origin, self._contents.answer(message))


ENTRY = Entry(
    ExternalStorage.capabilities, ExternalStorageOptions, ExternalStorage, wide_ids=ExternalStorageOptions.wide_ids
)
