"""What tests of studies share: a study so small that it takes moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from thyme.study.definition import StudyDefinition, load_study
from thyme.study.plan import Plan, make_plan
from thyme.study.results import Results, Summary
from thyme.study.shown_metrics import SHOWN_METRICS, SUCCESS_PARTS

TRACE = """at_s,node,kind,oid,tags,text,sid,query,start_s,end_s
12.0,0,subscribe,,,,0,goal,,
12.5,1,subscribe,,,,0,goal & !replay,now,
14.0,2,insert,a,goal,first #goal,,,,
15.0,3,insert,b,goal;replay,again #goal #replay,,,,
16.0,4,insert,c,goal,third #goal,,,,
17.0,2,delete,a,,,,,,
19.0,5,subscribe,,,,0,goal,,
20.0,1,unsubscribe,,,,0,,,
21.0,3,insert,d,goal,last #goal,,,,
"""
STUDY = """title = "A handful of people"
topologies = 2

[trace]
file = "trace.csv"

[scenario]
time = { join_from_s = 1.0, join_to_s = 3.0, until_s = 40.0 }

[[approaches]]
name = "ls"
settings = { routing = "ondemand" }

[[approaches]]
name = "ls"
label = "one at a time"
settings = { routing = "ondemand", past_matches = 1 }

[grid]
nodes = [8, 9]
"""


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    (tmp_path / "trace.csv").write_text(TRACE)
    (tmp_path / "small.toml").write_text(STUDY)
    return tmp_path / "small.toml"


@pytest.fixture
def small(study_file: Path) -> StudyDefinition:
    return load_study(study_file)


@pytest.fixture
def made_up() -> Callable[[Plan], Results]:
    """Some number for every measure at every point, with an interval."""
    names = [*(measure.metric for measure in (*SHOWN_METRICS, *SUCCESS_PARTS))]

    def of(plan: Plan) -> Results:
        numbers = [(number, 0.95 - 0.01 * number) for number in range(len(plan.points))]
        return Results(
            plan, {(point, name): Summary(at, 0.01, at - 0.01, at + 0.01, 3) for point, at in numbers for name in names}
        )

    return of


@pytest.fixture
def results(small: StudyDefinition, made_up: Callable[[Plan], Results]) -> Results:
    return made_up(make_plan(small))
