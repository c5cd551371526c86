"""A session starts on any machine, with its own Java if need be, and keeps quiet."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from thyme.pipeline.spark.session import describe_java, local_memory_mb, spark_session

TOOLS = ["bash", "cat", "chmod", "dirname", "env", "grep", "mkdir", "ps", "rm", "sed", "sh", "tr", "uname"]
PROGRAM = """
import pyarrow as pa
import pyarrow.compute as pc
from thyme.pipeline.spark.arrow import map_arrow
from thyme.pipeline.spark.session import describe_java, spark_session
print(describe_java())
spark = spark_session("hidden", "local[1]")
def twice(batches):
    for batch in batches:
        yield pa.record_batch([pc.multiply(batch["id"], 2)], ["id"])
frame = spark.range(10)
frame = map_arrow(frame, twice, frame.schema)
frame.write.parquet({path!r})
print(sum(row.id for row in spark.read.parquet({path!r}).collect()))
spark.stop()
"""


@pytest.mark.spark
def test_without_any_java_the_packaged_one_runs_spark_and_nothing_else_is_printed(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        found = next((Path(d) / name for d in ("/usr/bin", "/bin") if (Path(d) / name).exists()), None)
        if found is not None:
            (tools / name).symlink_to(found)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in {"JAVA_HOME", "PATH"} and not name.startswith(("SPARK", "PYSPARK"))
    }
    environment |= {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(path=str(tmp_path / "numbers"))],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    java, total = done.stdout.splitlines()
    assert "packaged" in java
    assert java.startswith("Java 25")
    assert total == "90"
    assert done.stderr == ""


def test_a_process_has_one_session_in_utc(spark: SparkSession) -> None:
    assert spark_session("another") is spark
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    shown = spark.range(1).select(sf.lit(0).cast("timestamp").cast("string").alias("epoch")).first()
    assert shown is not None
    assert shown.epoch == "1970-01-01 00:00:00"


def test_the_java_in_use_is_named() -> None:
    assert describe_java().startswith("Java ")


def test_a_local_session_may_take_a_share_of_the_memory_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    for gigabytes, expected_mb in ((2, 1024), (16, 4096), (256, 8192)):
        machine = SimpleNamespace(total=gigabytes * 2**30)
        monkeypatch.setattr("psutil.virtual_memory", lambda machine=machine: machine)
        assert local_memory_mb() == expected_mb
