"""A lying member: a node that says a wrong time and a wrong place, repeats what others said, and alters it.

What it alters, it sends to others as if it passed it on. Its own operations are those of any node.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from thyme.live import Node
from thyme.live.link.crowd_time import CrowdTime, TimeFields
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.wire.message import Message

REPEATED = 0.1
"""Share of the messages it receives that it sends on."""
MOVED_M = 15.0


class _LyingTime(CrowdTime):
    """The time of a node that says another one."""

    lie_s = 0.0

    def reading(self, asked_s: float, echo_s: float = 0.0) -> TimeFields:
        return msgspec.structs.replace(super().reading(asked_s, echo_s), now_s=self.now() + self.lie_s)


def corrupt(node: Node, lie_s: float, draw: Random, reach: Callable[[str], None]) -> None:
    """Make a node that takes part a liar; `reach` counts what it did."""
    host = node.device.host
    host.time.__class__ = _LyingTime
    host.time.lie_s = lie_s  # type: ignore[attr-defined]
    honest = host.receive

    def receive(sender: NodeId, message: Message) -> None:
        if honest is not None:
            honest(sender, message)
        others = sorted(host.link.peers.nodes())
        if others and draw.random() < REPEATED:
            said = bent(message, draw) if draw.random() < 0.7 else message
            reach("messages repeated" if said == message else "messages bent")
            if draw.random() < 0.5:
                host.unicast(draw.choice(others), said)
            else:
                host.broadcast(said)
            node.place(draw.uniform(0.0, MOVED_M), draw.uniform(0.0, MOVED_M))

    host.receive = receive


def bent(value: Any, draw: Random) -> Any:
    """The same with some of what it says about objects altered."""
    if isinstance(value, Metadata):
        change: dict[str, Any] = draw.choice(
            (
                {"tags": (*value.tags[1:], "b")},
                {"key": ObjectKey(f"{value.key.oid}x", value.key.owner)},
                {"summary": b"bent"},
                {"published_s": value.published_s + 5.0},
                {"size_bytes": value.size_bytes + 1},
            )
        )
        return msgspec.structs.replace(value, **change)
    if isinstance(value, msgspec.Struct):
        fields = {name: bent(getattr(value, name), draw) for name in value.__struct_fields__}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, tuple) and type(value) is tuple:
        return tuple(bent(one, draw) for one in value)
    if isinstance(value, bytes) and value and draw.random() < 0.3:
        place = draw.randrange(len(value))
        return value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
    return value
