"""A study that was killed goes on where it stopped, in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_study import contents

GENERATED = """title = "Twelve runs"
topologies = 12

[posts.generate]
posts = 80

[trace]
compression = { duration_s = 20.0, first_s = 12.0 }

[scenario]
nodes = 8
time = { join_from_s = 1.0, join_to_s = 3.0, until_s = 40.0 }

[[approaches]]
name = "ls"
settings = { routing = "ondemand" }
"""
PROGRAM = """
import sys
from pathlib import Path
from thyme.study.definition import load_study
from thyme.study.study import run_study
run_study(load_study(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3])
"""
PATIENCE_S = 300.0


@pytest.mark.spark
def test_killed_half_way_a_study_resumes_to_the_same_numbers(tmp_path: Path) -> None:
    """Also: one core and one hash seed there, two cores and another here, the same bytes in both."""
    study_file = tmp_path / "twelve.toml"
    study_file.write_text(GENERATED)
    out, other = tmp_path / "killed", tmp_path / "whole"
    command, beside = (
        [sys.executable, "-c", PROGRAM, str(study_file), str(place), master]
        for place, master in ((out, "local[1]"), (other, "local[2]"))
    )
    environment = os.environ | {"PYTHONHASHSEED": "1", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    with subprocess.Popen(command, env=environment) as process:
        deadline_s = time.monotonic() + PATIENCE_S
        while len(contents(out, "runs/*/events.parquet")) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    finished = contents(out, "runs/*/events.parquet")
    assert 2 <= len(finished) < 12
    assert not (out / "metrics.csv").exists()

    subprocess.run(command, env=environment | {"PYTHONHASHSEED": "2"}, check=True)
    subprocess.run(beside, env=environment | {"PYTHONHASHSEED": "3"}, check=True)
    assert contents(out, "runs/*/events.parquet") == contents(other, "runs/*/events.parquet")
    assert finished.items() <= contents(out, "runs/*/events.parquet").items()
    assert (out / "metrics.csv").read_bytes() == (other / "metrics.csv").read_bytes()
    assert contents(out, "figures/*") == contents(other, "figures/*")
    traces = [sorted(path.name for path in (folder / "traces").iterdir()) for folder in (out, other)]
    assert traces[0] == traces[1]
