"""Spark Connect: which server, what it must have, and what is said when something is wrong. What a server gives is
tried in tests/study/test_connect_server.py."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.pipeline.spark import connect
from thyme.pipeline.spark.connect import call, check_packages, check_version, shown, why_not_connected
from thyme.pipeline.spark.driver import Equipped, cores_of, is_elsewhere
from thyme.pipeline.watch.stream import watch_once
from thyme.pipeline.watch.windows import WatchOptions

WORKER_FAILED = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "serializers.py", line 180, in _read_with_length
ModuleNotFoundError: No module named 'msgspec'
"""
OTHER_PYTHON = """(org.apache.spark.api.python.PythonException) pyspark.errors.exceptions.base.PySparkRuntimeError:
[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11, PySpark cannot run
with different minor versions."""
IMPORTED_BY_TASKS = """
import sys
import thyme.pipeline.runs.simulations, thyme.pipeline.posts.source, thyme.pipeline.metrics.runs, thyme.sim.run
import thyme.pipeline.traces.trace
print(*{name.partition(".")[0] for name in sys.modules})
"""


@pytest.fixture
def _spoken() -> None:
    pytest.importorskip("grpc", reason="the extra `connect` is not installed, by which Spark Connect is spoken")


@pytest.mark.usefixtures("_spoken")
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("sc://", "Hostname is missing"),
        ("sc://host:port", "Port could not be cast to integer"),
        ("sc://host:99999", "Port out of range"),
        ("sc://host:15002/database", "path component '/database' must be empty"),
        ("sc://host:15002/;token", "Parameter 'token' should be provided as a key-value pair"),
    ],
)
def test_what_is_no_address_of_a_server_is_told(address: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as wrong:
        call(address)
    assert str(wrong.value).startswith(f"--master {shown(address)}: not the address of a Spark Connect server (")
    assert str(wrong.value).endswith("); expected sc://HOST:PORT")
    assert "\n" not in str(wrong.value)


@pytest.mark.usefixtures("_spoken")
def test_a_server_that_nobody_runs_is_told_at_once_and_without_its_token() -> None:
    with pytest.raises(InputError) as wrong:
        call("sc://127.0.0.1:1/;token=secret;use_ssl=true")
    assert str(wrong.value) == "--master sc://127.0.0.1:1: no Spark Connect server answers at 127.0.0.1:1"


def test_what_has_to_be_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "PACKAGES", {"nothing_of_grpc": "grpcio", "os": "os", "none.rpc": "protos"})
    with pytest.raises(InputError, match=r"needs grpcio, protos, which this Python lacks; .*thyme-crowd\[connect\]"):
        check_packages("sc://host")


def test_another_version_of_spark_is_refused_but_for_the_last_number() -> None:
    check_version("sc://host", "4.3.7", "4.3.0")
    with pytest.raises(
        InputError, match=r"^--master sc://host: the server runs Spark 4\.2\.1 and this is PySpark 4\.3"
    ):
        check_version("sc://host/;token=secret", "4.2.1", "4.3.0")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (WORKER_FAILED, "the server's Python cannot run Thyme's tasks (No module named 'msgspec'); start the server"),
        (OTHER_PYTHON, "tasks (Python in worker has different version: 3.10 than that in driver: 3.11, PySpark cannot"),
        ("one\ntwo", "one"),
        ("", "RuntimeError"),
    ],
)
def test_a_page_of_an_error_becomes_one_line(error: str, told: str) -> None:
    line = why_not_connected(RuntimeError(error))
    assert told in line
    assert "\n" not in line


def test_workers_are_asked_for_all_that_tasks_import() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED_BY_TASKS], capture_output=True, text=True, check=True)
    imported = set(done.stdout.split())
    asked = set(connect.WORKERS_NEED)
    needed = {"msgspec", "networkx", "numba", "numpy", "nacl", "pandas", "pyarrow", "scipy", "psutil"}
    needed |= {"platformdirs", "matplotlib", "PIL", "starlette", "typer", "rich", "segno", "uvicorn"}
    assert imported & needed <= asked


def test_a_crowd_is_not_watched_through_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^--master sc://host:15002: a crowd cannot be watched through Spark Connect"):
        watch_once(tmp_path, WatchOptions(), "sc://host:15002/;token=secret")
    monkeypatch.setenv("SPARK_REMOTE", "sc://other")
    with pytest.raises(InputError, match="sc://other"):
        watch_once(tmp_path, WatchOptions())


def test_a_driver_in_this_process_is_asked_itself(spark: SparkSession) -> None:
    assert not is_elsewhere(spark)
    assert cores_of(spark) == 2


def test_a_task_finds_where_stores_are_and_leaves_no_trace_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "there")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    seen = []

    def look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen.append((os.environ["AWS_REGION"], os.environ["AWS_ENDPOINT_URL"]))
        yield from batches

    here = {"AWS_REGION": "here", "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    assert list(Equipped(here, look)(iter([]))) == []
    assert seen == [("here", "http://127.0.0.1:1")]
    assert os.environ["AWS_REGION"] == "there"
    assert "AWS_ENDPOINT_URL" not in os.environ
