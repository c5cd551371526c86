"""A standalone cluster on loopback gives what a session on this machine gives, byte for byte.

A master and a worker are started as Spark's own classes, as docs/cluster.md does it, and stopped at the end. The job on
the cluster runs in a process of its own, in a folder that the worker's processes are not in.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from small_study import Finished

from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.spark.archive import PROGRAM as SUBMITTED
from thyme.pipeline.spark.archive import SUBMITTED_SOURCE
from thyme.pipeline.spark.java import find_java

PATIENCE_S = 120.0
JOB_PATIENCE_S = 900.0
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
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
POST = '{{"id_str": "{number}", "created_at": "2016-07-10T20:00:{number:02d}Z", "text": "#goal {number}", '
POST += '"user": {{"screen_name": "u{number}"}}, "entities": {{"hashtags": [{{"text": "goal"}}]}}}}\n'


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _answers(port: int) -> bool:
    with socket.socket() as caller:
        caller.settimeout(1.0)
        return caller.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = os.environ | {
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    ports = [str(_free_port()) for _ in range(3)]
    url = f"spark://127.0.0.1:{ports[0]}"
    place = ["--host", "127.0.0.1"]
    room = ["--cores", "2", "--memory", "1g", "--work-dir", str(tmp_path / "worker")]
    commands = [
        ["org.apache.spark.deploy.master.Master", *place, "--port", ports[0], "--webui-port", ports[1]],
        ["org.apache.spark.deploy.worker.Worker", *place, "--webui-port", ports[2], *room, url],
    ]
    processes = []
    try:
        for number, command in enumerate(commands):
            with (tmp_path / f"spark-{number}.log").open("wb") as log:
                # `spark-class` becomes the Java process, so that is what is stopped in the end.
                started = subprocess.Popen([str(spark_class), *command], env=environment, stdout=log, stderr=log)
            processes.append(started)
            deadline_s = time.monotonic() + PATIENCE_S
            while not _answers(int(ports[0])):
                assert started.poll() is None, (tmp_path / f"spark-{number}.log").read_text()
                assert time.monotonic() < deadline_s
                time.sleep(0.1)
        yield url
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(timeout=PATIENCE_S)


def test_a_cluster_gives_what_this_machine_gives(
    spark: SparkSession, finished: Finished, master: str, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    (away / "posts.jsonl").write_text("".join(POST.format(number=number) for number in range(20)))
    for name in (finished.file.name, "trace.csv"):
        (away / name).write_text((finished.file.parent / name).read_text())
    environment = os.environ | {"PYTHONHASHSEED": "7", "JDK_JAVA_OPTIONS": QUICK_JAVA}
    command = [sys.executable, "-c", PROGRAM, master]
    done = subprocess.run(
        command, cwd=away, env=environment, capture_output=True, text=True, check=False, timeout=JOB_PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "20"

    assert ingest(spark, [str(away / "posts.jsonl")], tmp_path / "posts").posts == 20
    there, here = (sorted(map(str, spark.read.parquet(str(folder / "posts")).collect())) for folder in (away, tmp_path))
    assert there == here
    for pattern in ("metrics.csv", "runs/*/events.parquet", "figures/*.svg"):
        found = {
            folder: {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.glob(pattern))}
            for folder in (away / "out", finished.out)
        }
        assert found[away / "out"] == found[finished.out]
        assert found[finished.out]


@pytest.mark.spark
def test_what_spark_submit_says_is_what_spark_does(master: str, tmp_path: Path) -> None:
    (tmp_path / SUBMITTED).write_text(SUBMITTED_SOURCE)
    (tmp_path / "posts.jsonl").write_text("".join(POST.format(number=number) for number in range(20)))
    (tmp_path / "log").mkdir()
    told = {
        "spark.sql.shuffle.partitions": "3",
        "spark.task.maxFailures": "5",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": (tmp_path / "log").as_uri(),
    }
    environment = os.environ | {
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    submit = str(Path(pyspark.__file__).parent / "bin" / "spark-submit")
    command = [submit, "--master", master, *(f"--conf={key}={value}" for key, value in told.items()), SUBMITTED]
    command += ["posts", "ingest", "posts.jsonl", "--out", "posts", "--conf", "spark.speculation.quantile=0.8"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=JOB_PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert "20 posts written" in done.stdout
    (log,) = (tmp_path / "log").glob("*/events_*")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    *_, settings = (one["Spark Properties"] for one in events if one["Event"] == "SparkListenerEnvironmentUpdate")
    wanted = told | {"spark.master": master, "spark.speculation.quantile": "0.8", "spark.sql.session.timeZone": "UTC"}
    assert {key: settings[key] for key in wanted} == wanted
