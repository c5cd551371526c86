"""The Thyme papers' own studies come with Thyme, and their statements are about what these studies measure."""

from __future__ import annotations

import pytest

from thyme.model.errors import InputError
from thyme.papers.thyme.claims import PRESETS, expectations_of
from thyme.sim.radios.models import WifiModel
from thyme.study.claims import Claim, judge_study, those_tested
from thyme.study.definition import load_preset, presets
from thyme.study.plan import make_plan
from thyme.study.results import Results, Summary, axis_of
from thyme.study.shown_metrics import OPERATIONS, SHOWN_METRICS, SUCCESS_PARTS

STUDIES = ("thyme-static", "thyme-crash", "thyme-transient", "thyme-mobile")
TIMED = ("all", "notification", *OPERATIONS)
MEASURED = (
    {measure.metric for measure in (*SHOWN_METRICS, *SUCCESS_PARTS)}
    | {f"{what}.latency_s.{how}" for what in TIMED for how in ("mean", "p50", "p95", "max")}
    | {"lowest.success", "control.payload.share"}
)
"""What reports show, and what the papers state besides."""


def test_the_papers_studies_are_presets_beside_the_study_s_own() -> None:
    assert set(presets(PRESETS)) == {"fanzone", "quick", "six", *STUDIES}
    assert set(presets()) == {"fanzone", "quick", "six"}
    with pytest.raises(InputError, match=r"there is no such preset; expected one of fanzone, quick, six, thyme-crash"):
        load_preset("slow", folders=PRESETS)


@pytest.mark.parametrize("name", STUDIES)
def test_every_preset_can_be_planned(name: str) -> None:
    plan = make_plan(load_preset(name, folders=PRESETS))
    assert plan.definition.name == name
    assert plan.definition.title
    assert plan.definition.question.endswith((")", "?"))
    assert len(plan.runs) == len(plan.points) * plan.definition.topologies * plan.definition.repetitions


def test_a_preset_is_narrowed_by_keys_of_its_grid_and_of_the_study() -> None:
    changes = {"nodes": [100], "repetitions": 1, "approaches": ["ls"], "radio.profile": "p27"}
    plan = make_plan(load_preset("thyme-static", changes, PRESETS))
    assert [point.values for point in plan.points] == [{"nodes": 100}]
    assert len(plan.runs) == plan.definition.topologies
    assert plan.runs[0].scenario.radio == WifiModel(profile="p27")
    assert plan.runs[0].trace.options.users == 100


def test_the_papers_statements_are_about_the_papers_configuration() -> None:
    expected = expectations_of(load_preset("thyme-static", folders=PRESETS))
    assert {one.approach for one in expected} == {"Thyme-ES", "Thyme-LS", "Thyme-DCS of the papers"}


@pytest.mark.parametrize("name", STUDIES)
def test_the_papers_claims_name_metrics_that_are_measured(name: str) -> None:
    known = MEASURED
    expected = expectations_of(load_preset(name, folders=PRESETS))
    assert expected
    assert {one.metric for one in expected} <= known
    assert not expectations_of(load_preset("quick"))


def test_every_kind_of_claim_is_tested_by_the_whole_study() -> None:
    plan = make_plan(load_preset("thyme-static", folders=PRESETS))
    metrics = MEASURED
    same = Summary(0.96, None, None, None, 1)
    summaries = {(point, metric): same for point in range(len(plan.points)) for metric in metrics}
    claims = judge_study(expectations_of(plan.definition), Results(plan, summaries), axis_of(plan))
    assert len(those_tested(claims)) == len(claims)
    assert _told(claims, "T05") == [("96%", "96.0%", "holds")]
    assert _told(claims, "T12") == [("< 1 × Thyme-DCS of the papers", "1.00 × Thyme-DCS of the papers", "differs")]


def _told(claims: list[Claim], id_: str) -> list[tuple[str, str, str]]:
    return [(claim.stated, claim.measured, claim.verdict) for claim in claims if claim.id == id_]
