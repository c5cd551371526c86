"""Every stage of a study runs on Spark: its event log shows jobs, tasks and bytes for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_log import uses_of
from spark_processes import QUICK_JAVA, run_program

STUDY = """title = "Generated"
variations = []

[posts]
generate = { posts = 600 }

[trace]
users = 8

[scenario]
time = { join_from_s = 1.0, join_to_s = 3.0, until_s = 700.0 }

[[approaches]]
name = "ls"
settings = { routing = "ondemand" }

[grid]
nodes = [8]
"""
PROGRAM = """
import sys
from pathlib import Path
from thyme.pipeline.spark import given
from thyme.study.definition import load_study
from thyme.study.study import run_study
settings = ["spark.eventLog.enabled=true", "spark.eventLog.compress=false", "spark.eventLog.dir=file://" + sys.argv[1]]
given.ask(settings)
run_study(load_study(Path("study.toml")), Path("out"), "local[2]")
"""


@pytest.mark.spark
def test_every_stage_of_a_study_is_spark_jobs(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "study.toml").write_text(STUDY)
    run_program(["-c", PROGRAM, str(tmp_path / "log")], tmp_path, JDK_JAVA_OPTIONS=QUICK_JAVA)
    uses = uses_of(tmp_path / "log")
    assert {"posts", "traces", "truth", "runs", "metrics", "points"} <= uses.keys()
    assert all(use.jobs and use.tasks for use in uses.values())
    for stage in ("traces", "truth", "metrics", "points"):
        assert uses[stage].read_bytes > 0, f"{stage} reads its input with Spark"
        assert uses[stage].shuffled_bytes > 0, f"{stage} groups its rows with Spark"
    assert any(text.startswith("run 1 of ") and "8 nodes" in text for text in uses["runs"].texts)
    assert "generate 600 posts" in uses["posts"].texts
