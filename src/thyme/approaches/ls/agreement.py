"""Agreement: neighbours that know different subscriptions detect it and exchange them (anti-entropy).

A flood may miss a node, and two groups that meet may both have joined long ago (Thyme FGCS §5 only hands subscriptions
over to joining nodes). So every node broadcasts a four-byte checksum of what it knows every other second, on live nodes
less often where it has many neighbours (`heard_per_s`). If a
neighbour's checksum differs twice in a row, which leaves a flood time to arrive, the node sends it the digests of its
buckets; the neighbour lists its items in the buckets that differ, and each sends what the other lacks. A node forwards
what it learned to its own neighbours at once, so that changes cross a group as fast as a flood. Of two neighbours, the
one with the lower number starts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.approaches.digests import pack, unpack
from thyme.approaches.ls.joining import in_batches
from thyme.approaches.ls.known import Known
from thyme.host import Host, Timer
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import NotNegative
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.tables import ALWAYS, IF_DIFFERENT, DigestTable
from thyme.wire.local import KnownBuckets, KnownDigest, KnownItems, KnownNews, KnownWanted
from thyme.wire.message import Message
from thyme.wire.storage import Revocation

News = tuple[list[Subscription], list[Revocation]]
JITTER_S = 0.05
"""Longest random wait before news is passed on, as of floods."""
MAX_NEIGHBOURS = 2_000
"""Whose digests differ, or who were heard, that are remembered."""
ABSENT_HELLOS = 2.5
"""A neighbour that missed so many broadcasts in a row, and sends again, counts as newly met."""
MAX_ITEMS = 120
"""Most items listed in one message; a larger difference takes several rounds."""
DIFFERING_S = 1.0
"""A difference first seen less than this ago may be a flood that is still arriving."""
NEWS_BYTES = 1_200
"""News is sent in frames of about this size: below 802.11's 1500 bytes."""


class AgreementOptions(SettingsRecord, frozen=True):
    hello_s: NotNegative = 2.0
    """How often a node says what it knows, in about eight bytes; 0 for never, as in the paper. Two such times and an
    exchange pass until neighbours agree again."""
    heard_per_s: NotNegative = 0.0
    """With more neighbours than would say so in a second, all say it less often; 0: never. Live nodes set this."""


class Agreement:
    """Keeps one node's subscriptions in agreement with its neighbours'."""

    def __init__(
        self,
        host: Host,
        options: AgreementOptions,
        known: Known,
        learn: Callable[[KnownNews], News],
        met: Callable[[], None] | None = None,
    ) -> None:
        """`learn` stores received items and returns the new ones; `met` is called for neighbours that are new or were
        silent for a while."""
        self._host = host
        self._options = options
        self._known = known
        self._learn = learn
        self._differs_since_s: Bounded[NodeId, float] = Bounded(MAX_NEIGHBOURS)
        self._met = met
        self.neighbours = 0
        """How many were heard of late, where `heard_per_s` is set."""
        self._period_s = options.hello_s
        """How often this node says what it knows now."""
        self._heard_s: Bounded[NodeId, float] = Bounded(MAX_NEIGHBOURS)
        self._table = DigestTable(known.digests.sum)
        self._timer: Timer | None = None

    def listen(self) -> None:
        """Handle neighbours' checksums from now on, even equal ones if `met` is wanted."""
        all_of_them = self._met is not None or len(self._differs_since_s) > 0
        self._table.handle_digests(ALWAYS if all_of_them else IF_DIFFERENT)

    def broadcast_handlers(self, kind: type[Message]) -> tuple[BroadcastHandler, ...]:
        if kind is not KnownDigest:
            return ()
        return (BroadcastHandler(self._table, lambda sender, message, *_: self._on_digest(sender, message.digest)),)

    def start(self) -> None:
        if self._options.hello_s > 0.0:
            self._timer = self._host.after(self._host.random.uniform(0.0, self._options.hello_s), self._say)

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def receive(self, sender: NodeId, message: Message) -> bool:
        match message:
            case KnownDigest(digest):
                self._on_digest(sender, digest)
            case KnownBuckets(digests):
                self._list(sender, self._known.digests.differing(digests))
            case KnownItems(buckets, items):
                self._on_items(sender, buckets, items)
            case KnownWanted(items):
                self._give(sender, unpack(items))
            case KnownNews():
                self._on_news(message)
            case _:
                return False
        return True

    def _say(self) -> None:
        self._known.forget_old()
        self._host.broadcast(KnownDigest(self._known.digests.beacon()))
        if self._options.heard_per_s:
            since_s = self._host.now() - ABSENT_HELLOS * self._period_s
            self.neighbours = sum(heard_s > since_s for heard_s in self._heard_s.values())
            self._period_s = max(self._options.hello_s, self.neighbours / self._options.heard_per_s)
        period_s = self._period_s
        self._timer = self._host.after(self._host.random.uniform(0.9 * period_s, 1.1 * period_s), self._say)

    def _on_digest(self, sender: NodeId, digest: bytes) -> None:
        if self._met is not None:
            absent_s = ABSENT_HELLOS * self._period_s
            known_s, self._heard_s[sender] = self._heard_s.get(sender), self._host.now()
            if known_s is None or self._host.now() - known_s > absent_s:
                self._met()
        if digest == self._known.digests.beacon():
            self._differs_since_s.pop(sender, None)
            self.listen()
            return
        now_s = self._host.now()
        since_s = self._differs_since_s.setdefault(sender, now_s)
        self.listen()
        if now_s - since_s >= DIFFERING_S and self._host.node < sender:
            self._differs_since_s[sender] = now_s
            self._host.unicast(sender, KnownBuckets(self._known.digests.buckets()))

    def _list(self, to: NodeId, buckets: list[int]) -> None:
        chosen: list[int] = []
        items: list[int] = []
        for bucket in buckets:
            more = list(self._known.digests.items([bucket]))
            if chosen and len(items) + len(more) > MAX_ITEMS:
                break
            chosen.append(bucket)
            items += more
        if chosen:
            self._host.unicast(to, KnownItems(tuple(chosen), pack(items)))

    def _on_items(self, sender: NodeId, buckets: tuple[int, ...], items: bytes) -> None:
        """Request what this node lacks, and send what the neighbour lacks."""
        theirs = list(unpack(items))
        wanted = [item for item in theirs if item not in self._known.digests]
        if wanted:
            self._host.unicast(sender, KnownWanted(pack(wanted[:MAX_ITEMS])))
        there = set(theirs)
        self._give(sender, [item for item in self._known.digests.items(buckets) if item not in there])

    def _give(self, to: NodeId, items: Iterable[int]) -> None:
        found = [self._known.item(item) for item in list(items)[:MAX_ITEMS]]
        subscriptions = [one for one in found if isinstance(one, Subscription)]
        revoked = [one for one in found if isinstance(one, tuple)]
        for news in self._divided(subscriptions, revoked):
            self._host.unicast(to, news)

    def _on_news(self, news: KnownNews) -> None:
        subscriptions, revoked = self._learn(news)
        if subscriptions or revoked:
            wait_s = self._host.random.uniform(0.0, JITTER_S)
            self._host.after(wait_s, lambda: self._pass_on(subscriptions, revoked))

    def _pass_on(self, subscriptions: list[Subscription], revoked: list[Revocation]) -> None:
        for news in self._divided(subscriptions, revoked):
            self._host.broadcast(news)

    def _divided(self, subscriptions: list[Subscription], revoked: list[Revocation]) -> list[KnownNews]:
        """Revocations are sent first, together with the first subscriptions."""
        if not subscriptions and not revoked:
            return []
        batches = in_batches(subscriptions, NEWS_BYTES)
        return [KnownNews(batch, tuple(revoked) if i == 0 else ()) for i, batch in enumerate(batches)]
