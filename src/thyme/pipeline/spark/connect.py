"""A session on a Spark Connect server (`sc://HOST:PORT`), whose driver is not in this process.

The server was started by somebody else, so most of Spark's settings are its own; what a session may choose is chosen
here, and what results depend on (`given.RESULTS`) is made to hold. Before any work starts, the server is called once,
asked for its version, sent the package, and has one task look around where it is: what is wrong there is told in one
line, and not as the failure of some later stage.
"""

from __future__ import annotations

import atexit
import importlib.util
import logging
import os
import queue
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession

from thyme.extras import install_command
from thyme.model.errors import InputError
from thyme.pipeline.schemas import Columns, arrow_schema, spark_schema
from thyme.pipeline.spark.arrow import map_arrow, no_pandas_advice
from thyme.pipeline.spark.driver import CONNECT_MODE, stop

if TYPE_CHECKING:
    from grpc import Channel

SCHEME = "sc://"
CALL_PATIENCE_S = 10.0
"""How long a server may take to answer a call."""
MAX_REASON_CHARS = 300
PACKAGES = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
}
"""What the extra `connect` installs, by the names that it is imported by."""
WORKERS_NEED = ("msgspec", "networkx", "numba", "numpy", "pandas", "platformdirs", "psutil", "pyarrow", "scipy")
"""What tasks import, besides Spark's own."""
HADOOP = "spark.hadoop."
QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_SEEN: Columns = (("missing", "string"),)
_FIXED = re.compile(r"CANNOT_MODIFY_(?:STATIC_)?CONFIG")
_TELLING = (
    re.compile(r"ModuleNotFoundError: (?P<told>No module named '[\w.]+')"),
    re.compile(r"\[PYTHON_VERSION_MISMATCH\] (?P<told>[^\n]+?)\.?(?: SQLSTATE|\n|$)"),
    re.compile(r'(?P<told>Cannot run program "[^"]+")'),
)


def is_remote(master: str) -> bool:
    return master.startswith(SCHEME)


def shown(master: str) -> str:
    """A master as it may be shown: without what follows its address, such as a token."""
    return master.partition("/;")[0] if is_remote(master) else master


def connect(address: str, defaults: Mapping[str, str], asked: Mapping[str, str], package: Path) -> SparkSession:
    """A session on the server at this address, with the package sent to it. `defaults` are Thyme's settings, which
    the server's own go before; `asked` are a person's and those that results depend on, which have to hold."""
    check_packages(address)
    call(address)
    with no_pandas_advice():
        from pyspark.sql.connect.session import SparkSession as Remote
    for logger in QUERY_LOGGERS:  # what they print is what the exceptions say
        logging.getLogger(logger).disabled = True
    os.environ[CONNECT_MODE] = "1"
    session: SparkSession | None = None
    try:
        session = cast(SparkSession, Remote.Builder().remote(address).create())
        check_version(address, session.version)
        _configure(session, defaults, asked)
        session.addArtifacts(str(package), pyfile=True)
        _look_around(session)
    except BaseException as error:
        if session is not None:
            stop(session)
        os.environ.pop(CONNECT_MODE, None)
        if isinstance(error, InputError) or not isinstance(error, Exception):
            raise
        raise InputError(f"--master {shown(address)}: {why_not_connected(error)}") from error
    atexit.register(stop, session)
    return session


def check_packages(address: str) -> None:
    """InputError unless all is installed that speaks with a server."""
    missing = [package for module, package in PACKAGES.items() if not _is_installed(module)]
    if missing:
        raise InputError(
            f"--master {shown(address)}: Spark Connect needs {', '.join(missing)}, which this Python lacks; "
            f"install Thyme with the extra `connect`: {install_command('connect')}"
        )


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # nor what it would be a part of
        return False


def call(address: str) -> None:
    """InputError unless somebody answers: Spark itself would try for ten minutes."""
    with no_pandas_advice():
        from pyspark.sql.connect.client import DefaultChannelBuilder
    try:
        builder = DefaultChannelBuilder(address)
        endpoint = builder.endpoint
    except ValueError as error:
        told = str(error).removeprefix("[INVALID_CONNECT_URL] ").removeprefix("Invalid URL for Spark Connect: ")
        raise InputError(
            f"--master {shown(address)}: not the address of a Spark Connect server ({told.split('. Please')[0]}); "
            "expected sc://HOST:PORT"
        ) from error
    channel = builder.toChannel()
    try:
        if not _answers(channel):
            raise InputError(f"--master {shown(address)}: no Spark Connect server answers at {endpoint}")
    finally:
        channel.close()


def _answers(channel: Channel) -> bool:
    import grpc

    states: queue.Queue[grpc.ChannelConnectivity] = queue.Queue()
    channel.subscribe(states.put, try_to_connect=True)
    try:
        while (state := states.get(timeout=CALL_PATIENCE_S)) is not grpc.ChannelConnectivity.TRANSIENT_FAILURE:
            if state is grpc.ChannelConnectivity.READY:
                return True
    except queue.Empty:
        pass
    return False


def check_version(address: str, version: str, own: str = pyspark.__version__) -> None:
    """InputError unless the server's Spark is of this version, but for the last number."""
    if version.split(".")[:2] != own.split(".")[:2]:
        raise InputError(
            f"--master {shown(address)}: the server runs Spark {version} and this is PySpark {own}; expected the "
            "same major and minor version"
        )


def _configure(session: SparkSession, defaults: Mapping[str, str], asked: Mapping[str, str]) -> None:
    there = session.conf.getAll
    for key, value in defaults.items():
        if key not in there:
            session.conf.set(key, value)
    for key, value in asked.items():
        # Of what a session sets, Hadoop takes every key as it is.
        name = key.removeprefix(HADOOP)
        try:
            session.conf.set(name, value)
        except Exception as error:
            if not _FIXED.search(str(error)):
                raise
            if there.get(key) != value:
                raise InputError(
                    f"--conf {key}={value}: a Spark Connect server is started with this setting, and no session "
                    "changes it; say it where the server is started"
                ) from error


def _look_around(session: SparkSession) -> None:
    """InputError unless the workers' Python has what tasks need."""
    seen = map_arrow(session.range(1), _look, spark_schema(_SEEN)).toArrow()
    missing = seen["missing"].to_pylist()
    if missing:
        raise ModuleNotFoundError(f"ModuleNotFoundError: No module named '{', '.join(missing)}'")


def _look(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is missing where this runs."""
    rows = sum(batch.num_rows for batch in batches)
    missing = [name for name in WORKERS_NEED if not _is_installed(name)] if rows else []
    yield pa.record_batch([missing], schema=arrow_schema(_SEEN))


def why_not_connected(error: Exception) -> str:
    """The reason in one line."""
    text = str(error)
    for telling in _TELLING:
        found = telling.search(text)
        if found:
            return (
                f"the server's Python cannot run Thyme's tasks ({found['told']}); start the server with "
                "PYSPARK_PYTHON naming a Python of this version that has Thyme's dependencies"
            )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:MAX_REASON_CHARS]
