"""The command language and its reports."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from thyme.live import Node
from thyme.live.node.operations.given import parse_key
from thyme.live.shell import reports
from thyme.live.shell.commands import MAX_COMMAND_CHARS, PARSERS, parse_command, parse_number
from thyme.live.shell.shell import Shell
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey

QUICK = {"join": {"wait_s": 0.01, "tries": 1}, "echo": {"timeout_s": 0.05, "retries": 0}}


def played(*lines: str) -> list[reports.Report]:
    """What a lone node reports when it is told these."""
    told: list[reports.Report] = []

    async def run() -> None:
        async with asyncio.timeout(60.0), Node(1, settings=QUICK) as node:
            shell = Shell(node, told.append)
            shell.begin()
            await node.device.joined.wait()
            for line in lines:
                assert await shell.run(line)
            assert not await shell.run("quit")
            await shell.end()

    asyncio.run(run())
    return [report for report in told if not isinstance(report, (reports.Listening, reports.Joined))]


def test_a_person_sees_their_own_objects_come_and_go() -> None:
    told = played(
        "subscribe goal",
        'insert first "a goal, a goal!" --tags goal,portugal',
        "retrieve first@1",
        "list",
        "delete first",
        "",
    )
    subscribed, notified, inserted, retrieved, listed, deleted = told
    assert isinstance(subscribed, reports.Subscribed)
    assert isinstance(notified, reports.Notified)
    assert (notified.object, notified.summary) == ("first@1", "a goal, a goal!")
    assert inserted == reports.Inserted("first@1", ("goal", "portugal"), 15)
    assert retrieved == reports.Retrieved("first@1", 15, "a goal, a goal!")
    assert listed == reports.Listed(("first@1",), {subscribed.subscription: "goal"}, {})
    assert deleted == reports.Deleted("first@1")
    assert all(report.line() for report in told)


def test_files_are_inserted_and_kept(tmp_path: Path) -> None:
    source, copy = tmp_path / "in.bin", tmp_path / "out.bin"
    source.write_bytes(b"\xff\x00\xfe")
    told = played(
        f"insert clip --tags goal --file {source}",
        "retrieve clip@1",
        f"retrieve clip@1 --to {copy}",
        f"insert other --tags goal --file {tmp_path / 'missing'}",
    )
    assert copy.read_bytes() == b"\xff\x00\xfe"
    assert told[1] == reports.Retrieved("clip@1", 3, None)
    assert isinstance(told[3], reports.Failed)
    assert "No such file" in told[3].message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("dance", "there is no command 'dance'"),
        ('insert "unclosed', "no closing quotation"),
        ("insert photo --tags goal", "expected a text or --file PATH"),
        ("insert photo text --tags goal --file x", "one of them"),
        ("insert photo text", "--tags"),
        ("insert photo text --tags ,", "no tags"),
        ("subscribe goal --past --future", "not allowed with"),
        ('subscribe "goal &"', "expected a tag"),
        ("retrieve photo", "expected NAME@NODE"),
        ("retrieve photo@2", "was not notified of photo@2"),
        ("more x", "expected its number"),
        ("unsubscribe 5", "no subscription 5"),
        ("list everything", "unrecognized arguments: everything"),
    ],
)
def test_what_is_wrong_with_a_command_is_said_in_one_line(line: str, message: str) -> None:
    (told,) = played(line)
    assert isinstance(told, reports.Failed)
    assert message in told.message
    assert "\n" not in told.line()


def test_help_names_every_command() -> None:
    (told,) = played("help")
    assert all(name in told.line() for name in PARSERS if name != "help")


def test_reports_are_json_objects_with_their_event() -> None:
    report = reports.Deleted("photo@1")
    assert msgspec.json.decode(msgspec.json.encode(report)) == {"event": "deleted", "object": "photo@1"}


def test_keys_and_numbers_are_read_as_they_are_shown() -> None:
    assert parse_key("a@b@7") == ObjectKey("a@b", NodeId(7))
    assert parse_number("12@3") == parse_number("12") == 12
    with pytest.raises(InputError, match="at most"):
        parse_command("x" * (MAX_COMMAND_CHARS + 1))
