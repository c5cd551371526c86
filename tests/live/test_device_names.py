"""What people call a device is shown wherever its number is, and never says who a node is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import thyme
from thyme.cli.node import app
from thyme.cli.verbs import objects_table
from thyme.live.link.greetings import Introduction, unpack_introduction
from thyme.live.trust.device_names import device_name_of, kept_name, unpacked_name
from thyme.live.views import object_view, peer_views, status_view

QUICK = {"join": {"wait_s": 0.05}}
LINK = {"discovery": {"port": 0}}
LOCAL = "127.0.0.1:0"


def test_peers_and_owners_are_shown_with_their_devices_names(tmp_path: Path) -> None:
    async def play() -> None:
        given: dict[str, Any] = {"approach": "ls", "settings": QUICK, "listen": LOCAL, "link": LINK, "discover": False}
        async with (
            thyme.Node(store=tmp_path / "a", name="Anna", **given) as anna,
            thyme.Node(store=tmp_path / "b", name="Anna", peers=[anna.address], **given) as twin,
        ):
            goals = await twin.subscribe("goal")
            await anna.insert("kick", "3-3!", ["goal"])
            seen = object_view((await anext(goals)).metadata, twin)
            assert (seen.owner, seen.owner_name) == (str(anna.id), "Anna")
            assert "  Anna  " in objects_table([seen])
            assert peer_views(twin)[0].name == "Anna", "a name may be anybody's: it is no identity"
            assert anna.id != twin.id
            assert status_view(anna).line().startswith(f"Anna: node {anna.id} ")
            assert (await anext(aiter(twin.peers()))).name == "Anna"
            anna.rename("Anna's phone")
            twin.device.host.link.peering.hello(next(iter(twin.device.host.link.peers.addresses())))
            while twin.name_of(anna.id) != "Anna's phone":
                await asyncio.sleep(0.01)
        async with thyme.Node(store=tmp_path / "a", **given) as again:
            assert again.name == "Anna's phone", "it is kept with the key"

    asyncio.run(asyncio.wait_for(play(), 60))


def test_the_host_name_is_the_name_until_another_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("socket.gethostname", lambda: "kitchen.home.example")
    assert kept_name(None) == kept_name(tmp_path) == "kitchen"
    shown = CliRunner().invoke(app, ["name", "--store", str(tmp_path)])
    assert shown.output == "kitchen\n"
    assert CliRunner().invoke(app, ["name", "the pi", "--store", str(tmp_path)]).exit_code == 0
    assert CliRunner().invoke(app, ["name", "--store", str(tmp_path)]).output == "the pi\n"


def test_names_that_cannot_be_shown_are_refused_or_left_out() -> None:
    for wrong in ("", "  ", "two\nlines", "\x1b[31mred", "é" * 17, 7):
        with pytest.raises(thyme.InputError, match="the device's name"):
            device_name_of(wrong)
    assert unpacked_name(b"\x1b[31mred") == ""
    assert unpacked_name("ääääääääääääääääö".encode()[:31]) == "ä" * 15
    packed = Introduction(1, "ls", name="é" * 40).pack()
    assert unpack_introduction(packed).name == "é" * 16
