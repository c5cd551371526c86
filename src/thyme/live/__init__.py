"""The live runtime: the same approaches as in the simulator, on real devices over UDP.

`link` moves frames between neighbours, `node` is a device with its clock, log and user, `store` its disk, `trust` its
keys and namespaces; `shell` is a node in a terminal, `blocking` a node for scripts, `http` a node for programs in any
language, `daemon` one that several programs share, `views` its state as JSON, `emulation` a crowd of processes on one
machine. The names below are imported when they are first used: a client of a daemon needs no node.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from thyme.live.blocking import SyncNode, SyncNotifications
    from thyme.live.failures import OperationError, ReaderTooSlow
    from thyme.live.link.peers import Presence
    from thyme.live.node.node import Node
    from thyme.live.node.notifications import Notice, Notifications, Presences
    from thyme.live.node.spaces import Spaces

_ROOMS = {
    "Node": "node.node",
    "Notice": "node.notifications",
    "Notifications": "node.notifications",
    "OperationError": "failures",
    "Presence": "link.peers",
    "ReaderTooSlow": "failures",
    "Presences": "node.notifications",
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
    "ReaderTooSlow",
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
