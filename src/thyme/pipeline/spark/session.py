"""The one way to a Spark session.

A session on this machine, one on a cluster and one on a Spark Connect server (`spark.connect`) differ in their master
only; the package travels to the executors by itself. Settings of Thyme's are defaults: what `spark-submit`,
`spark-defaults.conf` or `--conf` say goes before them (`spark.given`). Whatever Spark and its Java print goes to a log
file of this process (`spark_log`), so that a person sees our progress and not theirs; if Spark does not start, the
error says why in one line and names it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
from pyspark import SparkConf
from pyspark.sql import SparkSession

from thyme.drafts import write_file
from thyme.model.errors import InputError
from thyme.pipeline.spark.connect import connect, is_remote
from thyme.pipeline.spark.driver import tell_workers
from thyme.pipeline.spark.given import (
    MASTER,
    REMOTE,
    REMOTE_VARIABLE,
    asked_settings,
    chosen_master,
    given_settings,
    is_submitted,
)
from thyme.pipeline.spark.java import cache_folder, describe_java, find_java, ready_classes
from thyme.pipeline.spark.shipping import package_archive
from thyme.pipeline.spark.start_failures import call_masters, why_not_started

MIN_LOCAL_PARTITIONS = 8
PARTITION_BYTES = "16m"
"""What one task of a shuffle takes at least, if there is so much; Spark's own choice is one task per core and more."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
QUERIES, WAREHOUSE = "spark.sql.", "spark.sql.warehouse.dir"
"""What a session may choose by itself, and the one thing among it that it may not."""
TASK_ATTEMPTS = 2
"""How often a cluster tries a task whose process was lost; a local session tries it once."""
LOCAL_MEMORY_SHARE = 4
"""A local session may take one part in so many of the machine's memory, within the bounds below; Java takes it only
as it needs it. With 2 GB, five million posts did not become a trace."""
MIN_LOCAL_MEMORY_MB, MAX_LOCAL_MEMORY_MB = 1_024, 8_192
HASTY_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Start and first query took 12 s of CPU time with it, 19 s without."""
CALM_JAVA = (
    "-XX:+UseParallelGC -XX:Tier4InvocationThreshold=80000 -XX:Tier4MinInvocationThreshold=20000 "
    "-XX:Tier4CompileThreshold=200000 -XX:Tier4BackEdgeThreshold=1600000"
)
"""Java's thorough compiler takes only what runs far more often than it would ask for by itself: of a trace of two
million posts that Spark alone makes, 15 s of processor time beside 28 s of work; without this, and with more passes
over the posts, it took 33 s beside 37 s."""
HASTY_SPARK = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Compiling a query, or planning it anew after each of its stages, takes longer than some ten thousand rows do."""
BRIEF_BYTES, STEADY_BYTES = 20_000_000, 200_000_000
"""Up to so much input, queries are not worth compiling; from so much on, Java's thorough compiler pays."""
PACKED = 4
"""A dataset of posts takes about so much less room than the same posts as lines of JSON."""
LOGGING = """rootLogger.level = error
rootLogger.appenderRef.file.ref = errors
appender.errors.type = Console
appender.errors.name = errors
appender.errors.target = SYSTEM_ERR
appender.errors.layout.type = PatternLayout
appender.errors.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""

__all__ = ["brief_work", "describe_java", "spark_log", "spark_session", "steady_java", "suited_to"]


def spark_session(app: str, master: str = "", **more: str) -> SparkSession:
    """The session of this process, started on first use; without a master, where Spark was told to run, or else here.
    `more` are settings by their Spark names that suit the work at hand, unless somebody has made them otherwise.

    A local session starts quickly and suits small data, as Java then compiles in haste; with `**steady_java()` it
    takes its time, which pays from some hundred thousands of rows on, and with `**brief_work()` it does not even
    compile queries.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    given = given_settings()
    master = chosen_master(master, given)
    defaults = _defaults(app, is_local(master)) | more
    if is_remote(master):
        chosen = {key: value for key, value in defaults.items() if key.startswith(QUERIES) and key != WAREHOUSE}
        return connect(master, chosen, asked_settings(), package_archive())
    settings = defaults | given | {MASTER: master}
    settings.pop(REMOTE, None)
    if is_local(master) and not is_submitted() and JAVA_OPTIONS not in given:
        settings[JAVA_OPTIONS] += f" {ready_classes(find_java())}"
    _prepare_environment(settings)
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        with _stderr_to(spark_log()):
            call_masters(conf, master)
            session = SparkSession.Builder().config(conf=conf).getOrCreate()
    except Exception as error:
        told = spark_log().read_text(errors="replace").splitlines() if spark_log().exists() else []
        raise InputError(
            f"Spark did not start with master {master}: {why_not_started(error, told)} "
            f"({'Java of spark-submit' if is_submitted() else describe_java()}; log: {spark_log()})"
        ) from error
    atexit.register(_drop_quiet_log)
    tell_workers(session)
    if not is_local(master):
        session.sparkContext.addPyFile(str(package_archive()))
    return session


def is_local(master: str) -> bool:
    """Whether Spark runs within one process of this machine."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _prepare_environment(settings: Mapping[str, str]) -> None:
    """What Java and Python of Spark find around them when they start; what is there stays."""
    os.environ.setdefault("PYSPARK_PYTHON", settings.get("spark.pyspark.python", sys.executable))
    os.environ.pop(REMOTE_VARIABLE, None)  # another place was chosen, or it named this machine
    if is_submitted():
        return
    os.environ["JAVA_HOME"] = str(find_java().home)
    if is_local(settings[MASTER]) or "127.0.0.1" in settings[MASTER]:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", HASTY_JAVA)


def spark_log() -> Path:
    """Where Spark and Java of this process write what they have to say."""
    return Path(tempfile.gettempdir()) / f"thyme-spark-{os.getuid()}-{os.getpid()}.log"


def local_memory_mb() -> int:
    """How much memory Java may take where Spark runs on this machine."""
    whole_mb = psutil.virtual_memory().total // 2**20
    return max(MIN_LOCAL_MEMORY_MB, min(MAX_LOCAL_MEMORY_MB, whole_mb // LOCAL_MEMORY_SHARE))


def _drop_quiet_log() -> None:
    """A log that tells of no error is not worth keeping."""
    log = spark_log()
    if log.exists() and " ERROR " not in log.read_text(errors="replace"):
        log.unlink()


def steady_java() -> dict[str, str]:
    """Settings for long work on much data: Java compiles thoroughly what it runs often."""
    return {JAVA_OPTIONS: f"{_java_basics()} {CALM_JAVA}"}


def _java_basics() -> str:
    logging = cache_folder() / "log4j2.properties"
    _write_if_changed(logging, LOGGING)
    return f"-Dlog4j2.configurationFile={logging.as_uri()} -Duser.timezone=UTC"


def brief_work() -> dict[str, str]:
    """Settings for work on few rows: nothing is compiled that runs only once."""
    return {JAVA_OPTIONS: f"{_java_basics()} {HASTY_JAVA}", **HASTY_SPARK}


def suited_to(size_bytes: int) -> dict[str, str]:
    """Settings for work on an input of this size, of a dataset `PACKED` times its own."""
    if size_bytes <= BRIEF_BYTES:
        return brief_work()
    return steady_java() if size_bytes >= STEADY_BYTES else {}


def _defaults(app: str, local: bool) -> dict[str, str]:
    settings = {
        JAVA_OPTIONS: _java_basics(),
        "spark.app.name": app,
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
        "spark.sql.adaptive.advisoryPartitionSizeInBytes": PARTITION_BYTES,
        WAREHOUSE: str(Path(tempfile.gettempdir()) / f"thyme-warehouse-{os.getuid()}"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if not local:
        settings["spark.task.maxFailures"] = str(TASK_ATTEMPTS)
    if local:
        settings[JAVA_OPTIONS] += f" {HASTY_JAVA}"
        settings |= {
            "spark.sql.shuffle.partitions": str(max(MIN_LOCAL_PARTITIONS, 2 * (os.cpu_count() or 1))),
            "spark.driver.memory": f"{local_memory_mb()}m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        }
    return settings


def _write_if_changed(path: Path, text: str) -> None:
    if not path.exists() or path.read_text() != text:
        write_file(path, text.encode())


@contextlib.contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """While this lasts, new processes inherit the log as their standard error; Java keeps it for its life."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(target, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)
