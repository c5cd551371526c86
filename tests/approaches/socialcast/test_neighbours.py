"""What a neighbour has: what it says, and what it was given while the two were near each other."""

from __future__ import annotations

import pytest

from thyme.approaches.socialcast.neighbours import APART_LIFETIMES, Neighbour, Neighbourhood
from thyme.model.ids import NodeId
from thyme.model.normal_forms import Conjunction
from thyme.wire.socialcast import Control, Wanted

NODE = NodeId(3)
LIFETIME_S = 20.0


def says(*received: int, wants: str = "") -> Control:
    return Control((Wanted(Conjunction((wants,))),) if wants else (), (), (), 0, received)


def neighbour(of: Neighbourhood, now_s: float) -> Neighbour:
    return of.present(now_s)[NODE]


@pytest.fixture
def near() -> Neighbourhood:
    """One neighbour that was given message 7."""
    found = Neighbourhood(LIFETIME_S, 10, given_ids=2)
    found.hear(NODE, says(1), 0.0)
    neighbour(found, 0.0).give(7)
    return found


def test_what_was_given_counts_besides_what_it_says(near: Neighbourhood) -> None:
    assert neighbour(near, 0.0).received == {1, 7}
    near.hear(NODE, says(2), 20.0)
    assert neighbour(near, 20.0).received == {2, 7}


def test_who_gave_a_message_has_it(near: Neighbourhood) -> None:
    near.has(NODE, 8)
    near.has(NodeId(4), 9)
    near.hear(NODE, says(2), 20.0)
    assert neighbour(near, 20.0).received == {2, 7, 8}


def test_a_broadcast_that_is_lost_is_no_parting(near: Neighbourhood) -> None:
    assert near.present(30.0) == {}
    near.hear(NODE, says(), 40.0)
    assert neighbour(near, 40.0).received == {7}


def test_who_is_met_anew_is_given_anew(near: Neighbourhood) -> None:
    assert near.present(30.0) == {}
    back_s = APART_LIFETIMES * LIFETIME_S + 1.0
    near.hear(NODE, says(2), back_s)
    assert neighbour(near, back_s).received == {2}


def test_who_subscribes_to_something_else_is_given_anew(near: Neighbourhood) -> None:
    near.hear(NODE, says(2, wants="goal"), 20.0)
    assert neighbour(near, 20.0).received == {2}
    neighbour(near, 20.0).give(8)
    near.hear(NODE, says(3, wants="goal"), 40.0)
    assert neighbour(near, 40.0).received == {3, 8}


def test_what_did_not_arrive_was_not_given(near: Neighbourhood) -> None:
    neighbour(near, 0.0).give(8)
    near.lose(NODE, 7)
    assert near.present(0.0) == {}
    near.hear(NODE, says(2), 20.0)
    assert neighbour(near, 20.0).received == {2, 8}
    near.take_back(NODE, 8)
    near.hear(NODE, says(4), 40.0)
    assert neighbour(near, 40.0).received == {4}


def test_only_so_much_is_remembered(near: Neighbourhood) -> None:
    for message in (8, 9):
        neighbour(near, 0.0).give(message)
    near.hear(NODE, says(2), 20.0)
    assert neighbour(near, 20.0).received == {2, 8, 9}


def test_as_in_the_paper_only_what_it_says_counts() -> None:
    near = Neighbourhood(LIFETIME_S, 10)
    near.hear(NODE, says(1), 0.0)
    neighbour(near, 0.0).give(7)
    near.has(NODE, 8)
    assert neighbour(near, 0.0).received == {1, 7}
    near.hear(NODE, says(2), 20.0)
    assert neighbour(near, 20.0).received == {2}
