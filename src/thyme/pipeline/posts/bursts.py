"""When people post during a match: a base rate, and bursts at what happens on the pitch.

A burst rises within two minutes to several times the base and decays exponentially; a match shows a handful of
them: kick-off, goals, half-time, the end. Before kick-off the base builds up slowly.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import numpy.typing as npt
from msgspec import Meta

from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import NotNegative, Positive, Share

Floats = npt.NDArray[np.float64]

GRID_S = 1.0
MAX_GOALS = 100


class MatchClock(SettingsRecord, frozen=True):
    """The event's own time line, in seconds from its start (three hours from 20:00, kick-off at 21:00)."""

    duration_s: Annotated[float, Meta(ge=GRID_S)] = 10_800.0
    """Length of the event."""
    kickoff_s: NotNegative = 3_600.0
    """Kick-off."""
    half_time_s: float = 6_360.0
    """End of the first half."""
    second_half_s: float = 7_320.0
    """Start of the second half."""
    end_s: float = 10_200.0
    """End of the match."""

    def __post_init__(self) -> None:
        check_bounds(self)
        order = (self.kickoff_s, self.half_time_s, self.second_half_s, self.end_s, self.duration_s)
        if list(order) != sorted(order):
            raise InputError(f"a match with {order} as seconds of kick-off, half-time, second half, end and duration")


class BurstOptions(SettingsRecord, frozen=True):
    """How the crowd reacts, as measured on real matches."""

    goals: Annotated[int, Meta(ge=0, le=MAX_GOALS)] = 2
    """Goals, each at a random time of the match."""
    goal_height_low: Annotated[float, Meta(ge=1.0)] = 7.5
    """Rate at the peak after a goal, over the base rate, drawn from here …"""
    goal_height_high: float = 9.0
    """… to here."""
    other_height_low: Annotated[float, Meta(ge=1.0)] = 4.0
    """The same after kick-off, half-time and the end, from here …"""
    other_height_high: float = 5.0
    """… to here."""
    rise_s: Positive = 90.0
    """How long a burst rises."""
    decay_s: Positive = 240.0
    """Time in which a burst falls to 37 %."""
    early_share: Share = 0.3
    """The base rate at the very start, as a share of the base during the match."""

    def __post_init__(self) -> None:
        check_bounds(self)
        for what in ("goal", "other"):
            low, high = getattr(self, f"{what}_height_low"), getattr(self, f"{what}_height_high")
            if not low <= high:
                raise InputError(f"{what}_height_low is {low:g} and {what}_height_high {high:g}; expected low ≤ high")


def intensity(clock: MatchClock, options: BurstOptions, random: np.random.Generator) -> Floats:
    """The posting rate on a grid of seconds, relative to the base rate."""
    grid = np.arange(0.0, clock.duration_s, GRID_S)
    build_up = np.clip(grid / max(clock.kickoff_s, GRID_S), 0.0, 1.0)
    rate: Floats = options.early_share + (1.0 - options.early_share) * build_up
    for at_s, height in _bursts(clock, options, random):
        rate += (height - 1.0) * _shape(grid - at_s, options)
    return rate


def draw_times(posts: int, rate: Floats, random: np.random.Generator, span: tuple[float, float]) -> Floats:
    """So many instants in time order, in seconds from the start, distributed as the rate; of all posts in time order,
    those from one share to another."""
    below = np.concatenate([[0.0], np.cumsum(rate)])
    edges = np.arange(len(below)) * GRID_S
    drawn = span[0] + np.sort(random.random(posts)) * (span[1] - span[0])
    at_s: Floats = np.interp(drawn * below[-1], below, edges)
    return at_s


def _bursts(clock: MatchClock, options: BurstOptions, random: np.random.Generator) -> list[tuple[float, float]]:
    fixed = [clock.kickoff_s, clock.half_time_s, clock.end_s]
    heights = random.uniform(options.other_height_low, options.other_height_high, len(fixed))
    play_s = (clock.half_time_s - clock.kickoff_s) + (clock.end_s - clock.second_half_s)
    minutes = np.sort(random.uniform(0.0, play_s, options.goals))
    pause_s = clock.second_half_s - clock.half_time_s
    first_half_s = clock.half_time_s - clock.kickoff_s
    goals = clock.kickoff_s + minutes + np.where(minutes >= first_half_s, pause_s, 0.0)
    goal_heights = random.uniform(options.goal_height_low, options.goal_height_high, options.goals)
    return list(zip([*fixed, *goals.tolist()], [*heights.tolist(), *goal_heights.tolist()], strict=True))


def _shape(since_s: Floats, options: BurstOptions) -> Floats:
    rising = np.clip(since_s / options.rise_s, 0.0, 1.0)
    falling = np.exp(-np.clip(since_s - options.rise_s, 0.0, None) / options.decay_s)
    shape: Floats = rising * falling
    return shape
