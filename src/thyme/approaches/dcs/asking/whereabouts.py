"""Whereabouts: what a member does when its cell is told where a node is now (Thyme FGCS §6.2.3, §6.4.3).

A node that has moved says so to the cells of its subscriptions, which send it there what they kept for it, and to the
cells of the objects that it holds, which put it on their replication lists; so does a node that has retrieved an object
(§6.2.2). A node that was away is told what was published meanwhile. What the cell ought to know and does not, since it
was empty for a while, it asks the node to send again.
"""

from __future__ import annotations

import msgspec

from thyme.approaches.dcs.asking.notifier import Notifier
from thyme.approaches.dcs.asking.spreading import Spreading
from thyme.approaches.dcs.cell import Cell
from thyme.model.ids import CellId, SubscriptionKey
from thyme.model.objects import Replica
from thyme.routing.cells.addresses import Arrival, Form
from thyme.wire.cells import CellAnswer, LocationUpdate, ReplicaAdded, Unknown


class Whereabouts:
    """What this member's cell knows of where subscribers and replicas are."""

    def __init__(self, cell: Cell, notifier: Notifier) -> None:
        self._cell = cell
        self._notifier = notifier
        self._spreading = Spreading(cell)
        cell.serve(LocationUpdate, self._relocate)
        cell.serve(ReplicaAdded, self._add_replica)

    def _relocate(self, arrival: Arrival, message: LocationUpdate) -> None:
        holdings = self._cell.holdings
        moved = False
        for key in message.subscriptions:
            if key.subscriber == message.node:
                moved |= holdings.parts.move_subscriber(key, message.cell, message.told_s)
        for object_key in message.objects:
            holdings.add_replica(object_key, Replica(message.node, message.cell))
        if moved:
            self._notifier.moved(message.node)
        if arrival.form is Form.BROADCAST:
            return
        if message.request >= 0:
            self._cell.answer(arrival, CellAnswer(message.request, arrival.target))
            message = msgspec.structs.replace(message, request=-1)
        if moved or message.objects:
            self._cell.tell_others(message)
            self._pass_on(message, arrival.target)
        options = self._cell.options
        if (options.repair or options.silent_ends) and not holdings.spread:
            self._ask_for_unknown(arrival, message)
        if message.since_s is not None:
            for key in message.subscriptions:
                self._catch_up(key, message.cell, message.since_s)

    def _add_replica(self, arrival: Arrival, message: ReplicaAdded) -> None:
        added = self._cell.holdings.add_replica(message.key, message.replica)
        if arrival.form is Form.BROADCAST:
            return
        if added:
            self._cell.tell_others(message)
        else:
            self._pass_on(message, arrival.target)

    def _pass_on(self, message: LocationUpdate | ReplicaAdded, home: CellId) -> None:
        """To the cells that share a hot tag with this one; what came from one of them ends here."""
        if not message.passed_on:
            self._spreading.everywhere(msgspec.structs.replace(message, passed_on=True), home)

    def _ask_for_unknown(self, arrival: Arrival, message: LocationUpdate) -> None:
        """A cell that was empty for a while may have lost what its returning nodes still know. Who stands in for it may
        hold the same for another one, with which that would leave."""
        holdings, home = self._cell.holdings, arrival.target
        objects = [
            key
            for key in message.objects
            if self._cell.options.repair
            and key.owner == message.node
            and not holdings.holds(key, home)
            and not holdings.index.deleted(key)
        ]
        subscriptions = [key for key in message.subscriptions if holdings.parts.get(key, home) is None]
        if objects or subscriptions:
            unknown = Unknown(home, tuple(objects), tuple(subscriptions))
            self._cell.router.send_to_node(message.node, message.cell, unknown)

    def _catch_up(self, key: SubscriptionKey, place: CellId, since_s: float) -> None:
        """Tell a subscriber that was away of what was published meanwhile."""
        subscription = self._cell.holdings.index.subscription(key)
        if subscription is None:
            return
        frame = subscription.frame
        start_s = since_s if frame.start_s is None else max(since_s, frame.start_s)
        if frame.end_s is not None and frame.end_s <= start_s:
            return
        recent = msgspec.structs.replace(subscription, frame=type(frame)(start_s, frame.end_s))
        self._notifier.catch_up(recent, place)
