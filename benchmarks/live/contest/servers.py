"""Servers of other systems, started for one measurement with a folder of their own and ended after it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from multiprocessing.connection import Listener

import psutil

from benchmarks.live.contest.contender import Server
from thyme.model.errors import InputError

START_S = 10.0
LOOK_S = 0.02
END_S = 5.0


def free_port() -> int:
    """A free port."""
    with Listener(("127.0.0.1", 0)) as found:
        return int(found.address[1])


def lacking(program: str, client: str) -> str:
    """Which of a server and its client for Python are not installed."""
    absent = [] if shutil.which(program) or shutil.which(program, path="/usr/sbin") else [program]
    if find_spec(client) is None:
        absent.append(f"the Python package of {client}")
    return " and ".join(absent)


@contextmanager
def served(command: Sequence[str], port: int) -> Iterator[Server]:
    """A server that listens on a port of loopback, while this is entered."""
    program = shutil.which(command[0]) or shutil.which(command[0], path="/usr/sbin") or command[0]
    process = subprocess.Popen([program, *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield Server(f"127.0.0.1:{port}", process.pid)
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and process.poll() is None:
        found = psutil.Process(process.pid).net_connections("tcp")
        if any(one.laddr and one.laddr.port == port and one.status == psutil.CONN_LISTEN for one in found):
            return
        time.sleep(LOOK_S)
    raise InputError(f"{process.args!r} does not listen on port {port}; try it by hand")
