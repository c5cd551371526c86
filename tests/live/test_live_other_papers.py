"""DRIP, SocialCast and walks live: three processes in a line over UDP, the very classes that the simulator runs.

With SocialCast the one in the middle is near the subscriber all the time, says so, and becomes the carrier.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-W", "error", "-c", "from thyme.cli.node import app; app()", "start"]
PATIENCE_S = 120.0
QUICK = {
    "drip": {
        "brokers": "3", "likely_brokers": "1", "copies": "1", "regions.bootstrap_s": "1.0", "regions.period_s": "0.5",
        "regions.life_s": "2.5", "bridges.status_s": "0.5", "cooperation.exchange_s": "0.5",
    },
    "socialcast": {"period_s": "0.3"},
    "walks": {"settle_s": "3.0"},
}  # fmt: skip


class Node:
    """A node in a process of its own."""

    def __init__(self, approach: str, *arguments: str) -> None:
        settings = [word for key, value in QUICK[approach].items() for word in ("--set", f"{key}={value}")]
        self.process = subprocess.Popen(
            [*COMMAND, "--json", "--store", "memory", "--approach", approach, *settings, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._patience = threading.Timer(PATIENCE_S, self.process.kill)
        self._patience.start()
        self.said: list[str] = []
        self.address = self.next()["address"]

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def next(self) -> dict[str, Any]:
        """The next answer."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert self.process.stderr is not None
        assert line, f"ended: {self.process.stderr.read()}, after {self.said}"
        self.said.append(line)
        answer: dict[str, Any] = json.loads(line)
        assert "error" not in answer, answer
        return answer

    def leave(self) -> str:
        _, told = self.process.communicate("quit\n", timeout=60.0)
        assert self.process.returncode == 0
        return told

    def close(self) -> None:
        self._patience.cancel()
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@contextmanager
def running(approach: str, *arguments: str) -> Iterator[Node]:
    node = Node(approach, *arguments)
    try:
        yield node
    finally:
        node.close()


@pytest.mark.parametrize("approach", QUICK)
def test_three_processes_in_a_line_notify_and_hand_over_contents(approach: str, tmp_path: Path) -> None:
    with ExitStack() as stack:
        middle = stack.enter_context(running(approach, "--id", "2"))
        ends = ["--peer", middle.address, "--only-peers"]
        left = stack.enter_context(running(approach, "--id", "1", *ends))
        right = stack.enter_context(running(approach, "--id", "3", *ends))
        for node in (middle, left, right):
            assert node.next()["joined"]
        right.say('sub "goal & !replay" --future')
        assert right.next()["query"] == "goal & !replay"
        left.say('put slow --tags goal,replay --text "again"')
        assert left.next()["key"] == "slow@1"
        left.say('put kick --tags goal --text "3-3!"')
        assert left.next()["key"] == "kick@1"
        assert right.next()["object"]["key"] == "kick@1", "what does not match is not notified"
        right.say(f"get kick@1 -o {tmp_path / 'kick'}")
        assert right.next()["size_bytes"] == 4
        assert [node.leave() for node in (left, right, middle)] == ["", "", ""]
