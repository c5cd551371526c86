"""Renewal of a namespace's key: who takes it, who is excluded, and what members keep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_live_link import End, acquaint, closed, opened, until
from typer.testing import CliRunner

from thyme.cli.namespaces import app, shared_namespace
from thyme.live.link.frames import Kind, pack_header
from thyme.live.link.link import HAND_OVER_S
from thyme.live.link.sealing import Seals
from thyme.live.node.node import Node
from thyme.live.node.spaces import Spaces
from thyme.live.trust.identity import Identity
from thyme.live.trust.keyring import Keyring
from thyme.live.trust.namespaces import Namespace
from thyme.live.trust.renewals import Renewal, renewal_of, renewed_by, unpack_renewal
from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.wire.storage import JoinRequest

HERE: dict[str, Any] = {"listen": "127.0.0.1:0", "approach": "ls", "settings": {"join": {"wait_s": 0.2}}}


def created(by: Identity, name: str = "final") -> Namespace:
    return msgspec.structs.replace(Namespace.drawn(name), creator=by.public)


def test_only_the_creator_renews_and_only_its_own_namespace() -> None:
    creator, member = Identity.new(), Identity.new()
    namespace, other = created(creator), created(creator, "other")
    renewed, renewal = renewal_of(namespace, creator)
    assert (renewed.epoch, renewed.context, renewed.name) == (1, namespace.context, "final")
    assert renewed.number != namespace.number
    assert renewed.frame_key != namespace.frame_key
    assert unpack_renewal(renewal.pack()) == renewal
    assert renewed_by(namespace, renewal) == renewed
    assert Namespace.invited(renewed.invitation()) == renewed
    assert renewed_by(other, renewal) is None, "signed for another namespace"
    assert renewed_by(msgspec.structs.replace(namespace, creator=b""), renewal) is None
    for forged in (
        msgspec.structs.replace(renewal, epoch=2),
        msgspec.structs.replace(renewal, secret=bytes(32)),
        msgspec.structs.replace(renewal, signature=bytes(64)),
    ):
        assert renewed_by(namespace, forged) is None
    with pytest.raises(InputError, match="did not create"):
        renewal_of(namespace, member)
    with pytest.raises(InputError, match="is open"):
        renewal_of(Namespace.open("final"), creator)


@pytest.mark.parametrize(
    "body", [b"", b"noise", Renewal(1, b"short", bytes(64)).pack(), Renewal(0, bytes(32), bytes(64)).pack()]
)
def test_what_is_no_renewal_is_refused(body: bytes) -> None:
    assert unpack_renewal(body) is None


def test_members_take_the_key_from_each_other_and_stay_peers() -> None:
    """In a row: the last member is in range of the second only."""

    async def scene() -> None:
        creator = Identity.given(1)
        shared = created(creator)
        one, two, three = (End(number, namespace=shared) for number in (1, 2, 3))
        await opened(one, two, three)
        await acquaint(one, two)
        await acquaint(two, three)
        gone: list[object] = []
        for end in (one, two, three):
            end.link.watch = gone.append
        renewed, renewal = renewal_of(shared, creator)
        told: list[Namespace] = []
        two.link.core.on_renewed = three.link.core.on_renewed = told.append
        one.link.renew(renewed, renewal)
        one.link.unicast(NodeId(2), JoinRequest(1), None)
        assert await two.next() == (1, JoinRequest(1))
        await until(lambda: two.link.core.namespace == renewed)
        two.link.broadcast(JoinRequest(2))
        assert await three.next() == (2, JoinRequest(2))
        three.link.unicast(NodeId(2), JoinRequest(3), None)
        await until(lambda: three.link.core.namespace == renewed)
        assert await one.next() == (2, JoinRequest(2))
        assert await two.next() == (3, JoinRequest(3))
        assert told == [renewed, renewed]
        assert not gone, "no peer was lost"
        assert one.dropped("another namespace") == two.dropped("another namespace") == 0
        for end in (one, two, three):
            await until(lambda end=end: not any(map(end.link.core.is_behind, end.link.peers.addresses())))  # type: ignore[misc]
        await closed(one, two, three)

    asyncio.run(scene())


def test_who_was_away_is_given_the_key_for_a_day() -> None:
    async def scene() -> None:
        creator = Identity.given(1)
        shared = created(creator)
        one, two, late = End(1, namespace=shared), End(2, namespace=shared), End(3, namespace=shared)
        await opened(one, two, late)
        renewed, renewal = renewal_of(shared, creator)
        one.link.renew(renewed, renewal)
        one.link.discovery.on = two.link.discovery.on = True
        announced = two.link.discovery.announcement()
        one.link.receive_announcement(announced, two.link.address)
        await until(lambda: two.link.core.namespace == renewed)
        one.link.core.timers.run(one.link.core.timers.now_s + HAND_OVER_S + 1.0)
        late.link.greet([one.link.address])
        await until(lambda: one.dropped("another namespace") > 0)
        assert late.link.core.namespace == shared
        assert late.link.peers.nodes() == {}
        await closed(one, two, late)

    asyncio.run(scene())


def test_a_member_cannot_renew_for_others() -> None:
    async def scene() -> None:
        shared = created(Identity.given(1))
        two, forger = End(2, namespace=shared), End(3, namespace=shared)
        await opened(two, forger)
        await acquaint(two, forger)
        own = msgspec.structs.replace(shared, creator=Identity.given(3).public)
        _, forged = renewal_of(own, Identity.given(3))
        peer = forger.link.peers.find(NodeId(2))
        assert peer is not None
        for body in (forged.pack(), b"noise"):
            frame = peer.cipher.close(pack_header(Kind.RENEWAL, NodeId(3), NodeId(2), 2**62), body)
            datagram = Seals(forger.link.core.namespace).close(frame, peer.address)
            forger.link.endpoint.send(datagram, peer.address)  # type: ignore[union-attr]
        await until(lambda: two.dropped("not the creator's renewal") == two.dropped("no renewal") == 1)
        assert two.link.core.namespace == shared
        forger.link.unicast(NodeId(2), JoinRequest(4), None)
        assert await two.next() == (3, JoinRequest(4))
        await closed(two, forger)

    asyncio.run(scene())


def run(scene: Callable[[], Any]) -> None:
    asyncio.run(asyncio.wait_for(scene(), 60.0))


def test_a_renewed_namespace_keeps_its_objects_and_subscriptions(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Spaces(tmp_path / "one", **HERE) as one, Spaces(tmp_path / "two", **HERE) as two:
            final = await one.create("final", closed=True)
            before = one.invitation("final")
            theirs = await two.join(before, peers=[final.address])
            heard = await theirs.subscribe("goal")
            await final.insert("first", b"1", ["goal"])
            assert (await anext(heard)).metadata.key.oid == "first"
            renewed = await one.renew("final")
            assert renewed == one.invitation("final") != before
            await final.insert("second", b"2", ["goal"])
            notice = await anext(heard)
            assert await theirs.retrieve(notice) == b"2"
            await until(lambda: two.invitation("final") == renewed)
            with pytest.raises(InputError, match="did not create"):
                await two.renew("final")
            with pytest.raises(InputError, match="was renewed since"):
                two.keyring.add(Namespace.invited(before))
        assert Keyring(tmp_path / "two").get("final").invitation() == renewed, "also after a restart"

    run(scene)


def test_who_is_shut_out_is_left_at_once_and_the_others_follow_by_invitation(tmp_path: Path) -> None:
    async def scene() -> None:
        quick = {**HERE, "greet_patience_s": 0.3}
        async with (
            Spaces(tmp_path / "one", **HERE) as one,
            Spaces(tmp_path / "two", **HERE) as two,
            Spaces(tmp_path / "thief", **quick) as thief,
        ):
            final = await one.create("final", closed=True)
            before = one.invitation("final")
            theirs = await two.join(before, peers=[final.address])
            stolen = await thief.join(before, peers=[final.address, theirs.address])
            await final.insert("first", b"1", ["goal"])
            heard = await theirs.subscribe("goal")
            assert (await anext(heard)).metadata.key.oid == "first"
            assert await two.join(await one.shut_out("final")) is theirs
            await until(lambda: list(final.device.neighbours()) == [theirs.id])
            await final.insert("second", b"2", ["goal"])
            assert (await anext(heard)).metadata.key.oid == "second"
            with pytest.raises(InputError, match="did not create"):
                await thief.renew("final")
            await until(lambda: stolen.device.neighbours() == {})
            again = await thief.nodes["final"].find("goal")
            assert [found.key.oid for found in again] in ([], ["first"])

    run(scene)


def test_a_daemon_of_another_key_is_refused_an_old_invitation(tmp_path: Path) -> None:
    async def scene() -> None:
        namespace = Namespace.drawn("final")
        async with Node(namespace=namespace.invitation(), store="memory", **HERE) as node:
            for wrong in (namespace, Namespace.drawn("final"), namespace.renewed(b"").renewed(b"")):
                if wrong.epoch == 2:
                    node.rejoin(wrong.invitation())
                else:
                    with pytest.raises(InputError, match="no newer invitation"):
                        node.rejoin(wrong.invitation())
            assert node.namespace.epoch == 2

    run(scene)


def test_the_key_is_changed_from_the_command_line(tmp_path: Path) -> None:
    def thyme(*arguments: str, at: str = "one", fails: bool = False) -> str:
        if fails:
            with pytest.raises(InputError) as refused:
                CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / at)], catch_exceptions=False)
            return str(refused.value)
        done = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / at)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output.strip()

    invitation = thyme("new", "final", "--closed")
    thyme("join", invitation, at="other")
    assert "start it: thyme node start" in thyme("renew", "final", fails=True)
    changed = thyme("shut-out", "final")
    assert thyme("list") == "final  closed  dcs  key renewed 1 time"
    assert thyme("join", changed, at="other") == "final has a new key"
    assert "was renewed since this invitation was made" in thyme("join", invitation, at="other", fails=True)
    kept = shared_namespace(invitation, "", str(tmp_path / "other"))
    assert kept == Namespace.invited(changed), "a node that is started with an old invitation has the new key"
