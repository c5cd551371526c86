"""Spark's own processes on loopback, started as docs/guides/cluster.md does it and stopped at the end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyspark

from thyme.pipeline.spark.java import find_java

PATIENCE_S = 120.0
JOB_PATIENCE_S = 900.0
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
POST = '{{"id_str": "{number}", "created_at": "2016-07-10T20:00:{number:02d}Z", "text": "#goal {number}", '
POST += '"user": {{"screen_name": "u{number}"}}, "entities": {{"hashtags": [{{"text": "goal"}}]}}}}\n'


def write_posts(folder: Path) -> Path:
    """Twenty posts with one tag."""
    (folder / "posts.jsonl").write_text("".join(POST.format(number=number) for number in range(20)))
    return folder / "posts.jsonl"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def around_java() -> dict[str, str]:
    """The environment of Spark's own programs."""
    return os.environ | {
        "JAVA_HOME": str(find_java().home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JDK_JAVA_OPTIONS": QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }


@contextmanager
def running(command: Sequence[str], port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a Spark class, from when it answers at its port. `spark-class` becomes the Java process, so that
    is what is stopped in the end."""
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    with log.open("wb") as told:
        started = subprocess.Popen([spark_class, *command], env=around_java(), cwd=log.parent, stdout=told, stderr=told)
    try:
        deadline_s = time.monotonic() + PATIENCE_S
        while not _answers(port):
            assert started.poll() is None, log.read_text()
            assert time.monotonic() < deadline_s, log.read_text()
            time.sleep(0.1)
        yield started
    finally:
        started.terminate()
        try:
            started.wait(timeout=PATIENCE_S)
        finally:
            started.kill()


def run_program(command: Sequence[str], folder: Path, **environment: str) -> str:
    """What a program printed that ended well."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=JOB_PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _answers(port: int) -> bool:
    with socket.socket() as caller:
        caller.settimeout(1.0)
        return caller.connect_ex(("127.0.0.1", port)) == 0
