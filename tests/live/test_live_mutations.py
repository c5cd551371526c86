"""A node under assault goes on; a longer one is made by hand (`mutations`)."""

from __future__ import annotations

import asyncio

import pytest
from mutations import assaulted


@pytest.mark.parametrize("closed_namespace", [False, True])
def test_altered_replayed_and_forged_datagrams_change_nothing(closed_namespace: bool) -> None:
    report = asyncio.run(assaulted(4_000, closed_namespace=closed_namespace))
    assert report["mistakes"] == []
    assert report["notified"] == ["after"]
    assert report["content"] == b"x"
    assert report["peer_kept"]
    assert sum(report["dropped"].values()) > 3_000
    assert len(report["sent"]) == (8 if closed_namespace else 10)
