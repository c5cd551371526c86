"""What work took is that of all processes that did it, those that have ended included."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.effort import measure

BUSY = """
import time
begun = time.process_time()
while time.process_time() - begun < 1.5:
    pass
"""
FORGETFUL = f"""
import signal, subprocess, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", {BUSY!r}]).wait()
"""


def test_a_child_that_nobody_waits_for_counts() -> None:
    """As Python workers of Spark: their parent ignores their end, so their time is added to nobody's."""
    _, effort = measure(lambda: subprocess.run([sys.executable, "-c", FORGETFUL], check=True))
    assert effort.cpu_s > 0.9
    assert effort.peak_mb > 5.0


def test_what_ended_before_does_not_count() -> None:
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    result, effort = measure(lambda: 7)
    assert result == 7
    assert effort.cpu_s < 0.9
