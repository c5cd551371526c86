"""The live runtime: the same approaches as in the simulator, on real devices over UDP."""

from thyme.live.node_.node import Node
from thyme.live.node_.notifications import Notice, Notifications
from thyme.live.node_.ongoing import OperationError

__all__ = ["Node", "Notice", "Notifications", "OperationError"]
