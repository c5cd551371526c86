"""On-demand routes: few repetitions of a request in a crowd, and nobody is cut off by it."""

from __future__ import annotations

import pytest
from net import GIVEN_UP_S, Net

from thyme.model.ids import NodeId
from thyme.routing.flooding import Flooding
from thyme.routing.ondemand import MOST_SKEW_S, OnDemandOptions, OnDemandRouter
from thyme.wire.message import Message
from thyme.wire.routing import Flooded, RouteError, RouteRequest

Place = tuple[float, float]
LETTER = Flooded(NodeId(0), 7, 0, b"")


class Crowd:
    def __init__(
        self, places: list[tuple[float, float]], options: OnDemandOptions | None = None, seed: int = 1
    ) -> None:
        self.net = Net(seed=seed)
        self.arrived: list[tuple[NodeId, Message]] = []
        self.routers = [self._router(node, *place, options) for node, place in enumerate(places)]

    def _router(self, node: int, x_m: float, y_m: float, options: OnDemandOptions | None) -> OnDemandRouter:
        host = self.net.add(node, x_m, y_m)
        router = OnDemandRouter(host, lambda _, message: self.arrived.append((host.node, message)), options)
        host.layers.append(router)
        return router

    def send(self, sender: int, to: int) -> int:
        """How many requests it takes until the letter has arrived."""
        before, arrived = self.requests(), len(self.arrived)
        self.routers[sender].send(NodeId(to), LETTER)
        self.net.run(self.net.now_s + 10.0)
        assert self.arrived[arrived:] == [(to, LETTER)]
        return self.requests() - before

    def requests(self) -> int:
        return sum(isinstance(frame, RouteRequest) for _, _, frame in self.net.frames)


GRID = [(15.0 * (i % 12), 15.0 * (i // 12)) for i in range(144)]


def test_in_a_crowd_few_nodes_repeat_a_request() -> None:
    assert Crowd(GRID, OnDemandOptions(enough_copies=0)).send(0, 143) == 143
    assert Crowd(GRID).send(0, 143) < 50


def test_a_route_in_use_is_not_looked_for_again() -> None:
    crowd = Crowd(GRID)
    crowd.send(0, 143)
    crowd.net.run(crowd.net.now_s + 200.0)
    assert crowd.send(0, 143) == 0
    assert crowd.send(143, 0) == 0, "a request shows everybody the way back to its origin"


@pytest.mark.parametrize("seed", range(5))
def test_a_node_behind_a_single_neighbour_of_a_crowd_is_found(seed: int) -> None:
    beyond = [(270.0, 80.0), (370.0, 80.0)]
    crowd = Crowd([*GRID, *beyond], seed=seed)
    assert crowd.send(0, len(GRID) + 1) > 0


@pytest.mark.parametrize("seed", range(5))
def test_a_broken_route_is_replaced(seed: int) -> None:
    crowd = Crowd([(0.0, 0.0), (80.0, 0.0), (80.0, 60.0), (160.0, 0.0)], seed=seed)
    crowd.send(0, 3)
    route = crowd.routers[0].route_to(NodeId(3))
    assert route is not None
    crowd.net.cut(0, route.next_hop)
    assert crowd.send(0, 3) > 0


def test_one_lost_frame_breaks_no_route() -> None:
    crowd = Crowd([(0.0, 0.0), (80.0, 0.0), (160.0, 0.0)])
    crowd.send(0, 2)
    crowd.net.cut(0, 1)
    crowd.net.after(0.5 * GIVEN_UP_S, lambda: crowd.net.mend(0, 1))
    assert crowd.send(0, 2) == 0
    assert not crowd.net.sent(RouteError)


def test_frames_that_never_leave_the_own_queue_break_no_route() -> None:
    crowd = Crowd([(0.0, 0.0), (80.0, 0.0), (160.0, 0.0)])
    crowd.send(0, 2)
    requests, host, failures = crowd.requests(), crowd.net.hosts[NodeId(0)], list[str]()
    host.stuck = True
    for _ in range(5):
        crowd.routers[0].send(NodeId(2), LETTER, lambda: failures.append("failed"))
    crowd.net.run(crowd.net.now_s + 10.0)
    assert len(failures) == 5, "the sender is told"
    host.stuck = False
    assert crowd.send(0, 2) == 0
    assert crowd.requests() == requests
    assert not crowd.net.sent(RouteError)


def test_a_flood_shows_the_way_back_to_its_origin() -> None:
    crowd = Crowd(GRID)
    floods = []
    for router, host in zip(crowd.routers, crowd.net.hosts.values(), strict=True):
        floods.append(Flooding(host, lambda *_: None, routes=router.flood_routes()))
        host.layers.append(floods[-1])
    floods[143].flood(LETTER)
    crowd.net.run(crowd.net.now_s + 5.0)
    assert all(crowd.send(node, 143) == 0 for node in (0, 11, 70, 132))


def test_of_a_flood_and_a_request_the_later_one_counts() -> None:
    crowd = Crowd([(0.0, 0.0), (80.0, 0.0), (160.0, 0.0)])
    router = crowd.routers[0]
    first, second = router.next_sequence(), router.next_sequence()
    crowd.routers[2].learn(NodeId(0), NodeId(1), 2, second)
    crowd.routers[2].learn(NodeId(0), NodeId(0), 1, first)
    route = crowd.routers[2].route_to(NodeId(0))
    assert route is not None
    assert route.next_hop == 1


NEXT_TO_EACH_OTHER = [(0.0, 0.0), (15.0, 0.0), (30.0, 0.0)]


def test_a_forged_number_far_in_the_future_teaches_no_route() -> None:
    crowd = Crowd(NEXT_TO_EACH_OTHER)
    crowd.routers[0].learn(NodeId(1), NodeId(2), 2, 2**60)
    assert crowd.routers[0].route_to(NodeId(1)) is None
    crowd.send(0, 1)


def test_a_forged_number_keeps_genuine_ones_out_for_a_bounded_time() -> None:
    crowd = Crowd(NEXT_TO_EACH_OTHER)
    forged = int((crowd.net.now_s + MOST_SKEW_S) * 1000.0)
    crowd.routers[0].learn(NodeId(1), NodeId(2), 2, forged)
    route = crowd.routers[0].route_to(NodeId(1))
    assert route
    assert route.next_hop == 2
    crowd.net.run(crowd.net.now_s + 2 * MOST_SKEW_S + 1.0)
    crowd.routers[0].learn(NodeId(1), NodeId(1), 1, crowd.routers[1].next_sequence())
    route = crowd.routers[0].route_to(NodeId(1))
    assert route
    assert route.next_hop == 1
