"""What every message is: a frozen record with a number of its own on the wire.

A message class gives its tag, unique in all of Thyme (each module of this room states its range), and says
whether it is control traffic (routing and beacons) or carries something that a user asked for. It also says whether its
sender forwards it for others: hosts count forwarded messages by that, in the same way for all approaches.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Message(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """A message as it is sent. Subclasses set `tag`, and `control` or `bulk` if needed."""

    control: ClassVar[bool] = False
    bulk: ClassVar[bool] = False
    """Whether it carries a part of a content: all others are sent first."""
    spreads: ClassVar[bool] = False
    """Whether receivers pass it on, so that a broadcast may go to some of many neighbours."""

    def forwarded_by(self, sender: int) -> bool:
        """Whether `sender` forwards a message of another node that was not addressed to it. A node that answers, or
        sends on to new destinations (a server, a cell, a broker), does not; control traffic is never forwarded."""
        return False
