"""What tests of studies share: a small study, and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from small_study import GENERATED, Finished, write_study
from spark_log import event_log

from thyme.cli.main import run
from thyme.study.definition import StudyDefinition, load_study
from thyme.study.plan import Plan, make_plan
from thyme.study.results import Results, Summary
from thyme.study.shown_metrics import SHOWN_METRICS, SUCCESS_PARTS


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    return write_study(tmp_path)


@pytest.fixture(scope="session")
def finished(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The small study, run once for all tests that look at its results."""
    return run_command(write_study(tmp_path_factory.mktemp("finished")))


@pytest.fixture(scope="session")
def generated(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The study that makes its own posts, with Spark's event log of it in the folder `log` beside it."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "twelve.toml").write_text(GENERATED)
    (folder / "log").mkdir()
    with event_log(spark, folder / "log"):
        return run_command(folder / "twelve.toml")


def run_command(file: Path) -> Finished:
    """`thyme study` on this file, with results in the folder `out` beside it."""
    out = file.parent / "out"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as shown:
        patch.setattr(sys, "argv", ["thyme", "study", str(file), "--out", str(out)])
        patch.setenv("COLUMNS", "200")
        with pytest.raises(SystemExit) as stop:
            run()
    assert stop.value.code == 0, shown.getvalue()
    return Finished(file, out, shown.getvalue())


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
