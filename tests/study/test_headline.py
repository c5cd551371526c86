"""The headline follows its stated rules."""

from __future__ import annotations

from thyme.study.definition import StudyDefinition
from thyme.study.plan import make_plan
from thyme.study.report.headline import Score, choose, headline
from thyme.study.results import Results, Summary
from thyme.study.shown_metrics import AIR_BYTES, NOTIFICATION_LATENCY, RECALL, SUCCESS


def score(approach: str, success: float, recall: float, air_bytes: float, latency_s: float = 0.1) -> Score:
    return Score(0, approach, success, recall, latency_s, air_bytes)


def test_traffic_decides_among_dependable_approaches() -> None:
    cheap_but_deaf = score("deaf", 1.0, 0.5, 10)
    assert choose([score("loud", 1.0, 1.0, 300), score("calm", 0.96, 0.91, 100), cheap_but_deaf]).approach == "calm"


def test_of_equally_cheap_ones_the_soonest_is_chosen() -> None:
    assert choose([score("slow", 1.0, 1.0, 100, 2.0), score("quick", 1.0, 1.0, 109, 0.5)]).approach == "quick"
    assert choose([score("slow", 1.0, 1.0, 100, 2.0), score("quick", 1.0, 1.0, 112, 0.5)]).approach == "slow"


def test_where_none_is_dependable_the_one_that_brings_most_is_named() -> None:
    chosen = choose([score("poor", 0.5, 0.5, 1), score("fair", 0.9, 0.8, 900)])
    assert chosen.approach == "fair"
    assert not chosen.dependable


def results(definition: StudyDefinition, numbers: dict[tuple[str, int], tuple[float, float, float]]) -> Results:
    plan = make_plan(definition)
    summaries = {}
    for number, point in enumerate(plan.points):
        success, recall, air_bytes = numbers[(point.approach, point.values["nodes"])]
        values = {SUCCESS: success, RECALL: recall, AIR_BYTES: air_bytes, NOTIFICATION_LATENCY: 0.2}
        for metric, value in values.items():
            summaries[(number, metric)] = Summary(value, None, None, None, 1)
    return Results(plan, summaries)


def test_the_answer_names_the_winner_and_its_exceptions(small: StudyDefinition) -> None:
    ls, other = "Thyme-LS", "one at a time"
    told = headline(
        results(small, {(ls, 8): (1, 1, 50), (ls, 9): (1, 1, 80), (other, 8): (1, 1, 100), (other, 9): (1, 1, 60)})
    )
    assert told.answer == f"Choose {ls}: it is the best choice at 1 of 2 points."
    assert any(f"At nodes 9, {other} is the better choice" in reason for reason in told.reasons)


def test_an_answer_never_praises_what_does_not_suffice(small: StudyDefinition) -> None:
    ls, other = "Thyme-LS", "one at a time"
    poor = (0.5, 0.5, 10.0)
    told = headline(results(small, {(name, nodes): poor for name in (ls, other) for nodes in (8, 9)}))
    assert told.answer.startswith("No approach measured is dependable")


def test_without_results_there_is_no_choice(small: StudyDefinition) -> None:
    assert headline(Results(make_plan(small), {})).answer.startswith("No run finished")
