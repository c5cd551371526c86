"""SocialCast live: three processes in a line over UDP, the very classes that the simulator runs.

The one in the middle is near the subscriber all the time, says so, becomes the carrier and hands the message on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

COMMAND = [sys.executable, "-W", "error", "-c", "from thyme.cli.node import app; app()", "start"]
QUICK = ["--approach", "socialcast", "--set", "period_s=0.3"]


class Node:
    """A node in a process of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *QUICK, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = self.wait_for("listening")["address"]

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next report of this kind."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            report: dict[str, Any] = json.loads(line)
            if report["event"] == event:
                return report
            assert report["event"] != "failed", report
        assert self.process.stderr is not None
        raise AssertionError(f"ended before {event!r}: {self.process.stderr.read()}")

    def leave(self) -> str:
        _, told = self.process.communicate("quit\n", timeout=60.0)
        assert self.process.returncode == 0
        return told


@contextmanager
def running(*arguments: str) -> Iterator[Node]:
    node = Node(*arguments)
    try:
        yield node
    finally:
        if node.process.poll() is None:
            node.process.kill()
            node.process.communicate()


def test_a_carrier_in_the_middle_brings_a_message_to_the_subscriber() -> None:
    with ExitStack() as stack:
        middle = stack.enter_context(running("--id", "2"))
        ends = ["--peer", middle.address, "--only-peers"]
        left = stack.enter_context(running("--id", "1", *ends))
        right = stack.enter_context(running("--id", "3", *ends))
        for node in (middle, left, right):
            node.wait_for("joined")
        right.say('subscribe "goal & !replay" --future')
        right.wait_for("subscribed")
        left.say('insert slow --tags goal,replay "again"')
        left.wait_for("inserted")
        left.say('insert kick --tags goal "3-3!"')
        assert left.wait_for("inserted")["object"] == "kick@1"
        assert right.wait_for("notified")["object"] == "kick@1", "what does not match is not notified"
        right.say("retrieve kick@1")
        assert right.wait_for("retrieved")["size_bytes"] == 4
        assert [node.leave() for node in (left, right, middle)] == ["", "", ""]
