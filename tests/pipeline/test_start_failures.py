"""A Spark that does not start says why in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thyme.pipeline.spark.start_failures import NoMasterError, master_addresses, told_by, why_not_started

PAGE = """An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.
: org.apache.spark.SparkException: Invalid master URL: spark://
\tat org.apache.spark.util.Utils$.extractHostPortFromSparkUrl(Utils.scala:2473)
Caused by: java.net.URISyntaxException: Expected authority at index 8: spark://
\t... 21 more
"""


def test_a_page_of_java_becomes_the_first_and_the_last_message() -> None:
    told = why_not_started(RuntimeError(PAGE), [])
    assert told == "Invalid master URL: spark://; Expected authority at index 8: spark://"
    assert told_by("nothing of Java in here") == ""


def test_what_only_the_log_tells_is_found_there() -> None:
    log = [
        "WARNING: whatever",
        'Exception in thread "main" org.apache.spark.SparkException: Master must be yarn',
        "\tat x",
    ]
    assert (
        why_not_started(RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"), log) == "Master must be yarn"
    )
    assert "no Spark master" in why_not_started(RuntimeError("stopped"), ["ERROR X: All masters are unresponsive! …"])
    assert why_not_started(RuntimeError("one\ntwo"), []) == "one"
    assert why_not_started(NoMasterError("nobody answers"), ["ERROR"]) == "nobody answers"


@pytest.mark.parametrize(
    ("master", "addresses"),
    [
        ("spark://127.0.0.1:7077", [("127.0.0.1", 7077)]),
        ("spark://one:7077,two:7078", [("one", 7077), ("two", 7078)]),
        ("spark://one", []),
        ("spark://one:x", []),
        ("spark://one:70770", []),
        ("spark://", []),
    ],
)
def test_addresses_of_masters(master: str, addresses: list[tuple[str, int]]) -> None:
    assert master_addresses(master) == addresses


@pytest.mark.spark
def test_a_master_that_nobody_runs_is_one_line_and_exit_2(tmp_path: Path) -> None:
    program = [
        sys.executable,
        "-c",
        "from thyme.cli.main import run; run()",
        "posts",
        "describe",
        str(tmp_path),
        "--master",
    ]
    done = subprocess.run([*program, "spark://127.0.0.1:1"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "master spark://127.0.0.1:1: nobody answers at 127.0.0.1:1 (Connection refused)" in line
    assert done.stdout == ""
