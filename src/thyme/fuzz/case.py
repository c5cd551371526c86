"""The case: what a world's trace asked for, put together with what its run showed, by object and by subscription."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import inf
from typing import Any

import msgspec

from thyme.approaches.interface import Capabilities
from thyme.approaches.registry import find_approach
from thyme.fuzz.node_states import NodeStates
from thyme.fuzz.observer import ObservedOperation
from thyme.fuzz.play import Evidence
from thyme.fuzz.worlds import World
from thyme.model.ids import ObjectKey, SubscriptionKey
from thyme.model.operations import Operation
from thyme.model.records import OperationKind


class Violation(msgspec.Struct, frozen=True):
    """A promise that was broken, when, and how."""

    promise: str
    at_s: float
    text: str

    def __str__(self) -> str:
        return f"{self.promise} at {self.at_s:.2f} s: {self.text}"


class ObjectCase(msgspec.Struct):
    """An object whose insertion was asked for, and its deletion if that was."""

    operation: Operation
    inserted: ObservedOperation
    published_s: float
    """On its owner's clock."""
    deleted: ObservedOperation | None = None
    ends_from_s: float = inf
    """From then on it has expired by the fastest clock in the crowd, …"""
    ended_s: float = inf
    """… and by the slowest."""


class SubscriptionCase(msgspec.Struct):
    operation: Operation
    made: ObservedOperation
    revoked: ObservedOperation | None = None

    def holds(self, published_s: float) -> bool:
        """Whether the instant is in the time frame, [start, end)."""
        start_s, end_s = self.operation.start_s, self.operation.end_s
        return (start_s is None or published_s >= start_s) and (end_s is None or published_s < end_s)


class Case:
    """Everything that a judge looks up."""

    def __init__(self, world: World, evidence: Evidence) -> None:
        self.evidence = evidence
        self.crowd: NodeStates = evidence.crowd
        self.end_s: float = world.given["time"]["until_s"]
        self.settings: dict[str, Any] = world.given.get("settings", {})
        self.full_queues = bool(world.given["radio"].get("queue_frames", 0))
        disk = world.given.get("disk", {})
        self._undo_s = 2.0 * (disk.get("commit_s", 0.0) + disk.get("answer_s", 0.0))
        """Latest time until a device's write is durable: the batch before it, and its own."""
        self._approach: str = world.given["approach"]
        self.capabilities: Capabilities = find_approach(self._approach).capabilities
        self.servers = set(range(world.given["nodes"], self.crowd.nodes)) if self.capabilities.needs_server else set()
        self.reached: Counter[str] = Counter()
        """How often each state that a promise is about occurred."""
        self.objects: dict[ObjectKey, ObjectCase] = {}
        self.subscriptions: dict[SubscriptionKey, SubscriptionCase] = {}
        self._gather({(one.kind, one.object, one.subscription): one for one in evidence.asked}, world)

    def _gather(self, asked: dict[Any, ObservedOperation], world: World) -> None:
        for operation in world.operations:
            key, name = operation.object_key, operation.subscription_key
            is_object = operation.kind in (OperationKind.INSERT, OperationKind.DELETE)
            one = asked.get((operation.kind, key, None) if is_object else (operation.kind, None, name))
            if one is None:
                continue
            match operation.kind:
                case OperationKind.INSERT:
                    published_s = one.at_s + self.evidence.skews_s[operation.node]
                    self.objects[key] = thing = ObjectCase(operation, one, published_s)
                    if operation.end_s is not None:
                        skews_s = self.evidence.skews_s
                        thing.ends_from_s, thing.ended_s = (
                            operation.end_s - max(skews_s),
                            operation.end_s - min(skews_s),
                        )
                case OperationKind.DELETE if key in self.objects:
                    self.objects[key].deleted = one
                case OperationKind.SUBSCRIBE:
                    self.subscriptions[name] = SubscriptionCase(operation, one)
                case OperationKind.UNSUBSCRIBE if name in self.subscriptions:
                    self.subscriptions[name].revoked = one
                case _:
                    pass

    def undone(self, node: int, at_s: float) -> bool:
        """Whether a crash may have undone a device's write of that time."""
        return self._undo_s > 0.0 and self.crowd.went_off(node, at_s, at_s + self._undo_s)

    @property
    def keeps_everything(self) -> bool:
        """Whether the approach promises to keep, find and serve acknowledged objects, and its settings allow it.

        DRIP and SocialCast promise none of that; the papers' configurations have no repair; with one request or
        retrieval at a time, or with overflowing radio queues, much is refused; and with walks, a publisher that
        keeps one object cannot answer for the others.
        """
        declared = self.capabilities
        bounded = "pending" in self.settings.get("retry", {}) or "fetches" in self.settings.get("contents", {})
        bounded = bounded or "published" in self.settings
        able = declared.answers_past and not declared.delivers_contents
        return able and not (self.settings.get("paper", False) or bounded or self.full_queues)

    @property
    def notifies_once(self) -> bool:
        """Whether a notification without a route is lost, as in the paper of Thyme-LS (FGCS §9.3.1)."""
        return self._approach == "ls" and not self.settings.get("telling", {}).get("sure", False)

    @property
    def small_parts(self) -> bool:
        """Whether contents are fetched in parts at their lower bound."""
        return "part_bytes" in self.settings.get("contents", {})

    @property
    def of_the_papers(self) -> bool:
        return bool(self.settings.get("paper", False))

    def whole(self, node: int, from_s: float, to_s: float) -> bool:
        """Whether the crowd was settled: no fault, no node switched on or off, and lasting links connected all nodes
        that were on, including servers, to `node`.
        """
        crowd = self.crowd
        if crowd.disturbed(from_s, to_s) or crowd.switched(from_s, to_s):
            return False
        on = {one for one in range(crowd.nodes) if crowd.on_throughout(one, from_s, to_s)}
        return self.servers <= on and on <= crowd.joined(node, from_s, to_s)


Judgement = Iterator[Violation]
