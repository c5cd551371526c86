"""The live runtime: the same approaches as in the simulator, on real devices over UDP.

`link` moves frames between neighbours, `node` is a device with its clock, log and user, `shell` is what a person types
and reads, `blocking` a node for scripts, and `crowd` plays a trace on many nodes of one process.
"""

from thyme.live.blocking import SyncNode, SyncNotifications
from thyme.live.link.peers import Presence
from thyme.live.node.awaiting import OperationError
from thyme.live.node.node import Node
from thyme.live.node.notifications import Notice, Notifications
from thyme.live.node.presences import Presences

__all__ = [
    "Node",
    "Notice",
    "Notifications",
    "OperationError",
    "Presence",
    "Presences",
    "SyncNode",
    "SyncNotifications",
]
