"""Starting a daemon in the background: a process of its own, which writes to a log file and outlives the terminal."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from thyme.live.daemon.client import Client, NoDaemon
from thyme.live.views import StatusView
from thyme.model.errors import InputError

PROGRAM = "from thyme.cli.main import run; run()"
START_S = 30.0
"""Startup timeout of a node, for a slow and busy device."""
LOOK_S = 0.05
SHOWN_BYTES = 2_000
"""Of the end of its log, when it did not start."""


def start(arguments: Sequence[str], control: Path, log: Path) -> StatusView:
    """Run `thyme` with these arguments in the background; how its node is, once it answers."""
    with suppress(NoDaemon):
        running = Client(control).status()
        raise InputError(f"node {running.node} is already running ({control}); stop it with: thyme node stop")
    log.parent.mkdir(parents=True, exist_ok=True)
    before = log.stat().st_size if log.exists() else 0
    with log.open("ab") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    give_up_s = time.monotonic() + START_S
    while time.monotonic() < give_up_s and process.poll() is None:
        try:
            return Client(control).status()
        except NoDaemon:
            time.sleep(LOOK_S)
    if process.poll() is None:
        process.terminate()
    with log.open("rb") as file:
        file.seek(max(before, log.stat().st_size - SHOWN_BYTES))
        said = file.read().decode("utf-8", "replace").strip()
    last = said.splitlines()[-1].removeprefix("thyme: ") if said else "it said nothing"
    raise InputError(f"the node did not start: {last} (its full output: {log})")
