"""The medium that emulated devices share: an access point's channel, on which one frame at a time is sent.

A datagram is as many frames as it needs, and each goes over the channel twice: to the access point, and from it. What
is sent while the channel is busy waits for its turn, and what would wait for too long is lost. A node sends a broadcast
to each of its peers, one copy after the other; on a channel that all hear, these are one frame.
"""

from __future__ import annotations

import msgspec

from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive

BITS_PER_MEGABIT = 1e6


class MediumOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rate_mbps: NotNegative = 0.0
    """Of the channel; 0: there is room for everything."""
    frame_s: NotNegative = 0.0002
    """What a frame takes besides its bytes: waiting for the channel, preamble and acknowledgement of 802.11."""
    frame_bytes: AtLeastOne = 1_472
    """What one frame carries of a datagram."""
    passes: AtLeastOne = 2
    """How often each frame is sent: by the device and by the access point."""
    queue_s: Positive = 0.5
    """What would have to wait longer is lost."""
    together_s: NotNegative = 0.002
    """Datagrams of one size that a node sends to different peers within this time are copies of one."""

    def airtime_s(self, size_bytes: int) -> float:
        """What a datagram takes of the channel."""
        frames = -(-max(size_bytes, 1) // self.frame_bytes)
        return self.passes * (frames * self.frame_s + 8.0 * size_bytes / (self.rate_mbps * BITS_PER_MEGABIT))


class _Copies(msgspec.Struct):
    """A datagram that may be on its way to several."""

    size_bytes: int
    sent_s: float
    ends_s: float
    to: set[int]


class Medium:
    """One channel."""

    def __init__(self, options: MediumOptions) -> None:
        self._options = options
        self._free_s = 0.0
        self._last: dict[int, _Copies] = {}
        self.busy_s = 0.0
        """How long the channel was in use."""

    def turn_s(self, now_s: float, sender: int, to: int, size_bytes: int) -> float | None:
        """How long it takes until a datagram has been sent; None if it is lost for want of room."""
        options = self._options
        if not options.rate_mbps:
            return 0.0
        last = self._last.get(sender)
        if (
            last is not None
            and last.size_bytes == size_bytes
            and to not in last.to
            and now_s - last.sent_s <= options.together_s
        ):
            last.to.add(to)
            return max(0.0, last.ends_s - now_s)
        begins_s = max(now_s, self._free_s)
        if begins_s - now_s > options.queue_s:
            return None
        airtime_s = options.airtime_s(size_bytes)
        self.busy_s += airtime_s
        self._free_s = begins_s + airtime_s
        self._last[sender] = _Copies(size_bytes, now_s, self._free_s, {to})
        return self._free_s - now_s
