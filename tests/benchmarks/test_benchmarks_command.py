"""`python -m benchmarks` lists the benchmarks and explains mistakes in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def benchmarks(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_help_lists_the_benchmarks() -> None:
    answer = benchmarks("--help")
    assert answer.returncode == 0
    for name in ("matching", "simulation", "live", "radio-case", "before", "all"):
        assert name in answer.stdout


def test_mistakes_end_in_one_line() -> None:
    for arguments, said in {
        ("frobnicate",): "No such command 'frobnicate'",
        ("radio-case", "beacons", "--topology", "absent.csv"): "there is no topology at absent.csv",
        ("live", "--only", "nobody"): "nobody is called so",
    }.items():
        answer = benchmarks(*arguments)
        assert answer.returncode == 2
        assert said in answer.stderr
        assert len(answer.stderr.strip().splitlines()) == 1
