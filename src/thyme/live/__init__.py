"""The live runtime: the same approaches as in the simulator, on real devices over UDP.

`link` moves frames between neighbours, `node` is a device with its clock, log and user, `store` its disk, `trust` its
keys and namespaces; `shell` is what a person types and reads, `blocking` a node for scripts, `http` a node for programs
in any language, `daemon` one that several programs share, `crowd` plays a trace on many nodes of one process. The names
below are fetched when they are first used: who only speaks to a daemon needs no node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thyme.live.blocking import SyncNode, SyncNotifications
    from thyme.live.failures import OperationError
    from thyme.live.link.meeting.peers import Presence
    from thyme.live.node.node import Node
    from thyme.live.node.operations.notifications import Notice, Notifications
    from thyme.live.node.operations.presences import Presences
    from thyme.live.node.spaces import Spaces

_ROOMS = {
    "Node": "node.node",
    "Notice": "node.operations.notifications",
    "Notifications": "node.operations.notifications",
    "OperationError": "failures",
    "Presence": "link.meeting.peers",
    "Presences": "node.operations.presences",
    "Spaces": "node.spaces",
    "SyncNode": "blocking",
    "SyncNotifications": "blocking",
}

__all__ = [
    "Node",
    "Notice",
    "Notifications",
    "OperationError",
    "Presence",
    "Presences",
    "Spaces",
    "SyncNode",
    "SyncNotifications",
]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'thyme.live' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"thyme.live.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value
