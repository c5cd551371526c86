"""Messages of DRIP (tags 140–159).

Broker broadcasts (`Presence`) and the bootstrap (`Existing`) are control traffic; everything else carries users' data.
Events are sent whole, with their content. Messages between brokers cross the border of their regions over a bridge
node, and so do the answers.
"""

from __future__ import annotations

import msgspec

from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import DataObject
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message
from thyme.wire.storage import Tombstone

NOBODY = NodeId(-1)


class Interest(msgspec.Struct, frozen=True, array_like=True):
    """What one subscriber wants and where it probably is (DRIP §V-A1).

    `asked_s` is when its subscriptions last changed, `moved_s` when it last told them to a broker; `brokers` are its
    nearest brokers then, the local one first. `subscriptions` is None for a reader who knows those of `asked_s`.
    """

    subscriber: NodeId
    asked_s: float
    moved_s: float
    brokers: tuple[NodeId, ...]
    subscriptions: tuple[Subscription, ...] | None


class CarriedEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event between brokers, with the brokers that a carrier still has to bring it to."""

    event: DataObject
    destinations: tuple[NodeId, ...] = ()


class Existing(Message, frozen=True, tag=140):
    """The bootstrap: nodes and their capability, of one `epoch`; an `asking` sender is new and wants an answer.
    `sample` names more nodes, to estimate the size of the crowd."""

    control = True
    epoch: int
    entries: tuple[tuple[NodeId, float], ...]
    asking: bool = False
    sample: tuple[NodeId, ...] = ()


class Presence(Message, frozen=True, tag=141):
    """A broker's periodic broadcast, forwarded hop by hop (DRIP §IV-B); `attached` is the local broker of the node that
    sends this frame."""

    control = True
    broker: NodeId
    region: int
    sequence: int
    sent_s: float
    hops: int
    standing: float
    attached: NodeId


class Registration(Message, frozen=True, tag=142):
    """A node's subscriptions, to its local broker. `known` numbers events that it already has.

    It has everything that arrived at this broker, during this `region`, up to the number `after`. Up to the number
    `sifted`, if that is higher, `known` lists all it has of the broker's offers.
    """

    request: int
    interest: Interest
    known: tuple[int, ...] = ()
    region: int = -1
    after: int = 0
    sifted: int = 0


class Registered(Message, frozen=True, tag=143):
    """The answer: matching events of the broker's memory, `left` more to follow; not `ok` from a node that is no
    broker.

    It covers all arrivals up to the number `reached`. If many events wait, the answer has no events but their numbers
    (`offers`), up to the arrival `offered`.
    """

    request: int
    ok: bool
    events: tuple[DataObject, ...] = ()
    left: int = 0
    region: int = -1
    reached: int = 0
    offers: tuple[int, ...] = ()
    offered: int = 0


class Quit(Message, frozen=True, tag=144):
    """The subscriber has another local broker since `moved_s`."""

    subscriber: NodeId
    moved_s: float


class Publication(Message, frozen=True, tag=145):
    request: int
    event: DataObject


class Published(Message, frozen=True, tag=146):
    request: int
    ok: bool


class RegionEvent(Message, frozen=True, tag=147):
    """An event flooded within one region."""

    region: int
    event: DataObject
    hops: int

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0


class BridgeStatus(Message, frozen=True, tag=148):
    """The sender is a bridge from the receiver's region to that of broker `other`, so far from both together."""

    other: NodeId
    delay_s: float


class Relay(Message, frozen=True, tag=149):
    """From broker to broker: over `bridge`, or directly (`NOBODY`) between neighbours."""

    number: int
    source: NodeId
    target: NodeId
    bridge: NodeId
    interests: tuple[Interest, ...] = ()
    events: tuple[CarriedEvent, ...] = ()
    offers: tuple[int, ...] = ()
    """Numbers of events that the source could send."""
    deleted: tuple[Tombstone, ...] = ()

    def forwarded_by(self, sender: int) -> bool:
        return self.source != sender


class RelayReceived(Message, frozen=True, tag=150):
    """The answer to a `Relay`. `region` identifies the target's region, and with it the target's restart."""

    number: int
    source: NodeId
    bridge: NodeId
    region: int
    known: tuple[int, ...] = ()
    """Those of the offered events that the target knows already."""

    def forwarded_by(self, sender: int) -> bool:
        return self.bridge == sender


class Deletion(Message, frozen=True, tag=151):
    """An owner deletes an object, to its local broker; answered by `Published`."""

    request: int
    key: ObjectKey


class RegionDeletion(Message, frozen=True, tag=152):
    """A deletion flooded within one region."""

    region: int
    deleted: Tombstone
    hops: int

    def forwarded_by(self, sender: int) -> bool:
        return self.hops > 0
