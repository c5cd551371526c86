"""Identifiers: of nodes, of objects and of subscriptions (Thyme FGCS §3.1, §3.3).

A node has one number that is unique in its network. What a node creates is named by the pair of its own
number and a name of its choice, so two nodes can never collide.
"""

from __future__ import annotations

from typing import NewType

import msgspec

NodeId = NewType("NodeId", int)
CellId = NewType("CellId", int)


class ObjectKey(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """⟨oid, nid⟩: an object's name and its owner."""

    oid: str
    owner: NodeId

    def __str__(self) -> str:
        return f"{self.oid}@{self.owner}"


class SubscriptionKey(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """⟨sid, nid⟩: a subscription's number and its subscriber."""

    sid: int
    subscriber: NodeId

    def __str__(self) -> str:
        return f"{self.sid}@{self.subscriber}"
