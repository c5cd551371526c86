"""Another program fills the disk of a node: new contents are refused, and everything else goes on."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PATIENCE_S = 120.0
PROGRAM = """
import asyncio, sys
import thyme

async def tried(what, doing):
    try:
        await asyncio.wait_for(doing, 20)
        print(what, "ok")
    except thyme.InputError as error:
        print(what, "refused:", str(error).partition(" is full")[2])

async def main(folder):
    quick = {"settings": {"join": {"wait_s": 0.1}}}
    disk = {"reserve_bytes": 1_000_000, "spare_bytes": 500_000}
    async with thyme.Node(1, store=folder + "/store", disk=disk, **quick) as a:
        async with thyme.Node(2, store="memory", peers=[a.address], **quick) as b:
            await a.device.joined.wait()
            await b.device.joined.wait()
            await b.subscribe("goal")
            for i in range(3):
                await a.insert(f"o{i}", bytes([i]) * 30_000, ["goal"])
            with open(folder + "/fill", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            await tried("delete", a.delete("o2"))
            await tried("insert", a.insert("n1", bytes(30_000), ["goal"]))
            await tried("others retrieve", b.retrieve("o1@1"))
            await tried("others subscribe", b.subscribe("other"))
            await tried("subscribe", a.subscribe("other"))
            await tried("others find", b.find("goal"))
            import os
            os.unlink(folder + "/fill")
            await asyncio.sleep(1.0)
            await tried("insert again", a.insert("n2", bytes(30_000), ["goal"]))

asyncio.run(main(sys.argv[1]))
"""


def test_a_disk_that_another_program_filled_refuses_contents_and_nothing_else(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("a small disk needs a mount namespace")
    inner = f'mount -t tmpfs -o size=16M tmpfs {tmp_path} && exec "$0" -c "$1" {tmp_path}'
    command = ["unshare", "-rm", "sh", "-c", inner, sys.executable, PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.stdout.splitlines() == [
        "delete ok",
        "insert refused: ; free some space, or delete objects of this node (thyme rm NAME)",
        "others retrieve ok",
        "others subscribe ok",
        "subscribe ok",
        "others find ok",
        "insert again ok",
    ], done.stderr
    assert "no new contents until there is room again" in done.stderr
