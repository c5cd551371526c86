"""Every stage of a study runs on Spark: its event log shows jobs, tasks and bytes for each."""

from __future__ import annotations

from small_study import Finished
from spark_log import uses_of


def test_every_stage_of_a_study_is_spark_jobs(generated: Finished) -> None:
    uses = uses_of(generated.file.parent / "log")
    assert uses.keys() == {"posts", "traces", "truth", "runs", "metrics", "points"}
    assert all(use.jobs and use.tasks for use in uses.values())
    for stage in ("traces", "truth", "metrics", "points"):
        assert uses[stage].read_bytes > 0, f"{stage} reads its input with Spark"
        assert uses[stage].shuffled_bytes > 0, f"{stage} groups its rows with Spark"
    assert any(text.startswith("run 1 of 12: ") and "8 nodes" in text for text in uses["runs"].texts)
    assert "generate 80 posts" in uses["posts"].texts
