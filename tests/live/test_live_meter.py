"""The medium that emulated devices share, and what their meters take messages for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from thyme.live.emulation.area import AirOptions, Medium, MediumOptions
from thyme.live.emulation.meter import purpose_of
from thyme.live.emulation.use_case import UseCaseOptions, play_use_case
from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.wire import codec
from thyme.wire.cells import CellAnswer, CellState, Deleted, DeleteMetadata
from thyme.wire.geographic import CellBroadcast, CellPacket, Heading
from thyme.wire.message import Message
from thyme.wire.signing import CHARGING
from thyme.wire.storage import PartRequest

CHANNEL = MediumOptions(rate_mbps=8.0, frame_s=0.001, frame_bytes=1_000, passes=2, queue_s=0.05)
KEY = ObjectKey("photo", NodeId(3))
HERE = CellId(0)


def test_datagrams_take_turns_on_the_channel_and_what_would_wait_too_long_is_lost() -> None:
    medium = Medium(CHANNEL)
    assert medium.turn_s(0.0, 0, 1, 1_000) == pytest.approx(0.004)
    assert medium.turn_s(0.0, 1, 0, 2_500) == pytest.approx(0.004 + 2 * (3 * 0.001 + 0.0025))
    medium.turn_s(0.0, 2, 0, 20_000)
    assert medium.turn_s(0.0, 3, 0, 10) is None
    assert medium.busy_s == pytest.approx(0.015 + 2 * (20 * 0.001 + 0.02))
    assert medium.turn_s(1.0, 3, 0, 1_000) == pytest.approx(0.004)


def test_copies_of_a_broadcast_take_the_channel_once() -> None:
    medium = Medium(CHANNEL)
    first = medium.turn_s(0.0, 0, 1, 1_000)
    assert [medium.turn_s(0.0005, 0, to, 1_000) for to in (2, 3)] == pytest.approx([0.0035, 0.0035])
    assert medium.busy_s == first
    medium.turn_s(0.0006, 0, 2, 1_000)
    assert medium.busy_s == pytest.approx(0.008), "a second datagram to one peer is no copy"
    medium.turn_s(0.1, 0, 3, 1_000)
    assert medium.busy_s == pytest.approx(0.012), "nor is one that comes later"


def test_a_channel_without_a_rate_has_room_for_everything() -> None:
    medium = Medium(MediumOptions())
    assert [medium.turn_s(0.0, 0, 1, 1_000_000) for _ in range(10)] == [0.0] * 10


def packet(inner: Message, signed: bool = False) -> CellPacket:
    payload = CHARGING.encode(inner) if signed else codec.encode(inner)
    return CellPacket(NodeId(1), CellId(1), 7, (Heading(HERE),), 0, True, payload)


def test_a_message_says_what_it_is_for() -> None:
    delete = DeleteMetadata(1, KEY)
    assert purpose_of(packet(delete), "") == (("processing", "delete"), True)
    assert purpose_of(packet(delete, signed=True), "insert") == (("processing", "delete"), True)
    assert purpose_of(packet(PartRequest(1, KEY, 0, 100)), "") == (("processing", "retrieve"), True)
    changed = CellBroadcast(HERE, HERE, codec.encode(CellState(deleted=(Deleted(HERE, KEY),))))
    assert purpose_of(changed, "") == (("maintaining", "delete"), True)
    answer = packet(CellAnswer(1, HERE))
    assert purpose_of(answer, "subscribe") == (("issuing", "subscribe"), False)
    assert purpose_of(answer, "") == (("running", ""), False), "nothing is waited for"
    assert purpose_of(CellBroadcast(HERE, HERE, b"?"), "insert") == (("running", ""), False)


def test_a_use_case_needs_two_cells_with_somebody_in_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="two cells need at least 2 nodes"):
        play_use_case(UseCaseOptions(1, AirOptions(80.0, 40.0)), tmp_path / "crowd")


@pytest.mark.long
def test_devices_in_a_closed_loop_are_metered_and_an_orphaned_object_is_found(tmp_path: Path) -> None:
    air = AirOptions(80.0, 40.0, loss=0.0, medium=MediumOptions(rate_mbps=54.0))
    options = UseCaseOptions(4, air, seconds=2.0, idle_s=0.2, pause_s=0.2, sizes=(2_000,))
    played, logs = play_use_case(options, tmp_path / "crowd")
    assert len(logs) == 4
    issued = {name for account in played.used.values() for name in account.tallies if name.startswith("issuing/")}
    assert {"issuing/insert", "issuing/subscribe"} <= issued
    assert any(name.startswith("processing/") for account in played.used.values() for name in account.tallies)
    idle = {name for account in played.idle.values() for name in account.tallies}
    assert not any(name.startswith("issuing/") for name in idle), "nobody has asked for anything yet"
    assert [one.failure for one in played.fetched] == [""] * 5
    assert played.orphaned is not None
    assert played.orphaned.failure == ""


LIMITS = """
import resource
from thyme.live.emulation.stage import allow_crowd
from thyme.model.errors import InputError
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 1_500))
allow_crowd(4)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
allow_crowd(32)
print(resource.getrlimit(resource.RLIMIT_NOFILE))
try:
    allow_crowd(64)
except InputError as error:
    print(error)
"""


def test_a_crowd_gets_the_open_files_that_it_needs_or_says_that_it_cannot() -> None:
    said = subprocess.run([sys.executable, "-c", LIMITS], check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [
        "(256, 1500)",
        "(1220, 1500)",
        "4,388 open files are needed and 1,500 allowed (ulimit -Hn); start fewer nodes",
    ]
