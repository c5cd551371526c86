"""A node under assault goes on; a longer one is made by hand (`mutations`)."""

from __future__ import annotations

import asyncio

import pytest
from mutations import BATCHES, TOGETHER, assaulted

from thyme.live.trust.authenticator import SigningAuthenticator


@pytest.mark.parametrize("closed_namespace", [False, True])
def test_altered_replayed_and_forged_datagrams_change_nothing(closed_namespace: bool) -> None:
    report = asyncio.run(assaulted(4_000, closed_namespace=closed_namespace))
    assert report["mistakes"] == []
    assert report["notified"] == ["after"]
    assert report["content"] == b"x"
    assert report["peer_kept"]
    assert sum(report["dropped"].values()) > 3_000
    assert len(report["sent"]) == (8 if closed_namespace else 11)
    assert report["fooled"] == []
    assert report["proved"] == (0 if closed_namespace else BATCHES * TOGETHER)


def test_a_node_that_would_not_verify_is_fooled_by_the_same_assault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SigningAuthenticator, "verify", lambda *_: True)
    report = asyncio.run(assaulted(1_000))
    assert any(name.startswith("fake") for name in report["fooled"])
    assert any(name.startswith("hidden") for name in report["fooled"])
