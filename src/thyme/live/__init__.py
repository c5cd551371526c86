"""The live runtime: the same approaches as in the simulator, on real devices over UDP."""

from thyme.live.node import Node
from thyme.live.notifications import Notice, Notifications
from thyme.live.ongoing import OperationError

__all__ = ["Node", "Notice", "Notifications", "OperationError"]
