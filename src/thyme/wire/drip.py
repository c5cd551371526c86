"""What the nodes of DRIP say to each other (tags 140–159).

Broker broadcasts (`Presence`) and the bootstrap (`Existing`) are control traffic; everything else carries what a
user asked for. Events travel whole, with their content. What brokers say to each other crosses the border of their
regions over a bridge node, and is answered the same way back.
"""

from __future__ import annotations

import msgspec

from thyme.model.ids import NodeId
from thyme.model.objects import DataObject
from thyme.model.subscriptions import Subscription
from thyme.wire.message import Message

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
    """An event between brokers: the brokers that it is still to be brought to, if its receiver is a carrier."""

    event: DataObject
    destinations: tuple[NodeId, ...] = ()


class Existing(Message, frozen=True, tag=140):
    """The bootstrap: nodes and how able they are, of one `epoch`; who is `asking` is new and wants to be told."""

    control = True
    epoch: int
    entries: tuple[tuple[NodeId, float], ...]
    asking: bool = False


class Presence(Message, frozen=True, tag=141):
    """A broker's periodic broadcast, passed on hop by hop (DRIP §IV-B); `attached` is the local broker of whoever
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
    """A node's subscriptions, to its local broker. `known` numbers events that it need not be told of again.

    It has everything that arrived at this broker in the life of this `region`, up to the number `after`. Up to the
    number `sifted`, if that is above, `known` names all that it has of what the broker offered.
    """

    request: int
    interest: Interest
    known: tuple[int, ...] = ()
    region: int = -1
    after: int = 0
    sifted: int = 0


class Registered(Message, frozen=True, tag=143):
    """The answer: matching events of the broker's memory, of which `left` more wait; not `ok` from a non-broker.

    What arrived up to the number `reached` has been told with this. Where many wait, no event is in the answer but
    their numbers are `offers`, up to the arrival `offered`.
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
    """Numbers of events that the source could hand over."""

    def forwarded_by(self, sender: int) -> bool:
        return self.source != sender


class RelayReceived(Message, frozen=True, tag=150):
    """The answer to a `Relay`. `region` names the target's region, and with it the target's life."""

    number: int
    source: NodeId
    bridge: NodeId
    region: int
    known: tuple[int, ...] = ()
    """Those of the offered events that the target knows already."""

    def forwarded_by(self, sender: int) -> bool:
        return self.bridge == sender
