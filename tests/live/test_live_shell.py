"""The shell of a live node: the verbs of the command line, typed at the node itself."""

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
from thyme.cli.verbs import objects_table
from thyme.live.node.logs.log import read_log
from thyme.live.views import ObjectView
from thyme.model.records import EVENT_COLUMNS

PATIENCE_S = 120.0
COMMAND = [sys.executable, "-W", "error", "-c", "from thyme.cli.node import app; app()", "start"]
QUICK_JOIN = ["--set", "join.wait_s=0.2", "--set", "join.delay_s=0.05", "--store", "memory"]


class Process:
    """A node in a process of its own, driven by its standard input and output."""

    def __init__(self, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [*COMMAND, *QUICK_JOIN, "--json", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def next(self) -> dict[str, Any]:
        answer = self._answers.get(timeout=PATIENCE_S)
        assert answer is not None, "the node ended"
        return answer

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
            self._answers.put(json.loads(line))
        self._answers.put(None)


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
        address = middle.next()["address"]
        ends = ["--peer", address, "--only-peers"]
        left = stack.enter_context(running("--id", "1", *ends, "--log", str(tmp_path / "one.jsonl")))
        right = stack.enter_context(running("--id", "3", *ends, "--log", str(tmp_path / "three.parquet")))
        left.next()
        right.next()
        for process in (middle, left, right):
            assert process.next()["joined"]

        middle.say('sub "goal & !replay" --future')
        assert middle.next()["query"] == "goal & !replay"
        text = "Pavlidis scores! " * 200
        left.say(f'put photo --tags "#Goal, Benfica" --summary "1-0" --text "{text}"')
        assert left.next()["key"] == "photo@1"
        found = middle.next()["object"]
        assert (found["key"], found["summary_text"], found["tags"]) == ("photo@1", "1-0", ["benfica", "goal"])

        right.say("sub benfica --past")
        assert right.next()["query"] == "benfica"
        assert right.next()["object"]["key"] == "photo@1"
        right.say("peers")
        assert right.next()["node"] == "2", "the ends of the line never hear each other"
        right.say(f"get photo@1 -o {tmp_path / 'photo.txt'}")
        assert right.next()["size_bytes"] == len(text)
        assert (tmp_path / "photo.txt").read_text() == text

        assert left.leave(signal.SIGTERM) == ""
        assert middle.leave(signal.SIGINT) == "", "although a subscription goes on"
        assert right.leave() == ""

    names = [name for name, _ in EVENT_COLUMNS]
    third = pq.read_table(tmp_path / "three.parquet")
    assert third.column_names == names
    rows = third.to_pylist()
    issued = [(row["name"], row["object"]) for row in rows if row["kind"] == "issued"]
    assert issued[:1] == [("subscribe", "")]
    assert ("retrieve", "photo@1") in issued
    assert [row["object"] for row in rows if row["kind"] == "notified"] == ["photo@1"]
    second = read_log(tmp_path / "two.jsonl")
    assert second.column_names == names
    forwarded = [row for row in second.to_pylist() if row["kind"] == "forwarded" and row["name"] != "Flooded"]
    assert sum(row["count"] for row in forwarded) > 0, "what went from one end to the other went over the middle"


def test_files_texts_and_mistakes_are_answered_in_one_line_each(tmp_path: Path) -> None:
    source, copy = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(b"\xff\x00\xfe")
    with running("--id", "1") as node:
        node.next()
        assert node.next()["joined"]
        node.say(f"put {source} --tags goal --name clip")
        assert node.next()["key"] == "clip@1"
        node.say(f"get clip -o {copy}")
        assert node.next() == {"key": "clip@1", "file": str(copy), "size_bytes": 3}
        assert copy.read_bytes() == b"\xff\x00\xfe"
        for line, message in [
            ("dance", "there is no command 'dance'"),
            ('put "unclosed', "no closing quotation"),
            ("put photo --text text", "--tags"),
            ("put photo --text text --tags ,", "no tags"),
            (f"put {tmp_path / 'missing'} --tags goal", "No such file"),
            ("sub goal --past --future", "give one or the other"),
            ('sub "goal &"', "expected a tag"),
            ("get photo", "that this node knows of"),
            ("get photo@2", "that this node knows of"),
            ("ls everything else", "unexpected extra argument"),
            ("x" * 100_001, "at most 100000 are read"),
        ]:
            node.say(line)
            assert message.lower() in node.next()["error"]["message"].lower()
        node.say("rm clip")
        assert node.next() == {"deleted": "clip@1"}
        assert node.leave() == ""


def test_in_a_terminal_there_is_a_prompt_and_text_for_people() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "--id", "1", "--store", "memory"], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        shown = b""
        for line, answer in (
            ("", b"1> "),
            ("help", b"put     Store"),
            ("dance", b"error: there is no command"),
            ("quit", b"node 1 left"),
        ):
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


def test_names_and_summaries_of_others_cannot_drive_the_terminal() -> None:
    evil = ObjectView(
        "\x1b]0;x\x07\x1b[31mred@1",
        "red",
        "1",
        "\x1b[2J",
        False,
        ("a\tb",),
        "",
        "\x1b[5mblink\r\nfake",
        0.0,
        None,
        1,
        (),
    )
    shown = objects_table([evil])
    assert all(character.isprintable() for character in shown)
    assert "·]0;x··[31mred@1" in shown


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
    assert done.stderr == f"thyme: cannot listen on {address}: the port is in use; choose another or stop its program\n"
