"""Utilities: co-location and change of connectivity, weighed, predicted and trusted or not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.approaches.socialcast.neighbours import Neighbour
from thyme.approaches.socialcast.prophet import Predictabilities, ProphetOptions
from thyme.approaches.socialcast.utilities import KalmanOptions, TrustOptions, Utilities, UtilityOptions, change_degree
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.normal_forms import Conjunction
from thyme.wire.socialcast import Control, Wanted


def neighbour(node: int, *topics: tuple[str, ...], **utilities: int) -> Neighbour:
    wanted = tuple(Wanted(Conjunction(topic)) for topic in topics)
    listed = tuple((name,) for name in utilities)
    return Neighbour(NodeId(node), Control(wanted, listed, tuple(utilities.values()), 0, ()), 0.0)


def present(*neighbours: Neighbour) -> dict[NodeId, Neighbour]:
    return {one.node: one for one in neighbours}


def ids(*nodes: int) -> frozenset[NodeId]:
    return frozenset(NodeId(node) for node in nodes)


def test_change_degree_is_the_share_of_those_who_came_or_went() -> None:
    assert change_degree(ids(), ids()) == 0.0
    assert change_degree(ids(1, 2), ids(1, 2)) == 0.0
    assert change_degree(ids(1, 2), ids(2, 3)) == pytest.approx(2 / 3)
    assert change_degree(ids(1), ids(2)) == 1.0


def test_who_is_often_near_subscribers_is_a_good_carrier_for_their_topic_only() -> None:
    utilities = Utilities(UtilityOptions(1.0, 0.0))
    for _ in range(50):
        utilities.observe(present(neighbour(1, ("rugby",))), ())
    assert utilities.score(("rugby",)) > 950
    assert utilities.score(("rugby", "tv")) > 950
    assert utilities.score(("chess",)) == 0
    assert utilities.table()[0] == [("rugby",)]


def test_a_topic_of_two_tags_needs_both() -> None:
    utilities = Utilities(UtilityOptions(1.0, 0.0))
    for _ in range(50):
        utilities.observe(present(neighbour(1, ("final", "rugby"))), ())
    assert utilities.score(("final", "rugby")) > 950
    assert utilities.score(("rugby",)) == 0


def test_a_restless_node_is_a_carrier_for_everything_by_the_other_weight() -> None:
    utilities = Utilities(UtilityOptions(0.6, 0.4))
    for step in range(60):
        utilities.observe(present(neighbour(step)), ())
    assert utilities.score(("anything",)) == pytest.approx(400, abs=5)
    assert utilities.table()[2] == utilities.score(("anything",))


def test_predictions_that_keep_failing_count_for_nothing() -> None:
    trusting, wary = (
        Utilities(UtilityOptions(1.0, 0.0, KalmanOptions(0.1, 0.1), TrustOptions(bound, 10))) for bound in (1.0, 0.4)
    )
    for utilities in (trusting, wary):
        for step in range(100):
            utilities.observe(present(neighbour(1, ("rugby",))) if step % 2 == 0 else {}, ())
    assert trusting.score(("rugby",)) > 200
    assert wary.score(("rugby",)) == 0


def test_a_topic_heard_of_late_starts_from_a_settled_variance() -> None:
    early, late = (Utilities(UtilityOptions(1.0, 0.0)) for _ in range(2))
    early.observe(present(neighbour(1, ("rugby",))), ())
    for _ in range(100):
        late.observe({}, ())
    late.observe(present(neighbour(1, ("rugby",))), ())
    assert late.score(("rugby",)) < early.score(("rugby",))


def test_only_so_many_topics_are_known_and_the_least_likely_gives_way() -> None:
    utilities = Utilities(UtilityOptions(1.0, 0.0, known_topics=2))
    for name in ("a", "b", "b", "c"):
        utilities.observe(present(neighbour(1, (name,))), ())
    assert utilities.score(("a",)) == 0
    assert utilities.score(("b",)) > 0
    assert utilities.score(("c",)) > 0


@given(st.lists(st.sets(st.integers(0, 5)), max_size=40), st.floats(0.0, 1.0))
def test_scores_are_thousandths_and_the_table_agrees_with_them(rounds: list[set[int]], weight: float) -> None:
    utilities = Utilities(UtilityOptions(weight, 1.0 - weight))
    for nodes in rounds:
        utilities.observe(present(*(neighbour(node, (f"t{node % 3}",)) for node in sorted(nodes))), ())
    topics, values, elsewhere = utilities.table()
    for topic, value in zip(topics, values, strict=True):
        assert utilities.score(topic) == value
    assert all(0 <= value <= 1000 for value in [*values, elsewhere])


@pytest.mark.parametrize("weights", [(0.75, 0.75), (0.0, 0.0)])
def test_weights_that_do_not_sum_to_one_are_refused(weights: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="sum to one"):
        UtilityOptions(*weights)


def test_prophet_rises_with_encounters_ages_and_passes_on() -> None:
    reach = Predictabilities(ProphetOptions(0.5, 0.5, 0.9))
    reach.observe(present(neighbour(1, ("rugby",))), ())
    assert reach.score(("rugby",)) == 500
    reach.observe(present(neighbour(1, ("rugby",))), ())
    assert reach.score(("rugby",)) == 450, "staying together is no further encounter"
    reach.observe({}, ())
    reach.observe(present(neighbour(1, ("rugby",))), ())
    assert reach.score(("rugby",)) == pytest.approx(682, abs=1)
    through = Predictabilities(ProphetOptions(0.5, 0.5, 0.9))
    through.observe(present(neighbour(2, rugby=800)), ())
    assert through.score(("rugby",)) == pytest.approx(200, abs=1)
