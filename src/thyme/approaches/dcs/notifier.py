"""Notifications of Thyme-DCS: sent to the last reported location of a subscriber (Thyme FGCS §6.4.2–6.4.3).

One message notifies several subscribers of the same object; routing splits it only where their paths part (§6.6.5). A
NACK means that a subscriber moved or failed, or that the path broke. The subscriber is then sent a hint to compare
(`reconciliation`), with doubling delays until it arrives or the subscriber reports its location. The same happens when
a member suspects that a subscriber missed a match. In the papers, the notification itself is kept instead, for a while,
after which the subscriptions end.
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
from thyme.routing.cells.addresses import Arrival, Destination, Form
from thyme.wire.cells import CellNotification, CompareHint, Silent

MATCHES_PER_MESSAGE = 8
MOST_TOGETHER = 64
"""The same where the link carries more than a radio's frame."""
KEYS_PER_MESSAGE = 60
HINT_WAIT_S = 3.0
"""Delay of a hint to compare: several members may send one for the same reason."""
RETRY_S = 5.0
"""Delay of a hint after a NACK, doubled after each further one …"""
LONGEST_RETRY_S = 60.0
"""… up to this."""
SENT_MEMORY = 2_000
"""Recent notifications kept, to match a NACK with its notification."""


Placed = tuple[tuple[SubscriptionKey, CellId], ...]
"""Subscriptions, and the reported cells of their subscribers."""


class _Sent(msgspec.Struct, frozen=True):
    """A notification or hint, how often its subscribers were not found, and when the papers' wait ends."""

    message: CellNotification | CompareHint
    tries: int = 0
    until_s: float = 0.0

    def keys_of(self, node: NodeId) -> list[SubscriptionKey]:
        message = self.message
        keys = message.keys if isinstance(message, CellNotification) else [key for _, key in message.shares]
        return [key for key in keys if key.subscriber == node]


class Notifier:
    """Sends this node's notifications."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._host = cell.host
        self._options = cell.options
        self._sent: Bounded[int, _Sent] = Bounded(SENT_MEMORY)
        self._kept: dict[NodeId, list[CellNotification]] = {}
        """In the papers' configuration: undelivered notifications."""
        self._kept_count = 0
        self._doubted: dict[NodeId, tuple[int, dict[SubscriptionKey, None]]] = {}
        """Subscribers due for a hint to compare: how often they were not found, and for which subscriptions."""
        self._gathered: dict[Placed, list[Metadata]] = {}
        """Objects of this instant, by their subscribers."""
        cell.undelivered.then(self._on_undelivered)
        cell.releasing.then(self._hint_all)
        cell.serve(Silent, self._on_silent)

    def notify(self, keys: Iterable[SubscriptionKey], metadata: Metadata) -> None:
        """Notify the subscribers of all these subscriptions of one object."""
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
        if len(placed) == 1:  # the usual case
            key, cell = placed[0]
            message = CellNotification((key,), matches)
            self._remember(self._cell.router.send_to_node(key.subscriber, cell, message), message)
            return
        message = CellNotification(tuple(key for key, _ in placed), matches)
        destinations = [Destination(cell, key.subscriber) for key, cell in placed]
        self._remember(self._cell.router.send_to_many(destinations, message), message)

    def _tell_gathered(self, placed: Placed) -> None:
        """At the end of this instant: send the other objects for the same subscribers."""
        matches, carries_bytes = tuple(self._gathered.pop(placed)), self._host.part_bytes()
        most = MATCHES_PER_MESSAGE if carries_bytes <= PIECE_BYTES else MOST_TOGETHER
        missing_bytes, piece_bytes = self._host.codec.missing_bytes, max(PIECE_BYTES, carries_bytes)
        for piece in pieces_of(matches, most, missing_bytes, piece_bytes) if matches else ():
            self._tell(placed, piece)

    def tell(self, key: SubscriptionKey, place: CellId, matches: tuple[Metadata, ...]) -> None:
        """Send what a subscriber requested."""
        for piece in pieces_of(matches, MATCHES_PER_MESSAGE, self._host.codec.missing_bytes):
            self._tell(((key, place),), piece)

    def doubt(self, keys: Iterable[SubscriptionKey]) -> None:
        """The subscribers may have missed matches."""
        for key in keys if self._options.reconcile else ():
            self._doubt(key.subscriber, [key], 0, self._host.random.uniform(0.0, HINT_WAIT_S))

    def moved(self, node: NodeId) -> None:
        """The subscriber reported its location."""
        for message in self._take_kept(node):
            self._send(message, node, 0)
        if node in self._doubted:
            self._hint(node)

    def _doubt(self, node: NodeId, keys: list[SubscriptionKey], tries: int, wait_s: float) -> None:
        known = self._doubted.get(node)
        if known is not None:
            known[1].update(dict.fromkeys(keys))
        elif len(self._doubted) >= self._options.undelivered:
            self._drop("too many undelivered")
        else:
            self._doubted[node] = (tries, dict.fromkeys(keys))
            self._host.after(wait_s, partial(self._hint, node))

    def _hint_all(self) -> None:
        """Later this node may no longer know for which cells."""
        for node in list(self._doubted):
            self._hint(node)

    def _hint(self, node: NodeId) -> None:
        """Send a subscriber a hint to compare, unless it compared meanwhile."""
        tries, keys = self._doubted.pop(node, (0, {}))
        parts = self._cell.holdings.parts
        shares = [(home, key) for key in keys for home in parts.homes_of(key)]
        for first in range(0, len(shares), KEYS_PER_MESSAGE) if self._cell.member else ():
            self._send(CompareHint(tuple(shares[first : first + KEYS_PER_MESSAGE])), node, tries)

    def _on_undelivered(self, node: NodeId, cell: CellId, number: int) -> None:
        """A NACK: a subscriber did not get a notification or a hint."""
        sent = self._sent.get(number)
        keys = sent.keys_of(node) if sent is not None else []
        if sent is None or not keys:
            return
        if self._options.reconcile:
            self._doubt(node, keys, sent.tries + 1, min(RETRY_S * 2.0**sent.tries, LONGEST_RETRY_S))
        elif isinstance(sent.message, CellNotification):
            self._keep(node, sent, sent.message, keys)

    def _keep(self, node: NodeId, sent: _Sent, message: CellNotification, keys: list[SubscriptionKey]) -> None:
        """As in the papers: keep it until the subscriber reports its location, or counts as failed (§6.4.3)."""
        left_s = sent.until_s - self._host.now()
        if left_s <= 0.0:
            self._end(keys)
        elif self._kept_count >= self._options.undelivered:
            self._drop("too many undelivered")
        else:
            self._kept.setdefault(node, []).append(msgspec.structs.replace(message, keys=tuple(keys)))
            self._kept_count += 1
            if len(self._kept[node]) == 1:
                self._host.after(self._options.undelivered_s, partial(self._give_up, node))

    def _give_up(self, node: NodeId) -> None:
        """The wait for a subscriber ended."""
        for message in self._take_kept(node):
            self._end(message.keys)

    def _end(self, keys: Iterable[SubscriptionKey]) -> None:
        self._drop("subscriber is silent")
        ended = tuple(key for key in keys if self._cell.holdings.parts.end(key))
        if ended:
            self._cell.tell_others(Silent(ended))

    def _on_silent(self, arrival: Arrival, message: Silent) -> None:
        if arrival.form is Form.BROADCAST and not self._options.reconcile:
            for key in message.keys:
                self._cell.holdings.parts.end(key)

    def _take_kept(self, node: NodeId) -> list[CellNotification]:
        kept = self._kept.pop(node, [])
        self._kept_count -= len(kept)
        return kept

    def _send(self, message: CellNotification | CompareHint, node: NodeId, tries: int) -> None:
        """Send to one subscriber, at its reported location."""
        keys = _Sent(message).keys_of(node)
        cell = next((place for key in keys if (place := self._place_of(key)) is not None), None)
        if cell is not None:
            self._remember(self._cell.router.send_to_node(node, cell, message), message, tries)

    def _remember(self, number: int, message: CellNotification | CompareHint, tries: int = 0) -> None:
        self._sent[number] = _Sent(message, tries, self._host.now() + self._options.undelivered_s)

    def _place_of(self, key: SubscriptionKey) -> CellId | None:
        return self._cell.holdings.parts.place_of(key)

    def _drop(self, reason: str) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "CellNotification", reason=reason))
