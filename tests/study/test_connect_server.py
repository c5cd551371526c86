"""A Spark Connect server on loopback gives what a session on this machine gives: posts, traces, events and
metrics.

The server prefers another time zone and other rules than results are made by, as any team's may; its Python is this
one, in a folder without Thyme. The job runs in a process of its own that has no Java.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from small_study import Finished, contents
from spark_processes import free_port, run_program, running, write_posts

from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.schemas import POSTS
from thyme.pipeline.spark import dataset
from thyme.pipeline.traces.trace import TraceOptions, write_trace

pytest.importorskip("grpc", reason="the extra `connect` is not installed, by which Spark Connect is spoken")

DEALT = TraceOptions(users=8, authors="deal")
OTHERWISE = {
    "spark.sql.session.timeZone": "Asia/Tokyo",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "true",
    "spark.driver.extraJavaOptions": "-Duser.timezone=Pacific/Auckland",
    "spark.sql.shuffle.partitions": "3",
    "spark.ui.enabled": "false",
}
PROGRAM = """
import sys
from pathlib import Path
from thyme.model.errors import InputError
from thyme.pipeline.posts.ingest import ingest
from thyme.pipeline.schemas import POSTS
from thyme.pipeline.spark import dataset, given
from thyme.pipeline.spark.driver import cores_of, is_elsewhere, stop
from thyme.pipeline.spark.session import brief_work, spark_session
from thyme.pipeline.traces.trace import TraceOptions, write_trace
from thyme.study.definition import load_study
from thyme.study.study import run_study

master = sys.argv[1]
given.ask(["spark.executor.memory=7g"])
try:
    spark_session("refused", master)
except InputError as error:
    print(error)
given.ask(["spark.sql.adaptive.enabled=false", "spark.master=local[2]"])
spark = spark_session("connect", master, **brief_work())
print(is_elsewhere(spark), cores_of(spark), spark.conf.get("spark.sql.shuffle.partitions"))
print(sorted((key, spark.conf.get(key.removeprefix("spark.hadoop."))) for key in given.asked_settings()))
print(ingest(spark, ["posts.jsonl"], Path("posts")).posts)
posts = dataset.read(spark, Path("posts"), POSTS)
write_trace(posts, TraceOptions(users=8, authors="deal"), Path("trace"))
run_study(load_study(Path("small.toml")), Path("out"), master)
stop(spark)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    binding = {"spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    settings = [f"--conf={key}={value}" for key, value in (OTHERWISE | binding).items()]
    service = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    command = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", *settings, *service]
    with running(command, port, tmp_path / "server.log"):
        yield f"sc://127.0.0.1:{port}/;user_agent=secret"


def test_a_server_gives_what_this_machine_gives(
    spark: SparkSession, finished: Finished, server: str, tmp_path: Path
) -> None:
    away = tmp_path / "away"
    away.mkdir()
    posts = write_posts(away)
    for name in (finished.file.name, "trace.csv"):
        (away / name).write_text((finished.file.parent / name).read_text())
    (away / "program.py").write_text(PROGRAM)
    told = run_program(["program.py", server], away, JAVA_HOME="/nowhere", PYTHONHASHSEED="7")
    refused, kind, settings, number = told.splitlines()
    assert refused.startswith("--conf spark.executor.memory=7g: a Spark Connect server is started with this setting")
    assert kind == "True 2 3"
    assert "('spark.sql.ansi.enabled', 'true'), ('spark.sql.caseSensitive', 'false')" in settings
    assert "('spark.sql.session.timeZone', 'UTC')" in settings
    assert "page.verify-checksum.enabled', 'true')" in settings
    assert number == "20"

    assert ingest(spark, [str(posts)], tmp_path / "posts").posts == 20
    read = dataset.read(spark, tmp_path / "posts", POSTS)
    write_trace(read, DEALT, tmp_path / "trace")
    for name in ("posts", "posts/_rejected", "trace"):
        assert _rows(away / name).equals(_rows(tmp_path / name)), name
    for pattern in ("metrics.csv", "runs/*/events.parquet", "figures/*.svg"):
        assert contents(away / "out", pattern) == contents(finished.out, pattern) != {}
    report = (away / "out" / "report.html").read_text()
    assert server.partition("/;")[0] in report
    assert "secret" not in report


def _rows(folder: Path) -> pa.Table:
    """In the order of their first column: a post's id, an operation's number."""
    files = (file for file in folder.rglob("*.parquet") if file.parent.name == folder.name or "=" in file.parent.name)
    table = pa.concat_tables(pq.ParquetFile(file).read() for file in files)
    return table.sort_by(table.column_names[0])
