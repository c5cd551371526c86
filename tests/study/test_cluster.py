"""A standalone cluster on loopback gives what a session on this machine gives, byte for byte.

A master and a worker are started as Spark's own classes, as docs/cluster.md does it, and stopped at the end. The job on
the cluster runs in a process of its own, in a folder that the worker's processes are not in.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from small_study import Finished, contents
from spark_processes import JOB_PATIENCE_S, QUICK_JAVA, around_java, free_port, run_program, running, write_posts

from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.spark.archive import PROGRAM as SUBMITTED
from thyme.pipeline.spark.archive import SUBMITTED_SOURCE

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


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    ports = [free_port() for _ in range(3)]
    url = f"spark://127.0.0.1:{ports[0]}"
    place = ["--host", "127.0.0.1"]
    room = ["--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "worker")]
    commands = [
        ["org.apache.spark.deploy.master.Master", *place, "--port", str(ports[0]), "--webui-port", str(ports[1])],
        ["org.apache.spark.deploy.worker.Worker", *place, "--webui-port", str(ports[2]), *room, url],
    ]
    with ExitStack() as processes:
        for number, command in enumerate(commands):
            processes.enter_context(running(command, ports[0], tmp_path / f"spark-{number}.log"))
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
