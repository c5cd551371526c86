"""What a device has lost of what it kept for others is told, and comes back from those others."""

from __future__ import annotations

import asyncio
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from thyme.live import Node
from thyme.live.store.database import NAME
from thyme.live.store.files import FOLDER

PATIENCE_S = 60.0
SETTINGS = {
    "grid": {"width_m": 40.0, "height_m": 40.0},
    "join_wait_s": 0.3,
    "settle_s": 0.2,
    "repair_s": 0.5,
    "copies": 0,  # every member keeps contents of any size
}
CONTENT = bytes(range(256)) * 200


def options(folder: Path, number: int) -> dict[str, Any]:
    return {"approach": "dcs", "settings": SETTINGS, "position": (10.0 * number, 20.0), "store": folder / str(number)}


async def until(true: Any) -> None:
    while not true():
        await asyncio.sleep(0.05)


def test_a_member_of_a_cell_gets_back_what_its_disk_has_lost(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with Node(1, **options(tmp_path, 1)) as one:
            await one.device.joined.wait()
            async with Node(2, peers=[one.address], **options(tmp_path, 2)) as two:
                await two.device.joined.wait()
                await until(lambda: one.device.neighbours() and one.device.approach.cell.others)  # type: ignore[attr-defined]
                metadata = await one.insert("photo", CONTENT, ["goal"])
                await until(lambda: two.device.host.store.size(str(metadata.key)) == len(CONTENT))
                await two.device.host.durable()
                copytree(tmp_path / "2", tmp_path / "killed")
            rmtree(tmp_path / "2")  # who leaves in order gives away what it keeps for others
            (tmp_path / "killed").rename(tmp_path / "2")
            (file,) = (tmp_path / "2" / FOLDER).iterdir()
            file.write_bytes(bytes(len(CONTENT)))
            async with Node(2, peers=[one.address], **options(tmp_path, 2)) as two:
                await two.device.joined.wait()
                assert await two.retrieve(metadata) == CONTENT
                await until(lambda: two.device.host.store.size(str(metadata.key)) == len(CONTENT))
            (tmp_path / "2" / NAME).write_bytes(b"this was a database once" * 1_000)
            async with Node(2, peers=[one.address], **options(tmp_path, 2)) as two:
                await two.device.joined.wait()
                await until(lambda: two.device.host.store.size(str(metadata.key)) == len(CONTENT))
                assert await two.retrieve(metadata) == CONTENT

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await scene()

    asyncio.run(run())
    assert "the content of photo@1 is damaged" in caplog.text
    assert "cannot be read" in caplog.text
