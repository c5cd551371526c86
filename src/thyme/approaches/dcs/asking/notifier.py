"""Notifications of Thyme-DCS: sent to where subscribers are said to be, kept while they are not there (§6.4.2–6.4.3).

One message tells several subscribers of the same object; routing splits it only where their ways part (§6.6.5). A NACK
means that a subscriber has moved or failed: what it missed is kept until its location update, or until it is taken to
have failed. In the papers its subscriptions end then; here they stand, and it catches up when it is back. With
`resend_s` a kept notification is also tried again by itself, each time after twice as long: a NACK that was due to the
way is made up for soon, and who is off costs little.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import msgspec

from thyme.approaches.dcs.cell import Cell
from thyme.approaches.past import PIECE_BYTES, pieces_of
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, NodeId, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.records import Counted, TrafficKind
from thyme.model.stored import Cursor
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.wire.cells import CellNotification, Silent

MATCHES_PER_MESSAGE = 8
MOST_TOGETHER = 64
"""The same where the link carries more than a radio's frame."""
KEYS_PER_MESSAGE = 60
MOST_CAUGHT_UP = 1_000
"""Matches that are told at once to a subscriber that was away, or whose subscription came from another cell …"""
CATCH_UP_PAUSE_S = 1.0
"""… and after so long as many more, until all are told."""
PATIENCE_GROWTH = 2.0
"""So many times longer is waited before a kept notification is tried once more."""
SENT_MEMORY = 2_000
"""Notifications sent lately, to know what a NACK is about."""


Placed = tuple[tuple[SubscriptionKey, CellId], ...]
"""Subscriptions, and where their subscribers are said to be."""


class _Sent(msgspec.Struct, frozen=True):
    """A notification, until when its subscribers are waited for, and how often it was tried again."""

    message: CellNotification
    until_s: float
    tries: int = 0


class Notifier:
    """Sends this node's notifications."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._sent: Bounded[int, _Sent] = Bounded(SENT_MEMORY)
        self._kept: dict[NodeId, list[_Sent]] = {}
        self._kept_count = 0
        self._gathered: dict[Placed, list[Metadata]] = {}
        """Objects of this instant, by whom they are to be told to."""
        cell.undelivered.then(self._on_undelivered)
        cell.serve(Silent, self._on_silent)

    def notify(self, keys: Iterable[SubscriptionKey], metadata: Metadata) -> None:
        """Tell the subscribers of all these subscriptions of one object."""
        known: list[tuple[SubscriptionKey, CellId]] = []
        for key in keys:
            cell = self._place_of(key)
            if cell is not None:
                known.append((key, cell))
        for first in range(0, len(known), KEYS_PER_MESSAGE):
            some = tuple(known[first : first + KEYS_PER_MESSAGE])
            if some in self._gathered:
                self._gathered[some].append(metadata)
                continue
            if self._options.notify_together:
                self._gathered[some] = []
                self._host.after(0.0, partial(self._tell_gathered, some))
            self._tell(some, (metadata,))

    def _tell(self, placed: Placed, matches: tuple[Metadata, ...]) -> None:
        if len(placed) == 1:  # as most are
            key, cell = placed[0]
            message = CellNotification((key,), matches)
            self._sent_as(self._cell.router.send_to_node(key.subscriber, cell, message), message)
            return
        message = CellNotification(tuple(key for key, _ in placed), matches)
        self._send(message, [Destination(cell, key.subscriber) for key, cell in placed])

    def _tell_gathered(self, placed: Placed) -> None:
        """What else is to be told to the same ones as at the beginning of this instant."""
        matches, carries_bytes = tuple(self._gathered.pop(placed)), self._host.part_bytes()
        most = MATCHES_PER_MESSAGE if carries_bytes <= PIECE_BYTES else MOST_TOGETHER
        missing_bytes, piece_bytes = self._host.codec.missing_bytes, max(PIECE_BYTES, carries_bytes)
        for piece in pieces_of(matches, most, missing_bytes, piece_bytes) if matches else ():
            self._tell(placed, piece)

    def catch_up(self, subscription: Subscription, place: CellId, cursor: Cursor | None = None) -> None:
        """Tell a subscriber of all that is here and matches, old or new: of the most recent at once, of the rest piece
        by piece."""
        batch = self._cell.holdings.index.search(subscription, MOST_CAUGHT_UP, cursor)
        if batch.cursor is not None:
            self._host.after(CATCH_UP_PAUSE_S, lambda: self._catch_up_further(subscription, batch.cursor))
        missing_bytes = self._host.codec.missing_bytes
        for piece in pieces_of(batch.matches, MATCHES_PER_MESSAGE, missing_bytes) if batch.matches else ():
            message = CellNotification((subscription.key,), piece)
            self._send(message, [Destination(place, subscription.key.subscriber)])

    def _catch_up_further(self, subscription: Subscription, cursor: Cursor | None) -> None:
        place = self._place_of(subscription.key)
        if place is not None and self._cell.member:
            self.catch_up(subscription, place, cursor)

    def moved(self, node: NodeId) -> None:
        """The subscriber said where it is: it gets what was kept."""
        for sent in self._take_kept(node):
            self._resend(node, sent)

    def _on_undelivered(self, node: NodeId, cell: CellId, number: int) -> None:
        """Keep what `node` did not get, if it was a notification."""
        sent = self._sent.get(number)
        if sent is None:
            return
        keys = tuple(key for key in sent.message.keys if key.subscriber == node)
        if sent.until_s <= self._host.now():
            self._give_up(keys)
        elif self._kept_count >= self._options.undelivered:
            self._drop("too many undelivered")
        elif keys:
            self._keep(node, _Sent(msgspec.structs.replace(sent.message, keys=keys), sent.until_s, sent.tries))

    def _send(self, message: CellNotification, destinations: list[Destination]) -> None:
        self._sent_as(self._cell.router.send_to_many(destinations, message), message)

    def _sent_as(self, number: int, message: CellNotification) -> None:
        self._sent[number] = _Sent(message, self._host.now() + self._options.undelivered_s)

    def _keep(self, node: NodeId, sent: _Sent) -> None:
        entries = self._kept.setdefault(node, [])
        entries.append(sent)
        self._kept_count += 1
        if len(entries) == 1:
            patience_s = self._options.resend_s * PATIENCE_GROWTH**sent.tries or self._options.undelivered_s
            self._host.after(patience_s, lambda: self._again(node))

    def _again(self, node: NodeId) -> None:
        """Try again what was kept, if that is wanted, or give it up."""
        for sent in self._take_kept(node):
            if self._options.resend_s and sent.until_s > self._host.now():
                self._resend(node, sent)
            else:
                self._give_up(sent.message.keys)

    def _give_up(self, keys: tuple[SubscriptionKey, ...]) -> None:
        """A subscriber was waited for in vain."""
        self._drop("subscriber is silent")
        if self._options.silent_ends:
            ended = tuple(key for key in keys if self._cell.holdings.parts.end(key))
            if ended:
                self._cell.tell_others(Silent(ended))

    def _on_silent(self, arrival: Arrival, message: Silent) -> None:
        if arrival.form is Form.BROADCAST and self._options.silent_ends:
            for key in message.keys:
                self._cell.holdings.parts.end(key)

    def _take_kept(self, node: NodeId) -> list[_Sent]:
        kept = self._kept.pop(node, [])
        self._kept_count -= len(kept)
        return kept

    def _resend(self, node: NodeId, sent: _Sent) -> None:
        cell = next((place for key in sent.message.keys if (place := self._place_of(key)) is not None), None)
        if cell is not None:
            number = self._cell.router.send_to_node(node, cell, sent.message)
            self._sent[number] = _Sent(sent.message, sent.until_s, sent.tries + 1)

    def _place_of(self, key: SubscriptionKey) -> CellId | None:
        return self._cell.holdings.parts.place_of(key)

    def _drop(self, reason: str) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "CellNotification", reason=reason))
