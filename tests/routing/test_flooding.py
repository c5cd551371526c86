"""Flooding: a message reaches all, and in a crowd few pass it on."""

from __future__ import annotations

from functools import partial

from net import Net

from thyme.model.ids import NodeId
from thyme.routing.flooding import ENOUGH_COPIES, Flooding
from thyme.wire.message import Message
from thyme.wire.routing import Flooded
from thyme.wire.storage import JoinRequest


def flooded(places_m: list[float], known: int) -> tuple[set[int], int]:
    """Who receives a flood of the first node, and how many frames that takes."""
    net = Net()
    reached: set[int] = set()

    def deliver(node: int, origin: NodeId, message: Message) -> None:
        assert (origin, message) == (0, JoinRequest(7))
        assert node not in reached
        reached.add(node)

    layers = []
    for node, x_m in enumerate(places_m):
        host = net.add(node, x_m, 0.0)
        layers.append(Flooding(host, partial(deliver, node), neighbours=lambda: known))
        host.layers.append(layers[-1])
    layers[0].flood(JoinRequest(7))
    net.run(10.0)
    return reached, len(net.sent(Flooded))


def test_everybody_passes_it_on_where_neighbours_are_few_or_unknown() -> None:
    assert flooded([50.0 * node for node in range(10)], 4) == (set(range(1, 10)), 10)
    assert flooded([0.5 * node for node in range(100)], 0) == (set(range(1, 100)), 100)


def test_where_all_hear_each_other_few_pass_it_on() -> None:
    reached, frames = flooded([0.5 * node for node in range(100)], 99)
    assert reached == set(range(1, 100))
    assert ENOUGH_COPIES <= frames < 20


def test_a_crowd_of_several_hops_is_reached_as_well() -> None:
    reached, frames = flooded([2.0 * node for node in range(300)], 100)
    assert reached == set(range(1, 300))
    assert frames < 150
