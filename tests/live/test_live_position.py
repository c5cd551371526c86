"""Where a device is, from a file that is followed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import thyme
from thyme.cli.node import app
from thyme.live.node.position import LOOK_S, PositionFile, position_of, read_position
from thyme.model.geometry import Point

VENUE = {"grid": {"width_m": 80.0, "height_m": 40.0}, "join_wait_s": 0.05, "beacons": {"period_s": 0.1}}
PATIENCE_S = 30.0


class Alarm:
    def __init__(self, action: Callable[[], None]) -> None:
        self.ring = action

    def cancel(self) -> None:
        """Nobody does."""


def test_a_file_is_followed_when_it_changes_and_nonsense_changes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, placed, alarms = tmp_path / "here", list[tuple[float, float]](), list[Alarm]()

    def after(delay_s: float, action: Callable[[], None]) -> Alarm:
        assert delay_s == LOOK_S
        alarms.append(Alarm(action))
        return alarms[-1]

    def look() -> None:
        alarms[-1].ring()

    path.write_text("1,2\n")
    PositionFile(path, lambda x_m, y_m: placed.append((x_m, y_m)), after).begin()
    look()
    assert placed == []
    path.write_text("12.5, 40\n")
    look()
    look()
    assert placed == [(12.5, 40.0)]
    with caplog.at_level(logging.WARNING, "thyme.live"):
        for nonsense in ("12.", "here", "nan,1,", "nan,111"):
            path.write_text(nonsense)
            look()
        path.unlink()
        look()
    assert len(placed) == 1
    assert len(caplog.records) == 1
    assert "'12.': expected two numbers of metres, such as 12.5,40; the device stays where it was" in caplog.text
    path.write_text("3,4")
    look()
    assert placed[1:] == [(3.0, 4.0)]


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "one,two", "inf,0", "1;2"])
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(thyme.InputError, match=r"such as 12\.5,40"):
        position_of(text)


def test_a_file_that_is_not_there_is_an_error_that_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(thyme.InputError, match="No such file or directory; write X,Y in metres to it"):
        read_position(tmp_path / "nowhere")
    with pytest.raises(thyme.InputError, match="No such file"):
        thyme.Node(1, store="memory", position_file=str(tmp_path / "nowhere"))


def test_a_node_goes_where_its_file_says(tmp_path: Path) -> None:
    async def run() -> None:
        path = tmp_path / "here"
        path.write_text("10,10")
        async with thyme.Node(1, store="memory", approach="dcs", settings=VENUE, position_file=str(path)) as node:
            host = node.device.host
            assert (host.position(), host.moving()) == (Point(10.0, 10.0), False)
            path.write_text("60,10")
            while host.position() != Point(60.0, 10.0):
                await asyncio.sleep(0.02)
            assert host.moving()

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_place_and_a_file_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("1,1")
    given = ["start", "--id", "1", "--at", "1,1", "--position-file", str(tmp_path / "here")]
    said = CliRunner().invoke(app, given)
    assert said.exit_code == 2
    assert "--position-file one that changes; give only one of them" in said.output
    with pytest.raises(thyme.InputError, match="are both given; give only one"):
        thyme.Node(1, store="memory", position=Point(1.0, 1.0), position_file=str(tmp_path / "here"))
