"""The live runtime: the same approaches as in the simulator, on real devices over UDP."""

from thyme.live.node.awaiting import OperationError
from thyme.live.node.node import Node
from thyme.live.node.notifications import Notice, Notifications

__all__ = ["Node", "Notice", "Notifications", "OperationError"]
