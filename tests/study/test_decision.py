"""The page of the decision map is what the map says, and a study tells it beside its answer."""

from __future__ import annotations

from io import BytesIO

from PIL import Image

from thyme.approaches.deciding import CrowdKind, read_table
from thyme.approaches.registry import APPROACHES
from thyme.papers.thyme.claims import PRESETS
from thyme.study.decision import kind_of, prior_words, table_text
from thyme.study.definition import load_preset
from thyme.study.figures.decision import decision_figure
from thyme.study.plan import make_plan


def test_a_study_of_all_six_becomes_the_map() -> None:
    changes = {"density": [4.0], "walking": [1.0], "switching": [0.2], "questions": [4.0], "past": [0.6, 0.0]}
    plan = make_plan(load_preset("six", changes))
    measured = {
        "all.success": 0.9, "all.issued": 100.0, "delete.success": 0.0, "delete.issued": 10.0,
        "recall": 0.9, "phy_sent.bytes": 2.4e6, "energy.node_joules.mean": 24.0, "load.gini": 0.1,
    }  # fmt: skip
    rows = [
        f"{approach.title},4,1,0.2,4,{past},{name},{value}"
        for approach in APPROACHES.values()
        for past in ("0.6", "0")
        for name, value in measured.items()
    ]
    text = table_text(
        plan, "\n".join(["approach,density,walking,switching,questions,past,metric,mean", *rows]), "abc", "day"
    )
    lines = list(read_table(text))
    assert [line.approach for line in lines] == 2 * [choice.name for choice in plan.definition.approaches]
    assert {(line.workload, line.success) for line in lines} == {("all", 0.9), ("future", 1.0)}, "refused deletes"
    assert {line.kind for line in lines} == {CrowdKind(19.0, 1.0, 0.2, 4.0)}
    assert (lines[0].air_bytes, lines[0].joules, lines[0].notified_s) == (1e4, 2.0, None)
    wide, narrow = (Image.open(BytesIO(decision_figure(lines, narrow).png)) for narrow in (False, True))
    assert wide.width > wide.height
    assert narrow.width < narrow.height


def test_a_study_tells_what_the_map_has_for_its_crowd() -> None:
    plan = make_plan(load_preset("fanzone", folders=PRESETS))
    kind = kind_of(plan.runs[0])
    assert kind is not None
    assert kind.walking == kind.switching == 0.0
    told = prior_words(plan)
    assert told.startswith("Of crowds that were played before with texts only, "), "and this one shares photos"
    texts = load_preset("fanzone", {"trace.sizes": {"kind": "text"}}, PRESETS)
    assert prior_words(make_plan(texts)).startswith("Of crowds that were played before, ")
    leaving = load_preset("fanzone", {"scenario.churn": {"model": "leave", "fraction": 0.1}}, PRESETS)
    assert prior_words(make_plan(leaving)) != told
    assert "who leaves counted as switched off" in prior_words(make_plan(leaving))
