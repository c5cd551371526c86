"""What an owner tells a neighbour itself carries no proof; where it has to take another way, it does."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cell_crowd import Crowd
from net import FakeHost, Net

from thyme.host import MemoryStore
from thyme.live.trust.authenticator import SigningAuthenticator
from thyme.live.trust.identity import Identity
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.routing.ondemand import OnDemandRouter
from thyme.wire.geographic import CellPacket
from thyme.wire.message import Message
from thyme.wire.routing import Routed
from thyme.wire.signing import SigningCodec
from thyme.wire.storage import Notification

OWNER, MIDDLE, SUBSCRIBER = NodeId(0), NodeId(1), NodeId(2)


def told() -> Notification:
    one = Metadata.of(ObjectKey("o", OWNER), ("goal",), b"", 1.0, b"x")
    return Notification(SubscriptionKey(1, SUBSCRIBER), (one,))


def sign(host: FakeHost) -> None:
    host.codec = SigningCodec(SigningAuthenticator(Identity.given(host.node), MemoryStore()))


class OnDemand:
    """Three who hear each other, of whom the owner has a route to the subscriber."""

    def __init__(self) -> None:
        self.net = Net()
        self.arrived: list[Message] = []
        places = ((0.0, 0.0), (50.0, 30.0), (100.0, 0.0))
        for number, (x_m, y_m) in enumerate(places):
            host = self.net.add(number, x_m, y_m)
            sign(host)
            router = OnDemandRouter(host, lambda _, message: self.arrived.append(message))
            host.layers.append(router)
            if number == OWNER:
                self.router = router
        self.router.send(SUBSCRIBER, told())
        self.settle()
        self.arrived.clear()
        self.net.frames.clear()

    def send(self) -> None:
        self.router.send(SUBSCRIBER, told())

    def settle(self) -> None:
        self.net.run(self.net.now_s + 5.0)

    def frames(self) -> list[tuple[NodeId, NodeId | None, bytes]]:
        sent = [(by, to, frame) for by, to, frame in self.net.frames if isinstance(frame, Routed)]
        return [(by, to, frame.payload) for by, to, frame in sent]


class Geographic:
    """Three in cells that touch."""

    def __init__(self) -> None:
        self.crowd = Crowd(2, 2, [(0, 0), (1, 0), (1, 1)]).warm()
        self.net = self.crowd.net
        for person in self.crowd.people:
            sign(person.host)

    @property
    def arrived(self) -> list[Message]:
        return [arrival.message for arrival in self.crowd.people[SUBSCRIBER].arrivals]

    def send(self) -> None:
        self.crowd.people[OWNER].router.send_to_node(SUBSCRIBER, self.crowd.grid.at(1, 1), told())

    def settle(self) -> None:
        self.crowd.settle()

    def frames(self) -> list[tuple[NodeId, NodeId | None, bytes]]:
        sent = [(by, to, frame) for by, to, frame in self.net.frames if isinstance(frame, CellPacket)]
        return [(by, to, frame.payload) for by, to, frame in sent]


@pytest.mark.parametrize("make", [OnDemand, Geographic])
def test_a_neighbour_needs_no_proof(make: Callable[[], OnDemand | Geographic]) -> None:
    crowd = make()
    crowd.send()
    crowd.settle()
    assert crowd.arrived == [told()]
    assert [(by, to) for by, to, _ in crowd.frames()] == [(OWNER, SUBSCRIBER)]


@pytest.mark.parametrize("make", [OnDemand, Geographic])
def test_on_another_way_the_proof_goes_along(make: Callable[[], OnDemand | Geographic]) -> None:
    crowd = make()
    crowd.net.cut(OWNER, SUBSCRIBER)
    crowd.send()
    crowd.settle()
    (arrived,) = crowd.arrived
    assert isinstance(arrived, Notification)
    assert arrived.matches[0].proof
    ways = [(by, to) for by, to, _ in crowd.frames()]
    assert ways[0] == (OWNER, SUBSCRIBER)
    assert ways[-2:] == [(OWNER, MIDDLE), (MIDDLE, SUBSCRIBER)]
    (without, *with_proof) = [len(payload) for _, _, payload in crowd.frames()]
    assert min(with_proof) > without
