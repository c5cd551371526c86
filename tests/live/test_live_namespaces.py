"""Several namespaces of one device, what is kept of them, those around, and the doctor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from os import urandom
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_live_link import End, closed, opened
from typer.testing import CliRunner

from thyme.approaches.deciding import Needs, decide
from thyme.approaches.decision_table import CrowdKind
from thyme.cli.namespaces import app, shared_namespace
from thyme.live.doctor import Doctor
from thyme.live.link.addresses import LOOPBACK
from thyme.live.link.directory import Directory, NearbyNamespace
from thyme.live.link.discovery import DiscoveryOptions
from thyme.live.link.link import LinkOptions
from thyme.live.link.timers import Timers
from thyme.live.node.node import Node
from thyme.live.node.spaces import Spaces
from thyme.live.trust import approach_choice
from thyme.live.trust.approach_choice import ExpectedCrowd, choose, resolved
from thyme.live.trust.keyring import FILE, Keyring
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError

HERE: dict[str, Any] = {"listen": LOOPBACK, "approach": "ls", "settings": {"join": {"wait_s": 0.2}}}


def test_a_device_shares_in_several_namespaces_at_once_and_each_has_its_own(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Spaces(tmp_path / "one", **HERE) as one, Spaces(tmp_path / "other", **HERE) as other:
            final = await one.create("the final", closed=True)
            stage = await one.create("stage")
            theirs = await other.join(one.invitation("the final"), peers=[final.address, stage.address])
            assert final.id == stage.id == one.identity.node != theirs.id
            stream = await theirs.subscribe("goal")
            await stage.insert("elsewhere", b"x", ["goal"])
            await final.insert("here", b"x", ["goal"])
            async with asyncio.timeout(10.0):
                assert (await anext(stream)).metadata.key.oid == "here"
            assert list(stage.device.neighbours()) == []
            await one.leave("stage")
            assert list(one.nodes) == ["the final"]
        async with Spaces(tmp_path / "one", **HERE) as again:
            assert list(again.nodes) == ["the final"]
            assert [found.key.oid for found in again.nodes["the final"].known()] in ([], ["here"])
            with pytest.raises(InputError, match="already"):
                await again.create("the final")

    asyncio.run(scene())


def test_who_is_shut_out_hears_no_more(tmp_path: Path) -> None:
    async def scene() -> None:
        quick = {**HERE, "greet_patience_s": 0.3}
        async with Spaces(tmp_path / "one", **HERE) as one, Spaces(tmp_path / "other", **quick) as other:
            await one.create("final", closed=True)
            old = one.invitation("final")
            assert await one.shut_out("final") == one.invitation("final") != old
            out = await other.join(old, peers=[one.nodes["final"].address])
            assert out.device.neighbours() == {}

    asyncio.run(scene())


def test_secrets_are_kept_for_their_user_alone(tmp_path: Path) -> None:
    keyring = Keyring(tmp_path)
    closed_one = Namespace.drawn("final")
    keyring.add(closed_one)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert list(Keyring(tmp_path)) == [closed_one]
    with pytest.raises(InputError, match="it has joined: final"):
        keyring.get("stage")
    keyring.remove("final")
    assert list(Keyring(tmp_path)) == []
    (tmp_path / FILE).write_bytes(b"{")
    with pytest.raises(InputError, match="cannot be read"):
        Keyring(tmp_path)


def test_namespaces_are_made_listed_joined_and_left_from_the_command_line(tmp_path: Path) -> None:
    def thyme(*arguments: str, at: str = "one") -> str:
        done = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / at)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output.strip()

    invitation = thyme("new", "final", "--closed", "--approach", "dcs", "--set", "grid.width_m=80.0")
    assert thyme("invite", "final") == invitation
    assert invitation in thyme("invite", "final", "--qr")
    assert "joined final" in thyme("join", invitation, at="other")
    assert thyme("list", at="other") == "final  closed  dcs"
    shared = shared_namespace("final", "", str(tmp_path / "other"))
    assert (shared.approach, shared.settings) == ("dcs", {"grid": {"width_m": 80.0}})
    assert thyme("shut-out", "final") != invitation
    thyme("leave", "final", at="other")
    assert thyme("list", at="other") == ""
    assert not shared_namespace("final", "", str(tmp_path / "other")).closed


@pytest.mark.parametrize("text", ["notaninvitation", "thyme:", "thyme:AAAA", "thyme:notaninvitation!"])
def test_what_is_no_invitation_is_refused_and_joins_nothing(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not an invitation"):
        CliRunner().invoke(app, ["join", text, "--store", str(tmp_path)], catch_exceptions=False)
    assert list(Keyring(tmp_path)) == []
    done = CliRunner().invoke(app, ["join", "stage", "--open", "--store", str(tmp_path)], catch_exceptions=False)
    assert "joined stage" in done.output


def test_the_same_name_with_another_passphrase_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    timers = Timers()
    one, same, wrong, other = (Directory(timers, urandom) for _ in range(4))
    for directory, namespace in (
        (one, Namespace.with_passphrase("final", "four words nobody guesses")),
        (same, Namespace.with_passphrase("final", "four words nobody guesses")),
        (wrong, Namespace.with_passphrase("final", "four words nobody gusses")),
        (other, Namespace.with_passphrase("stage", "four words nobody guesses")),
    ):
        directory.announce(namespace, "ls", {})
    assert one.receive(same.announcement())
    assert one.receive(other.announcement())
    assert not one.mistaken()
    for _ in range(3):
        assert one.receive(wrong.announcement())
    assert one.mistaken()
    assert one.around() == [], "the name of a closed one is not told"
    assert caplog.text.count("of the same name and with another passphrase") == 1
    timers.now_s = 20.0
    assert not one.mistaken(), "nobody says so any more"


def test_open_namespaces_are_heard_of_while_somebody_says_so() -> None:
    timers = Timers()
    mine, theirs = Directory(timers, urandom), Directory(timers, urandom)
    assert mine.announcement() == b""
    theirs.own = NearbyNamespace("stage", "dcs", {"grid": {"width_m": 80.0}})
    assert mine.receive(theirs.announcement())
    assert not mine.receive(b"noise" * 20)
    assert mine.around() == [theirs.own]
    theirs.own = NearbyNamespace("large", "dcs", {"a": "x" * 500})
    mine.receive(theirs.announcement())
    assert mine.around()[-1] == NearbyNamespace("large", "dcs")
    timers.now_s = 20.0
    assert mine.around() == []


def test_the_doctor_says_who_answers_and_why_others_do_not() -> None:
    async def scene() -> list[str]:
        there, elsewhere = End(1), End(2)
        there.link.peering.approach = "ls"
        elsewhere.link.peering.approach = "drip"
        await opened(there, elsewhere)
        silent = ("127.0.0.1", 9)
        quiet = LinkOptions(discovery=DiscoveryOptions(port=0))
        doctor = Doctor(Namespace.open(), "ls", None, quiet)
        findings = await doctor.examine([there.link.address, elsewhere.link.address, silent], 0.4)
        await closed(there, elsewhere)
        return [("ok " if finding.fine else "?? ") + finding.text for finding in findings]

    said = asyncio.run(scene())
    assert any(text.startswith("ok node 1 at 127.0.0.1") for text in said)
    assert any("runs 'drip' and this one 'ls'" in text for text in said)
    assert any(text.startswith("?? 127.0.0.1:9 does not answer") for text in said)
    assert any("no multicast of IPv4" in text for text in said)


def test_a_namespace_left_to_auto_takes_what_the_decision_map_has(tmp_path: Path) -> None:
    few, many = ExpectedCrowd(5), ExpectedCrowd(300, 200.0, 120.0, range_m=50.0)
    assert choose(few)[0].approach == decide(CrowdKind(5, density=5.0), Needs(positions=False)).approach
    assert choose(few)[1] == {}
    assert choose(many)[0].approach == decide(CrowdKind(300, density=3.92)).approach

    async def run() -> None:
        async with Spaces(tmp_path, **HERE) as spaces:
            node = await spaces.create("stage", approach="auto", expected=few)
            assert node.options.approach == choose(few)[0].approach
            assert Namespace.invited(spaces.invitation("stage")).approach == node.options.approach

    asyncio.run(run())


def test_an_approach_with_cells_gets_the_area_and_the_size_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    decided = decide(CrowdKind(300, density=3.92))
    cells = tuple(line for line in decided.lines if line.approach == "dcs")
    monkeypatch.setattr(approach_choice, "decide", lambda kind, needs: msgspec.structs.replace(decided, best=cells))
    decision, settings = choose(ExpectedCrowd(300, 200.0, 120.0, range_m=50.0))
    assert (decision.approach, settings) == ("dcs", {"grid": {"width_m": 200.0, "height_m": 120.0, "cell_m": 17.7}})


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (lambda: ExpectedCrowd(0), "0 people are expected"),
        (lambda: ExpectedCrowd(5, 100.0), "give two positive numbers, or none"),
        (lambda: ExpectedCrowd(5, walking=1.5), "walking is 1.5"),
        (lambda: ExpectedCrowd(5, range_m=0.0), "a range of 0 m"),
        (lambda: resolved("auto", {"past_matches": 5}, ExpectedCrowd(5)), "auto takes no settings"),
        (lambda: resolved("auto", {}, None), "at least the number of people"),
        (lambda: resolved("ls", {}, ExpectedCrowd(5)), "is used only with approach auto, not with 'ls'"),
        (lambda: Node(1, store="memory", approach="auto"), "is resolved when a namespace is created"),
    ],
)
def test_what_decides_nothing_is_refused(wrong: Callable[[], object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        wrong()
