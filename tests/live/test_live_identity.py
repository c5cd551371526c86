"""Who a node is: its key, kept with its store, and what follows from it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from thyme.live import Node
from thyme.live.link.addresses import LOOPBACK
from thyme.live.trust.identity import FIRST_DERIVED, KEY_FILE, Identity, belongs, kept_identity, node_of
from thyme.live.trust.namespaces import Namespace, namespace_of
from thyme.live.trust.sodium import is_signed
from thyme.model.errors import InputError

QUICK = {"join": {"wait_s": 0.2}}


def test_a_key_is_drawn_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    first = kept_identity(tmp_path / "new")
    assert kept_identity(tmp_path / "new").node == first.node >= FIRST_DERIVED
    assert (tmp_path / "new" / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "new").iterdir()] == [KEY_FILE]


def test_a_key_that_is_damaged_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).write_bytes(b"short")
    with pytest.raises(InputError, match="is not a key"):
        kept_identity(tmp_path)
    assert (tmp_path / KEY_FILE).read_bytes() == b"short"


def test_a_number_belongs_to_one_key() -> None:
    one, other = Identity.new(), Identity.new()
    assert belongs(one.node, one.public)
    assert not belongs(one.node, other.public)
    assert not belongs(one.node, b"")
    assert node_of(one.public) == one.node < 2**63
    by_hand = Identity.given(7)
    assert belongs(7, by_hand.public)
    assert not belongs(8, by_hand.public)
    assert not belongs(7, one.public)


def test_a_signature_is_of_one_key_and_one_statement() -> None:
    one, other = Identity.new(), Identity.new()
    signature = one.sign(b"said")
    assert is_signed(one.public, b"said", signature)
    assert not is_signed(one.public, b"sad", signature)
    assert not is_signed(other.public, b"said", signature)
    assert not is_signed(b"no key", b"said", signature)


def test_two_nodes_share_a_secret_that_no_third_one_has() -> None:
    one, other, third = Identity.new(), Identity.new(), Identity.new()
    assert one.shared_with(other.public) == other.shared_with(one.public) != third.shared_with(one.public)
    assert one.shared_with(bytes(32)) is None


@pytest.mark.parametrize("approach", ["ls", "dcs"])
def test_nodes_without_a_number_share_and_are_the_same_after_a_restart(tmp_path: Path, approach: str) -> None:
    grid = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.3, "beacons": {"period_s": 0.2}}
    settings = QUICK if approach == "ls" else grid
    options: dict[str, Any] = {"approach": approach, "settings": settings, "listen": LOOPBACK}

    async def run() -> None:
        async with Node(store=tmp_path / "one", **options) as one:
            was = one.id
            async with Node(store="memory", peers=[one.address], **options) as other:
                await asyncio.gather(one.device.joined.wait(), other.device.joined.wait())
                stream = await other.subscribe("goal")
                await one.insert("first", b"here", ["goal"])
                async with asyncio.timeout(10.0):
                    notice = await anext(stream)
                assert notice.metadata.key.owner == was
                assert await other.retrieve(notice.metadata) == b"here"
        async with Node(store=tmp_path / "one", **options) as again:
            assert again.id == was != other.id

    asyncio.run(run())


def test_what_names_nodes_by_32_bits_is_refused_to_a_key() -> None:
    async def run() -> None:
        async with Node(store="memory", approach="ls", settings={"routing": "dsdv"}):
            raise AssertionError

    with pytest.raises(InputError, match="62"):
        asyncio.run(run())


def test_an_invitation_says_all_that_a_member_needs() -> None:
    settings = {"grid": {"width_m": 80.0}}
    closed = Namespace.drawn("the final", "dcs", settings)
    assert Namespace.invited(closed.invitation()) == closed
    node = Node(store="memory", namespace=closed.invitation())
    assert node.namespace == closed
    assert (node.options.approach, node.options.settings) == ("dcs", settings)
    assert Node(store="memory", namespace=closed.invitation(), approach="ls").options.settings == {}
    assert closed.renewed(b"").number != closed.number
    assert closed.renewed(b"").folder == closed.folder


@pytest.mark.parametrize("text", ["thyme:", "thyme:!!!", "thyme:kaA", "thyme:" + "A" * 3000])
def test_what_is_no_invitation_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not an invitation"):
        namespace_of(text)


def test_namespaces_differ_by_name_and_by_passphrase() -> None:
    numbers = {
        namespace_of("gallery").number,
        namespace_of("stage").number,
        namespace_of("gallery", "correct horse").number,
        namespace_of("gallery", "battery staple").number,
        namespace_of("stage", "correct horse").number,
    }
    assert len(numbers) == 5
    assert namespace_of("gallery", "correct horse") == namespace_of("gallery", "correct horse")
    with pytest.raises(InputError, match="at least 8"):
        namespace_of("gallery", "short")
    with pytest.raises(InputError, match="printable"):
        namespace_of("\n")


def test_a_short_passphrase_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    Namespace.with_passphrase("final", "four words nobody guesses")
    assert caplog.text == ""
    Namespace.with_passphrase("final", "password1")
    assert "is short (9 characters)" in caplog.text
