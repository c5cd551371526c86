"""Backups, and what earlier versions wrote: stores, keys and invitations are still read."""

from __future__ import annotations

import asyncio
import tarfile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from thyme.cli.node import app
from thyme.live import Node
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError

SAMPLE = Path(__file__).parents[1] / "data" / "upgrades" / "stores-0.1.tar.gz"
"""Two stores, of LS and of DCS, and three invitations, written by version 0.1 before its stores and links changed."""
PATIENCE_S = 60.0
CELL = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.1, "settle_s": 0.1}
SETTINGS: dict[str, dict[str, Any]] = {"ls": {"join": {"wait_s": 0.1}}, "dcs": CELL}
FILM = bytes(range(256)) * 800


async def use_old_store(folder: Path, approach: str) -> int:
    """What version 0.1 stored is found, retrieved and subscribed to; the node's id."""
    given: dict[str, Any] = {"approach": approach, "settings": SETTINGS[approach], "listen": "127.0.0.1:0"}
    async with asyncio.timeout(PATIENCE_S), Node(store=folder, **given) as node:
        await node.device.joined.wait()
        assert sorted(each.key.oid for each in node.known()) == ["film", "kick"]
        assert sorted(each.key.oid for each in await node.find("goal")) == ["film", "kick"]
        assert await node.retrieve(f"film@{node.id}") == FILM
        assert await node.retrieve(f"kick@{node.id}") == b"a photo"
        (goals,) = node.subscriptions()
        await node.insert("new", b"x", ["goal"])
        assert (await anext(goals)).key.oid == "new"
        with pytest.raises(InputError, match="not used again"):
            await node.insert("gone", b"x", ["goal"])
        return node.id


@pytest.mark.parametrize(("approach", "number"), [("ls", 7112311411193822590), ("dcs", 8341881321982807695)])
def test_a_store_of_version_0_1_is_read(approach: str, number: int, tmp_path: Path) -> None:
    with tarfile.open(SAMPLE) as tar:
        tar.extractall(tmp_path, filter="data")
    assert asyncio.run(use_old_store(tmp_path / approach, approach)) == number


def test_invitations_of_version_0_1_are_read(tmp_path: Path) -> None:
    with tarfile.open(SAMPLE) as tar:
        tar.extractall(tmp_path, filter="data")
    final, stage, yard = map(Namespace.invited, (tmp_path / "invitations.txt").read_text().split())
    assert (final.name, final.closed, final.approach) == ("the final", True, "dcs")
    assert final.settings == {"grid": {"width_m": 80.0}}
    assert (stage.name, stage.closed) == ("stage", True)
    assert yard == Namespace.open("yard")


def test_a_node_goes_on_where_its_backup_is_restored(tmp_path: Path) -> None:
    archive = tmp_path / "thyme.tar.gz"

    def thyme(*arguments: str) -> str:
        done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    async def first() -> int:
        given: dict[str, Any] = {"approach": "ls", "settings": SETTINGS["ls"], "listen": "127.0.0.1:0"}
        async with asyncio.timeout(PATIENCE_S), Node(store=tmp_path / "one", **given) as node:
            await node.device.joined.wait()
            await node.insert("kick", b"a photo", ["goal"])
            await node.insert("film", FILM, ["goal"])
            await node.insert("gone", b"x", ["goal"])
            await node.delete("gone")
            goals = await node.subscribe("goal")
            assert {(await anext(goals)).key.oid for _ in range(2)} == {"kick", "film"}
            with pytest.raises(InputError, match="in use by another node"):
                thyme("backup", str(archive), "--store", str(tmp_path / "one"))
            assert not archive.exists()
            return node.id

    number = asyncio.run(first())
    assert "keep it safe" in thyme("backup", str(archive), "--store", str(tmp_path / "one"))
    assert archive.stat().st_mode & 0o777 == 0o600
    thyme("restore", str(archive), "--store", str(tmp_path / "two"))
    assert asyncio.run(use_old_store(tmp_path / "two", "ls")) == number
    for wrong, said in (
        (("restore", str(archive), "--store", str(tmp_path / "two")), "is not empty"),
        (("restore", str(SAMPLE), "--store", str(tmp_path / "three")), "is not a backup of a node"),
        (("backup", str(archive), "--store", str(tmp_path / "none")), "contains no node key"),
    ):
        with pytest.raises(InputError, match=said):
            thyme(*wrong)
    assert not (tmp_path / "three").exists()
