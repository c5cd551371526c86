"""Why Spark did not start, in one line for the person who asked for it.

Spark gives up on a master that nobody answers for after a minute, with a page of Java; so the masters of a standalone
cluster are called first, by the same Java that would talk to them. Whatever else goes wrong is told by the message of
the exception that Java ended with and of the one that caused it; the rest is in Spark's log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark import SparkConf, SparkContext

CALL_PATIENCE_S = 5.0
"""How long one master may take to answer."""
MAX_REASON_CHARS = 300
STANDALONE = "spark://"

_EXCEPTION = re.compile(r"(?:^|[\s:])[\w.$]+(?:Exception|Error): (?P<message>.+)")


class NoMasterError(Exception):
    """Nobody listens at any address of a standalone cluster."""


def call_masters(conf: SparkConf, master: str) -> None:
    """Raise `NoMasterError` if no master of a standalone cluster can be connected to; others are left to Spark."""
    if not master.startswith(STANDALONE):
        return
    addresses = master_addresses(master)
    SparkContext._ensure_initialized(conf=conf)
    failures = [_call(SparkContext._jvm, host, port) for host, port in addresses]
    if failures and all(failures):
        raise NoMasterError("; ".join(failures))


def master_addresses(master: str) -> list[tuple[str, int]]:
    """The addresses of `spark://host:port,host:port`; none if that is not how it is written."""
    found = []
    for one in master.removeprefix(STANDALONE).split(","):
        host, separator, port = one.rpartition(":")
        if not separator or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_536:
            return []
        found.append((host, int(port)))
    return found


def _call(java: Any, host: str, port: int) -> str:
    """Connect once; what went wrong, or nothing."""
    socket = java.java.net.Socket()
    try:
        socket.connect(java.java.net.InetSocketAddress(host, port), int(CALL_PATIENCE_S * 1_000))
    except Exception as error:
        return f"nobody answers at {host}:{port} ({told_by(str(error), '') or type(error).__name__})"
    finally:
        socket.close()
    return ""


def why_not_started(error: Exception, log: Sequence[str]) -> str:
    """The reason in one line, from the error that Python saw and the lines of Spark's log."""
    if isinstance(error, NoMasterError):
        return str(error)
    if any("All masters are unresponsive" in line for line in log):
        return "whoever answers there is no Spark master of this version (Spark tried for a minute)"
    return told_by(str(error), "\n".join(log)) or str(error).splitlines()[0][:MAX_REASON_CHARS]


def told_by(*texts: str) -> str:
    """The messages of the first and of the last Java exception in the texts."""
    messages = [found["message"].strip() for text in texts for found in _EXCEPTION.finditer(text)]
    ends = dict.fromkeys([*messages[:1], *messages[-1:]])
    return "; ".join(ends)[:MAX_REASON_CHARS]
