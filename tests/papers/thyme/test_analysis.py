"""The analytical study: the formulas by hand, and beside what simulated crowds send."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.model.errors import InputError
from thyme.papers.thyme.analysis import (
    ANALYSED,
    TABLE_6,
    ApproachName,
    Cost,
    Load,
    Scale,
    hot_spot,
    messages,
    notifications_per_member,
)
from thyme.papers.thyme.crowds import CrowdOptions, Shared, measure_crowd, measure_shared
from thyme.papers.thyme.evaluation import counts_of, crowds
from thyme.papers.thyme.figures import (
    Counts,
    analysis_csv,
    analysis_table,
    formula_text,
    messages_figure,
    shared_figure,
)

SIZES = (16, 64, 100)
OPERATIONS = 24
LOAD = Load(64, inserted=10, retrieved=5, subscriptions=3, matches=7, per_cell=4)
"""√64 = 8 between nodes, and √(64/4) = 4 between cells."""
PAPER_COUNTS: list[tuple[ApproachName, list[float]]] = [
    ("es", [160, 80, 48, 56]),
    ("ls", [0, 80, 192, 56]),
    ("dcs", [160, 80, 36, 28]),
]


def total_messages(approach: ApproachName, load: Load) -> float:
    return sum(messages(approach, cost, load) for cost in Cost)


@pytest.fixture(scope="module")
def found() -> dict[ApproachName, Counts]:
    return {counts.approach: counts for counts in counts_of(each.measure() for each in crowds(SIZES, 1, OPERATIONS))}


@pytest.fixture(scope="module")
def shared() -> list[Shared]:
    return [measure_shared(per_cell, 40) for per_cell in (1, 2, 5)]


@pytest.mark.parametrize(("approach", "counts"), PAPER_COUNTS)
def test_table_6_gives_what_a_hand_computes(approach: ApproachName, counts: list[float]) -> None:
    assert [messages(approach, cost, LOAD) for cost in Cost] == pytest.approx(counts)
    assert total_messages(approach, LOAD) == pytest.approx(sum(counts))


def test_hot_spots_are_sums_of_operations_and_local_inserts_cost_none() -> None:
    assert [hot_spot(approach, LOAD) for approach in ANALYSED] == [25, 15, 25]


def test_a_load_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="positive"):
        Load(0)
    with pytest.raises(InputError, match="fewer than 0"):
        Load(16, inserted=-1)


def test_many_insertions_favour_local_storage_and_many_subscriptions_the_others() -> None:
    inserts = Load(100, inserted=1_000, subscriptions=10)
    subscriptions = Load(100, inserted=10, subscriptions=1_000)
    for other in ("es", "dcs"):
        assert total_messages("ls", inserts) < total_messages(other, inserts)
        assert total_messages("ls", subscriptions) > total_messages(other, subscriptions)


@given(st.integers(1, 1_000), st.integers(0, 100), st.integers(0, 100), st.sampled_from(ANALYSED))
def test_messages_are_proportional_to_operations(nodes: int, some: int, more: int, approach: ApproachName) -> None:
    def sent(count: int) -> float:
        return total_messages(approach, Load(nodes, count, count, count, count))

    assert sent(some) + sent(more) == pytest.approx(sent(some + more))


@given(st.integers(1, 500), st.integers(1, 500))
def test_fuller_cells_leave_each_member_less_to_send(one: int, more: int) -> None:
    assert notifications_per_member(one + more) < notifications_per_member(one)
    assert notifications_per_member(one) * one == pytest.approx(100.0)


def test_a_scale_says_what_a_root_and_a_dissemination_are_worth() -> None:
    assert messages("dcs", Cost.INSERT, LOAD, Scale(0.5, 1.0)) == pytest.approx(10 * (2 * 0.5 * 4 + 2))


def test_formulas_read_as_in_the_paper() -> None:
    texts = [formula_text(TABLE_6[approach][Cost.INSERT]) for approach in ANALYSED]
    assert texts == ["2√n", "∅", "2√n + 2c"]


def test_everything_is_done_in_a_world_without_loss(found: dict[ApproachName, Counts]) -> None:
    assert [run.failed for counts in found.values() for run in counts.runs] == [0] * len(ANALYSED) * len(SIZES)


def test_local_insertions_send_nothing_and_its_subscriptions_one_frame_per_node(
    found: dict[ApproachName, Counts],
) -> None:
    for nodes in SIZES:
        assert found["ls"].mean(Cost.INSERT, nodes) == 0.0
        assert found["ls"].mean(Cost.SUBSCRIBE, nodes) == nodes
    assert found["ls"].exponent(Cost.SUBSCRIBE) == pytest.approx(1.0)
    assert found["ls"].exponent(Cost.INSERT) is None


def test_cell_storage_grows_like_the_root_of_the_cells(found: dict[ApproachName, Counts]) -> None:
    """Within a third of the scaled formula at every size."""
    counts = found["dcs"]
    for cost in Cost:
        for nodes in SIZES:
            assert counts.mean(cost, nodes) == pytest.approx(counts.formula(cost, nodes, counts.scale()), rel=1 / 3)


def test_external_storage_grows_no_faster_than_the_root(found: dict[ApproachName, Counts]) -> None:
    """A message takes one hop at least, so small crowds are dearer than √n says and growth is slower."""
    for cost in Cost:
        power = found["es"].exponent(cost)
        assert power is not None
        assert 0.1 < power < 0.6


def test_a_request_and_its_answer_cost_two_notifications(found: dict[ApproachName, Counts]) -> None:
    for nodes in SIZES:
        one = found["es"].mean(Cost.NOTIFICATION, nodes)
        for cost in (Cost.INSERT, Cost.SUBSCRIBE, Cost.RETRIEVE):
            assert found["es"].mean(cost, nodes) == pytest.approx(2 * one, rel=0.35)


def test_the_server_is_the_hot_spot_and_pays_exactly_its_formula(found: dict[ApproachName, Counts]) -> None:
    k = float(OPERATIONS)
    for run in found["es"].runs:
        assert run.hot_spot == hot_spot("es", Load(run.nodes, k, k, k, k))
    for approach in ("ls", "dcs"):
        for run in found[approach].runs:
            assert run.hot_spot < hot_spot(approach, Load(run.nodes, k, k, k, k))


def test_members_share_the_notifications_of_their_cell(shared: list[Shared]) -> None:
    for one in shared:
        assert one.notifications == 40
        assert one.mean == pytest.approx(notifications_per_member(one.per_cell, 40))
        assert one.least > 0
    assert [one.mean for one in shared] == sorted((one.mean for one in shared), reverse=True)
    assert shared[-1].most < shared[0].most / 2


def test_uniform_places_leave_cells_empty_and_every_operation_succeeds_still() -> None:
    options = CrowdOptions(nodes=64, operations=OPERATIONS, even=False)
    uniform = measure_crowd("dcs", options)
    assert uniform.cells < 32
    assert uniform.failed == 0


def test_the_same_crowd_counts_the_same() -> None:
    options = CrowdOptions(nodes=16, operations=5)
    assert measure_crowd("dcs", options) == measure_crowd("dcs", options)


def test_tables_and_figures_are_drawn_from_the_counts(found: dict[ApproachName, Counts], shared: list[Shared]) -> None:
    counts = list(found.values())
    rows = list(csv.DictReader(io.StringIO(analysis_csv(counts))))
    assert len(rows) == len(ANALYSED) * len(SIZES) * (len(Cost) + 1)
    flood = next(row for row in rows if (row["approach"], row["nodes"], row["cost"]) == ("ls", "64", "subscribe"))
    assert flood["measured"] == flood["formula"] == flood["scaled"] == "64.00"
    assert "| Thyme-LS | subscribe | n | 16.0 (16.0) | 100.0 (100.0) | n^1.00 |" in analysis_table(counts)
    for picture in (messages_figure(counts), shared_figure(shared)):
        assert picture.png.startswith(b"\x89PNG")
        assert "<svg" in picture.svg.decode()
