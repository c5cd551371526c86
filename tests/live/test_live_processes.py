"""Three live nodes in three processes, in a line: one inserts, another is notified, the third retrieves."""

from __future__ import annotations

import json
import os
import pty
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from thyme.cli.node import app
from thyme.live.node.logs.log import read_log
from thyme.model.records import EVENT_COLUMNS

PATIENCE_S = 120.0
COMMAND = [sys.executable, "-W", "error", "-c", "from thyme.cli.node import app; app()", "start"]
QUICK_JOIN = ["--set", "join.wait_s=0.2", "--set", "join.delay_s=0.05"]


class Process:
    """A node in a process of its own, driven by its standard input and output."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *QUICK_JOIN, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._reports: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.seen: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def wait_for(self, event: str) -> dict[str, Any]:
        """The next report of this kind; others are kept in `seen`."""
        while True:
            report = self._reports.get(timeout=PATIENCE_S)
            assert report is not None, f"the node ended before {event!r}; it said {self.seen}"
            self.seen.append(report)
            if report["event"] == event:
                return report
            assert report["event"] != "failed", report

    def leave(self, number: int | None = None) -> str:
        """Ask it to leave, by a signal or by `quit`; what it wrote to standard error."""
        if number is None:
            self.say("quit")
        else:
            self._process.send_signal(number)
        assert self._process.wait(PATIENCE_S) == 0
        assert self._process.stderr is not None
        return self._process.stderr.read()

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._reports.put(json.loads(line))
        self._reports.put(None)


@contextmanager
def running(*arguments: str) -> Iterator[Process]:
    process = Process(*arguments)
    try:
        yield process
    finally:
        process.close()


def test_three_processes_in_a_line_share_an_object(tmp_path: Path) -> None:
    with ExitStack() as stack:
        middle = stack.enter_context(running("--id", "2", "--log", str(tmp_path / "two.jsonl")))
        address = middle.wait_for("listening")["address"]
        ends = ["--peer", address, "--only-peers"]
        left = stack.enter_context(running("--id", "1", *ends, "--log", str(tmp_path / "one.jsonl")))
        right = stack.enter_context(running("--id", "3", *ends, "--log", str(tmp_path / "three.parquet")))
        for process in (middle, left, right):
            process.wait_for("joined")

        middle.say('subscribe "goal & !replay" --future')
        middle.wait_for("subscribed")
        text = "Pavlidis scores! " * 200
        left.say(f'insert photo --tags "#Goal, Benfica" --summary "1-0" "{text}"')
        assert left.wait_for("inserted")["object"] == "photo@1"
        notified = middle.wait_for("notified")
        assert (notified["object"], notified["summary"], notified["tags"]) == ("photo@1", "1-0", ["benfica", "goal"])

        right.say("subscribe benfica --past")
        assert right.wait_for("notified")["object"] == "photo@1"
        right.say("list")
        assert list(right.wait_for("listed")["neighbours"]) == ["2"], "the ends of the line never hear each other"
        right.say(f"retrieve photo@1 --to {tmp_path / 'photo.txt'}")
        assert right.wait_for("retrieved")["size_bytes"] == len(text)
        assert (tmp_path / "photo.txt").read_text() == text

        assert left.leave(signal.SIGTERM) == ""
        assert middle.leave(signal.SIGINT) == ""
        assert right.leave() == ""

    names = [name for name, _ in EVENT_COLUMNS]
    third = pq.read_table(tmp_path / "three.parquet")
    assert third.column_names == names
    rows = third.to_pylist()
    assert [(row["name"], row["object"]) for row in rows if row["kind"] == "issued"] == [
        ("subscribe", ""),
        ("retrieve", "photo@1"),
    ]
    assert [row["object"] for row in rows if row["kind"] == "notified"] == ["photo@1"]
    second = read_log(tmp_path / "two.jsonl")
    assert second.column_names == names
    forwarded = [row for row in second.to_pylist() if row["kind"] == "forwarded" and row["name"] != "Flooded"]
    assert sum(row["count"] for row in forwarded) > 0, "what went from one end to the other went over the middle"


def test_in_a_terminal_there_is_a_prompt_and_text_for_people() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--id", "1"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        shown = b""
        for line, answer in (("", b"1> "), ("dance", b"error: there is no command"), ("quit", b"node 1 left")):
            os.write(ours, line.encode() + b"\n")
            while answer not in shown:
                assert select.select([ours], [], [], PATIENCE_S)[0], shown
                shown += os.read(ours, 4_096)
        assert process.wait(PATIENCE_S) == 0
        assert b"node 1 (ls) listens on 127.0.0.1:" in shown
        assert b"{" not in shown
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(PATIENCE_S)
        os.close(ours)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--listen", "nowhere"], "--listen 'nowhere': expected host:port"),
        (["--peer", "127.0.0.1"], "--peer '127.0.0.1': expected host:port"),
        (["--approach", "carrier-pigeons"], "there is no approach 'carrier-pigeons'"),
        (["--set", "join.patience=3"], "there is no key 'settings.join.patience'"),
        (["--log", "events.csv"], "expected a name that ends in .jsonl or .parquet"),
    ],
)
def test_what_a_person_got_wrong_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = CliRunner().invoke(app, ["start", "--id", "1", *arguments])
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_in_use_is_one_line_and_exit_code_2() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = subprocess.run(
            [*COMMAND, "--id", "1", "--listen", address],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == f"thyme: cannot listen on {address}: the port is in use; choose another or stop who has it\n"
