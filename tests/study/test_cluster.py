"""A standalone cluster on loopback gives what a session on this machine gives, byte for byte.

A master and a worker are started as Spark's own classes, as docs/guides/cluster.md does it, once for all tests. Jobs on
the cluster run in processes of their own, in folders that the worker's processes are not in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from small_study import Finished, contents
from spark_processes import JOB_PATIENCE_S, QUICK_JAVA, around_java, free_port, running, write_posts

from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.spark.archive import needed_distributions, write_archive

ADDRESS = ("--host", "127.0.0.1")
STUDY_PROGRAM = """
import sys
from pathlib import Path
from thyme.study.definition import load_study
from thyme.study.study import run_study
run_study(load_study(Path("small.toml")), Path("out"), sys.argv[1])
"""
PROBE = """
from pyspark.sql import SparkSession

def where(rows):
    import msgspec
    return [msgspec.__file__]

try:
    exec(compile({submitted!r}, "thyme_submit.py", "exec"))
except SystemExit as ended:
    assert not ended.code
print(SparkSession.active().sparkContext.parallelize([1], 1).mapPartitions(where).collect()[0])
"""
"""The program that is submitted, and then where tasks import from."""


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A master and a worker, by the master's address."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    url = f"spark://127.0.0.1:{port}"
    own = ["--port", str(port), "--webui-port", str(free_port())]
    command = ["org.apache.spark.deploy.master.Master", *ADDRESS, *own]
    with running(command, port, folder / "master.log"), worker(url, folder):
        yield url


@contextmanager
def worker(url: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A worker with one core."""
    page, number = free_port(), uuid.uuid4().hex
    room = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"worker-{number}")]
    command = ["org.apache.spark.deploy.worker.Worker", *ADDRESS, "--webui-port", str(page), *room, url]
    with running(command, page, folder / f"worker-{number}.log") as process:
        yield process


@pytest.mark.spark
def test_what_spark_submit_says_is_what_spark_does(spark: SparkSession, master: str, tmp_path: Path) -> None:
    """And a cluster ingests what this machine ingests, with what tasks import from the archive that was submitted."""
    archive, program = write_archive(tmp_path / "dist", needed_distributions("msgspec"))
    (tmp_path / "submit.py").write_text(PROBE.format(submitted=program.read_text()))
    write_posts(tmp_path)
    (tmp_path / "log").mkdir()
    told = {
        "spark.sql.shuffle.partitions": "3",
        "spark.task.maxFailures": "5",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "log").as_uri(),
        "spark.executorEnv.PYTHONPATH": "./deps",
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [submit, "--master", master, *(f"--conf={key}={value}" for key, value in told.items())]
    command += ["--archives", f"{archive}#deps", "submit.py"]
    command += ["posts", "ingest", "posts.jsonl", "--out", "posts", "--conf", "spark.speculation.quantile=0.8"]
    done = subprocess.run(
        command, cwd=tmp_path, env=around_java(), capture_output=True, text=True, check=False, timeout=JOB_PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert "20 posts written" in done.stdout
    assert "/deps/msgspec/" in done.stdout.splitlines()[-1]
    (log,) = (tmp_path / "log").glob("*/events_*")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    *_, settings = (one["Spark Properties"] for one in events if one["Event"] == "SparkListenerEnvironmentUpdate")
    wanted = told | {"spark.master": master, "spark.speculation.quantile": "0.8", "spark.sql.session.timeZone": "UTC"}
    assert {key: settings[key] for key in wanted} == wanted
    assert ingest(spark, [str(tmp_path / "posts.jsonl")], tmp_path / "here").posts == 20
    there, here = (sorted(map(str, spark.read.parquet(str(tmp_path / name)).collect())) for name in ("posts", "here"))
    assert there == here


@pytest.mark.spark
def test_a_study_whose_worker_is_killed_gives_what_this_machine_gives(
    finished: Finished, master: str, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    for name in (finished.file.name, "trace.csv"):
        (away / name).write_text((finished.file.parent / name).read_text())
    with worker(master, tmp_path) as second:
        command = [sys.executable, "-c", STUDY_PROGRAM, master]
        environment = os.environ | {"PYTHONHASHSEED": "5", "JDK_JAVA_OPTIONS": QUICK_JAVA}
        with subprocess.Popen(command, cwd=away, env=environment) as study:
            deadline_s = time.monotonic() + JOB_PATIENCE_S
            while not contents(away / "out", "runs/*/events.parquet"):
                assert study.poll() is None
                assert time.monotonic() < deadline_s
                time.sleep(0.01)
            second.kill()
            assert study.wait(JOB_PATIENCE_S) == 0
    for pattern in ("metrics.csv", "runs/*/events.parquet", "figures/*.svg"):
        assert contents(away / "out", pattern) == contents(finished.out, pattern) != {}
