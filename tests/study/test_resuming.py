"""A study that was killed goes on where it stopped, in processes of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from small_study import Finished, contents
from spark_processes import QUICK_JAVA

PROGRAM = """
import sys
from pathlib import Path
from thyme.study.definition import load_study
from thyme.study.study import run_study
run_study(load_study(Path(sys.argv[1])), Path(sys.argv[2]), sys.argv[3])
"""
PATIENCE_S = 300.0


def test_killed_half_way_a_study_resumes_to_the_same_numbers(generated: Finished, tmp_path: Path) -> None:
    """Also: one core and given hash seeds there, two cores and this process's seed here, the same bytes in both."""
    out, whole = tmp_path / "killed", generated.out
    command = [sys.executable, "-c", PROGRAM, str(generated.file), str(out), "local[1]"]
    environment = os.environ | {"PYTHONHASHSEED": "1", "JDK_JAVA_OPTIONS": QUICK_JAVA}
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
    assert contents(out, "runs/*/events.parquet") == contents(whole, "runs/*/events.parquet")
    assert finished.items() <= contents(out, "runs/*/events.parquet").items()
    assert (out / "metrics.csv").read_bytes() == (whole / "metrics.csv").read_bytes()
    assert contents(out, "figures/*") == contents(whole, "figures/*")
    traces = [sorted(path.name for path in (folder / "traces").iterdir()) for folder in (out, whole)]
    assert traces[0] == traces[1]
