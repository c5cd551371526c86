"""What every message is: a frozen record with a number of its own on the wire.

A message class gives its tag, unique in all of Thyme (each module of this room states its range), and says
whether it is control traffic (routing and beacons) or carries something that a user asked for. It also knows whether
who sends it only passes it on: hosts count forwarding by that, so that all approaches are measured by one ruler.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message as it goes on the air. Subclasses say `tag=…` and may set `control = True`."""

    control: ClassVar[bool] = False

    def forwarded_by(self, sender: int) -> bool:
        """Whether `sender` passes on what somebody else began, and is not who it was addressed to. Who answers, or
        addresses something anew (a server, a cell, a broker), sends on its own account; control is control."""
        return False
