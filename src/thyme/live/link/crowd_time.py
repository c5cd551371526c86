"""Crowd time: devices whose clocks differ agree on one time, by which published objects are compared.

The papers assume synchronised clocks (Thyme FGCS §4.2); people's devices have none. Every greeting says its sender's
time and how far that is from the clock of its device. An answer also returns when it was asked for, so that its error
is half of the round trip. A node keeps the latest reading of each peer and goes by the median of the times of itself
and its peers, so one wrong clock, one liar or one laptop whose clock stood still in suspend moves nobody else. Of two,
the later time holds: clocks that are wrong are mostly late. A node that has not joined follows the peers that have.

The first answer that a new node gets may be a liar's. So it waits briefly for a second one if the first differs from
its device's clock, and where three or more compare their times, a node that follows others counts by its device's
clock; and others that follow do not count where two or more go by their own clocks and agree. Times that no clock shows
are ignored.

A node jumps to the crowd's time before it has joined. Later it jumps forward only if two clocks confirm it: two peers,
or one peer and the device's own clock. Otherwise, if the difference lasts, its time runs at one and a half or half of
its speed until it agrees; it jumps back only by more than ten minutes. When most clocks of three or more agree on
another time, because the first device's was wrong, the crowd approaches it by 2 %. A node without peers returns to its
own clock.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.model.ids import NodeId

FAR_S = 1.0
"""A clock that is off by more than this is worth a warning; clocks that differ by less confirm each other."""
NEAR_S = 0.02
"""A node that has not joined ignores differences below this and the error of the measurement; …"""
DRIFT_S = 0.25
"""… one that has joined, below this."""
SLEW = 0.5
"""Seconds per second by which time is changed; at half speed it never goes back."""
APPROACH = 0.02
"""The same, while a whole crowd approaches the median of its clocks: slow enough that its members stay together."""
DOUBT_S = 10.0
"""How long a difference that no second clock confirms must last before the node follows it."""
JUMP_BACK_S = 600.0
"""Further ahead, slewing would take longer than it helps."""
MANY = 3
"""So many times, this node's included, can outvote a wrong one."""
LAST_S = 1e10
"""In the year 2286: later times are a mistake or a lie."""


class TimeFields(msgspec.Struct, frozen=True):
    """The time fields of a greeting."""

    now_s: float
    joined: bool = False
    """Whether the sender takes part in a crowd."""
    correction_s: float = 0.0
    """Offset of its time from its device's clock."""
    asked_s: float = 0.0
    """When the sender sent it, for the answer to return."""
    echo_s: float = 0.0
    """In an answer: `asked_s` of the question."""


class _Seen(msgspec.Struct, frozen=True):
    """A peer's time, relative to this node's monotonic clock."""

    time_s: float
    device_s: float
    joined: bool
    error_s: float
    at_s: float
    """When it was measured."""


class TimeCorrection(msgspec.Struct, frozen=True):
    """A node's time was wrong."""

    behind_s: float
    jumped: bool


def _witnesses(voters: list[_Seen]) -> list[_Seen]:
    """Those whose times are their devices', without those that follow others, if they are many or agree."""
    found = [seen for seen in voters if abs(seen.time_s - seen.device_s) <= FAR_S]
    agree = len(found) > 1 and max(seen.time_s for seen in found) - min(seen.time_s for seen in found) <= FAR_S
    return found if agree or len(found) >= MANY else voters


class CrowdTime:
    def __init__(
        self,
        clock: Callable[[], float],
        origin_s: float = 0.0,
        *,
        device: Callable[[], float] | None = None,
        fixed: bool = False,
    ) -> None:
        """`clock` never goes back, and with `origin_s` shows the device's time at the start; `device` is the device's
        clock, which people and suspend may change. With `fixed`, all nodes share the clock, and it is right."""
        self._clock = clock
        self._origin_s = origin_s
        """Offset of the time from `clock` when no change is under way."""
        self._device = device or (lambda: clock() + origin_s)
        self._fixed = fixed
        self._gap_s = 0.0
        """Additional offset when the change began; negative if behind."""
        self._gap_since_s = 0.0
        self._rate = SLEW
        self._seen: dict[NodeId, _Seen] = {}
        self._doubted_s: float | None = None
        """Since when an unconfirmed difference lasts."""
        self._device_s = self._device() - clock()
        """The device's clock when it was looked at last, relative to `clock`."""
        self.unsure = False
        """Whether no peer has answered since this device slept."""
        self.joined = False
        """Whether others rely on this node's time."""

    def now(self) -> float:
        if not self._gap_s:
            return self._clock() + self._origin_s
        return self._clock() + self._origin_s + self._gap()

    @property
    def correction_s(self) -> float:
        """Offset of the time from the device's clock."""
        return self.now() - self._device()

    def slept(self) -> bool:
        """Whether the device's clock has gone otherwise than its monotonic one since the last call: it was suspended,
        or set. Without peers to ask, time goes on as if it had not slept; else what they said is out of date."""
        before_s, self._device_s = self._device_s, self._device() - self._clock()
        slept_s = self._device_s - before_s
        if abs(slept_s) <= FAR_S:
            return False
        if self._seen:
            self._seen.clear()
            self.unsure = True
        else:
            self._origin_s += max(0.0, slept_s)
            self._decide()
        return True

    @property
    def doubtful(self) -> bool:
        """Whether a single peer says that this device's clock is wrong."""
        return not self._fixed and len(self._seen) == 1 and abs(self.correction_s) > FAR_S

    def reading(self, asked_s: float, echo_s: float = 0.0) -> TimeFields:
        correction_s = 0.0 if self._fixed else self.correction_s
        return TimeFields(self.now(), self.joined, correction_s, asked_s, echo_s)

    def newcomers(self) -> list[NodeId]:
        """Peers that had not joined when they were asked."""
        return [] if self._fixed else [node for node, seen in self._seen.items() if not seen.joined]

    def forget(self, node: NodeId) -> None:
        """The peer has gone."""
        self._seen.pop(node, None)
        if not self._seen:
            self._decide()

    def compare(self, node: NodeId, other: TimeFields, took_s: float) -> TimeCorrection | None:
        """An answer came, `took_s` after the question; what changes, if anything."""
        if self._fixed or took_s < 0.0 or not (0.0 <= other.now_s <= LAST_S and abs(other.correction_s) <= LAST_S):
            return None
        if took_s > 2.0 * FAR_S and node in self._seen:  # somebody paused: its error would hide what matters
            return None
        time_s = other.now_s + took_s / 2.0 - self._clock()
        at_s = self._clock()
        self.unsure = False
        self._seen[node] = _Seen(time_s, time_s - other.correction_s, other.joined, took_s / 2.0, at_s)
        return self._decide()

    def _decide(self) -> TimeCorrection | None:
        mine_s = self.now() - self._clock()
        device_s = self._device() - self._clock()
        voters = self._voters(_Seen(mine_s, device_s, self.joined, 0.0, self._clock()))
        target = sorted(voters, key=lambda seen: seen.time_s)[len(voters) // 2]
        behind_s = target.time_s - mine_s
        tolerance_s = NEAR_S + target.error_s
        if self.joined:  # since it was measured, both may have approached another time
            tolerance_s = DRIFT_S + 2.0 * (target.error_s + APPROACH * (self._clock() - target.at_s))
        if abs(behind_s) > tolerance_s:
            return self._correct(behind_s, target, device_s)
        self._doubted_s = None
        devices_s = sorted(seen.device_s for seen in voters)
        wrong_s = devices_s[len(devices_s) // 2] - mine_s
        if self.joined and abs(wrong_s) > FAR_S and len(voters) != 2:
            self._slew(wrong_s, APPROACH if len(voters) > 1 else SLEW)
        return None

    def _voters(self, own: _Seen) -> list[_Seen]:
        """The peers whose times count. A new node's own clock only breaks ties among nodes that have joined."""
        joined = [seen for seen in self._seen.values() if seen.joined]
        if self.joined:
            follows = len(joined) + 1 >= MANY and abs(own.time_s - own.device_s) > FAR_S
            return _witnesses([msgspec.structs.replace(own, time_s=own.device_s) if follows else own, *joined])
        if joined:  # its own time may be that of the first to answer
            return joined if len(joined) % 2 else [msgspec.structs.replace(own, time_s=own.device_s), *joined]
        return [own, *self._seen.values()]

    def _correct(self, behind_s: float, target: _Seen, device_s: float) -> TimeCorrection | None:
        confirmed = sum(abs(seen.time_s - target.time_s) <= FAR_S for seen in self._seen.values() if seen.joined)
        confirmed += abs(device_s - target.time_s) <= FAR_S
        if not self.joined or (confirmed > 1 and (behind_s > 0.0 or behind_s < -JUMP_BACK_S)):
            self._origin_s = target.time_s
            self._gap_s = 0.0
            return TimeCorrection(behind_s, True)
        if confirmed < 2:
            self._doubted_s = self._clock() if self._doubted_s is None else self._doubted_s
            if self._clock() - self._doubted_s < DOUBT_S:
                return None
        slewing = bool(self._gap_s and self._gap())
        self._slew(behind_s, SLEW)
        return None if slewing else TimeCorrection(behind_s, False)

    def _slew(self, behind_s: float, rate: float) -> None:
        mine_s = self.now() - self._clock()
        self._origin_s, self._rate = mine_s + behind_s, rate
        self._gap_s, self._gap_since_s = -behind_s, self._clock()

    def _gap(self) -> float:
        """The remaining part of the change."""
        left_s = max(0.0, abs(self._gap_s) - (self._clock() - self._gap_since_s) * self._rate)
        return left_s if self._gap_s > 0.0 else -left_s
