"""Devices that were told nothing keep what they share: two of three are killed, and the third has it all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from thyme.live.daemon.client import Client, NoDaemon

PROGRAM = [sys.executable, "-c", "from thyme.cli.main import run; run()"]
PATIENCE_S = 60.0

pytestmark = pytest.mark.long


def until(true: Callable[[], bool], what: str) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up_s:
        try:
            if true():
                return
        except NoDaemon:
            pass
        time.sleep(0.05)
    raise AssertionError(what)


class Device:
    """A device of its own key, started as a person starts it, with nothing said about how to share."""

    def __init__(self, folder: Path, peers: list[str]) -> None:
        self.client = Client(folder.with_suffix(".sock"))
        given = ["node", "start", "--service", "--control", str(self.client.path), "--store", str(folder)]
        listen = ["--listen", "127.0.0.1:0", *(word for peer in peers for word in ("--peer", peer))]
        self.process = subprocess.Popen([*PROGRAM, *given, *listen], stdout=subprocess.DEVNULL)

    def ready(self, peers: int) -> bool:
        state = self.client.status()
        return state.joined and state.peers == peers

    def held(self) -> int:
        return next((each.count for each in self.client.status().held if each.name == "objects"), 0)


def test_an_object_survives_its_publisher_and_one_more_device(tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"3-3!")
    large.write_bytes(os.urandom(100_000))
    devices: list[Device] = []
    try:
        for name in ("anna", "berta", "clara"):
            devices.append(Device(tmp_path / name, [each.client.status().address for each in devices]))
            until(lambda: devices[-1].ready(len(devices) - 1), "a device did not come up")
        anna, berta, clara = devices
        assert clara.client.status().approach == "dcs"
        for file in (small, large):
            with file.open("rb") as data:
                anna.client.insert(data, file.stat().st_size, file.name, ["goal"])
        until(lambda: berta.held() == clara.held() == 2, "the others do not keep both objects")
        for device in (anna, berta):
            device.process.kill()
            device.process.wait()
        found = {each.name: each.key for each in clara.client.found("goal")}
        assert set(found) == {"small", "large"}
        for file in (small, large):
            clara.client.retrieve_to(found[file.name], tmp_path / "copy")
            assert (tmp_path / "copy").read_bytes() == file.read_bytes()
    finally:
        for device in devices:
            device.process.kill()
            device.process.wait()
