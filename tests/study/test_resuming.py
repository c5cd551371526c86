"""A study that was killed in a process of its own goes on in another."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from small_study import Finished, contents
from spark_processes import QUICK_JAVA

from thyme.study.definition import load_study
from thyme.study.study import run_study

PROGRAM = """
import sys
from pathlib import Path
from thyme.study.definition import load_study
from thyme.study.study import run_study
run_study(load_study(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3])
"""
PATIENCE_S = 300.0


def test_killed_half_way_a_study_resumes_to_the_same_numbers(generated: Finished, tmp_path: Path) -> None:
    """Also: one core and a given hash seed there, two cores and this process's seed here, the same bytes in both."""
    out, whole = tmp_path / "killed", generated.out
    command = [sys.executable, "-c", PROGRAM, str(generated.file), str(out), "local[1]"]
    with subprocess.Popen(command, env=os.environ | {"PYTHONHASHSEED": "1", "JDK_JAVA_OPTIONS": QUICK_JAVA}) as process:
        deadline_s = time.monotonic() + PATIENCE_S
        while len(contents(out, "runs/*/events.parquet")) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    finished = contents(out, "runs/*/events.parquet")
    assert 2 <= len(finished) < 12
    assert not (out / "metrics.csv").exists()

    statuses = [outcome.status for outcome in run_study(load_study(generated.file), out).outcomes]
    assert statuses.count("reused") >= len(finished)
    assert contents(out, "runs/*/events.parquet") == contents(whole, "runs/*/events.parquet")
    assert finished.items() <= contents(out, "runs/*/events.parquet").items()
    assert (out / "metrics.csv").read_bytes() == (whole / "metrics.csv").read_bytes()
    assert contents(out, "figures/*") == contents(whole, "figures/*")
    traces = [sorted(path.name for path in (folder / "traces").iterdir()) for folder in (out, whole)]
    assert traces[0] == traces[1]
