"""A standalone cluster on loopback gives what a session on this machine gives, byte for byte.

A master and a worker are started as Spark's own classes, as docs/guides/cluster.md does it, and stopped at the end.
The job on the cluster runs in a process of its own, in a folder that the worker's processes are not in.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from small_study import Finished, contents
from spark_processes import JOB_PATIENCE_S, QUICK_JAVA, around_java, free_port, run_program, running, write_posts

from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.spark.archive import PROGRAM as SUBMITTED
from thyme.pipeline.spark.archive import SUBMITTED_SOURCE, needed_distributions, write_archive

PROGRAM = """
import sys
from pathlib import Path
from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.spark.session import spark_session
from thyme.study.definition import load_study
from thyme.study.study import run_study
master = sys.argv[1]
spark = spark_session("cluster", master)
print(ingest(spark, ["posts.jsonl"], Path("posts")).posts)
run_study(load_study(Path("small.toml")), Path("out"), master)
"""

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

print(SparkSession.builder.getOrCreate().sparkContext.parallelize([1], 1).mapPartitions(where).collect()[0])
"""


@contextmanager
def cluster(folder: Path, workers: int, cores: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and its workers; its address, and the processes of the workers."""
    port, page = free_port(), free_port()
    url = f"spark://127.0.0.1:{port}"
    place = ["--host", "127.0.0.1"]
    room = ["--cores", str(cores), "--memory", "1g", "--work-dir", str(folder / "worker")]
    commands = [["org.apache.spark.deploy.master.Master", *place, "--port", str(port), "--webui-port", str(page)]]
    for _ in range(workers):
        commands.append(["org.apache.spark.deploy.worker.Worker", *place, "--webui-port", str(free_port()), *room, url])
    with ExitStack() as processes:
        started = [
            processes.enter_context(running(command, port, folder / f"spark-{number}.log"))
            for number, command in enumerate(commands)
        ]
        yield url, started[1:]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    with cluster(tmp_path, workers=1, cores=2) as (url, _):
        yield url


def test_a_cluster_gives_what_this_machine_gives(
    spark: SparkSession, finished: Finished, master: str, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    write_posts(away)
    for name in (finished.file.name, "trace.csv"):
        (away / name).write_text((finished.file.parent / name).read_text())
    told = run_program(["-c", PROGRAM, master], away, PYTHONHASHSEED="7", JDK_JAVA_OPTIONS=QUICK_JAVA)
    assert told.strip() == "20"

    assert ingest(spark, [str(away / "posts.jsonl")], tmp_path / "posts").posts == 20
    there, here = (sorted(map(str, spark.read.parquet(str(folder / "posts")).collect())) for folder in (away, tmp_path))
    assert there == here
    for pattern in ("metrics.csv", "runs/*/events.parquet", "figures/*.svg"):
        assert contents(away / "out", pattern) == contents(finished.out, pattern) != {}


@pytest.mark.spark
def test_what_spark_submit_says_is_what_spark_does(master: str, tmp_path: Path) -> None:
    (tmp_path / SUBMITTED).write_text(SUBMITTED_SOURCE)
    write_posts(tmp_path)
    (tmp_path / "log").mkdir()
    told = {
        "spark.sql.shuffle.partitions": "3",
        "spark.task.maxFailures": "5",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "log").as_uri(),
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [submit, "--master", master, *(f"--conf={key}={value}" for key, value in told.items()), SUBMITTED]
    command += ["posts", "ingest", "posts.jsonl", "--out", "posts", "--conf", "spark.speculation.quantile=0.8"]
    done = subprocess.run(
        command, cwd=tmp_path, env=around_java(), capture_output=True, text=True, check=False, timeout=JOB_PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert "20 posts written" in done.stdout
    (log,) = (tmp_path / "log").glob("*/events_*")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    *_, settings = (one["Spark Properties"] for one in events if one["Event"] == "SparkListenerEnvironmentUpdate")
    wanted = told | {"spark.master": master, "spark.speculation.quantile": "0.8", "spark.sql.session.timeZone": "UTC"}
    assert {key: settings[key] for key in wanted} == wanted


@pytest.mark.spark
def test_a_study_whose_worker_is_killed_gives_what_this_machine_gives(finished: Finished, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.mkdir()
    for name in (finished.file.name, "trace.csv"):
        (away / name).write_text((finished.file.parent / name).read_text())
    with cluster(tmp_path, workers=2, cores=1) as (url, workers):
        command = [sys.executable, "-c", STUDY_PROGRAM, url]
        environment = os.environ | {"PYTHONHASHSEED": "5", "JDK_JAVA_OPTIONS": QUICK_JAVA}
        with subprocess.Popen(command, cwd=away, env=environment) as study:
            deadline_s = time.monotonic() + JOB_PATIENCE_S
            while not contents(away / "out", "runs/*/events.parquet"):
                assert study.poll() is None
                assert time.monotonic() < deadline_s
                time.sleep(0.01)
            workers[0].kill()
            assert study.wait(JOB_PATIENCE_S) == 0
    for pattern in ("metrics.csv", "runs/*/events.parquet"):
        assert contents(away / "out", pattern) == contents(finished.out, pattern) != {}


@pytest.mark.spark
def test_tasks_import_from_the_archive_that_was_submitted(master: str, tmp_path: Path) -> None:
    archive, _ = write_archive(tmp_path / "dist", needed_distributions("msgspec"))
    (tmp_path / "probe.py").write_text(PROBE)
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [
        submit,
        "--master",
        master,
        "--archives",
        f"{archive}#deps",
        "--conf=spark.executorEnv.PYTHONPATH=./deps",
    ]
    done = subprocess.run(
        [*command, "probe.py"],
        cwd=tmp_path,
        env=around_java(),
        capture_output=True,
        text=True,
        check=False,
        timeout=JOB_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    assert "/deps/msgspec/" in done.stdout.splitlines()[-1]
