"""Community mobility: people are drawn to where their friends are (SocialCast §V-A).

Each community starts in a square of its own on a grid. A host walks straight to a point of its square; there it
chooses its next square by social attraction (the ties to the hosts that are in or bound for each square),
walks to a point of it, and so on. docs/explanation/mobility.md says what the paper leaves open and
how the defaults were chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from thyme.model.errors import InputError
from thyme.model.settings import check_bounds
from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive
from thyme.world.contacts.contact_table import Contacts
from thyme.world.mobility.model import Crowd, Mobility
from thyme.world.mobility.social import Caves, SocialNetwork, caveman
from thyme.world.movement import Floats, Ints, Movement
from thyme.world.streams import stream

STEPS_DRAWN = 512
"""Random numbers are drawn for a host for so many steps at a time."""


class Community(Mobility, frozen=True, tag="community"):
    """People move towards places where their friends are (SocialCast §V-A)."""

    caves: Caves = Caves()
    grid: AtLeastOne = 20
    """Squares along each side."""
    choice: Literal["deterministic", "probabilistic"] = "probabilistic"
    """The next square is drawn in proportion to attraction, or is the most attractive one."""
    drawn_to: Literal["members", "occupants"] = "members"
    """Whose ties make a square attractive: those of the community placed there (as in the paper's text), or those of
    the people there or on their way (as in the reference code)."""
    attraction: Literal["sum", "mean"] = "sum"
    """A square attracts by the sum of those ties, or by the sum divided by their number."""
    weak_ties_attract: bool = False
    """Whether ties up to the caves' threshold count; together they outweigh the friends of a large crowd."""
    drift: NotNegative = 0.0003
    """Attraction of every square, empty or not, in the probabilistic choice."""
    min_speed_mps: Positive = 1.0
    """Speeds are drawn uniformly from here …"""
    max_speed_mps: Positive = 6.0
    """… to here."""
    speed_drawn: Literal["per host", "per trip"] = "per host"
    """One speed for each person, or one for each way."""
    min_pause_s: NotNegative = 0.0
    """Pauses at a destination are drawn uniformly from here …"""
    max_pause_s: NotNegative = 0.0
    """… to here."""
    reconfiguration_s: float | None = None
    """Communities are placed in new squares after each such period; every host then goes to its community's square
    first."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not (0.0 < self.min_speed_mps <= self.max_speed_mps and 0.0 <= self.min_pause_s <= self.max_pause_s):
            raise InputError("community: expected 0 < low ≤ high for speeds and 0 ≤ low ≤ high for pauses")
        if self.reconfiguration_s is not None and self.reconfiguration_s <= 0.0:
            raise InputError("community: the time between reconfigurations must be positive; leave it out for none")

    def make(self, crowd: Crowd) -> Movement:
        venue = crowd.venue
        return community_movement(crowd.nodes, venue.width_m, venue.height_m, self, crowd.until_s, crowd.seed).movement

    def contacts(self, crowd: Crowd, movement: Movement, range_m: float) -> Contacts | None:
        # People seldom meet here, so finding the contacts beforehand is far cheaper than looking around at every frame.
        from thyme.world.contacts.encounters import contacts_of

        return contacts_of(movement, range_m, crowd.until_s)


@dataclass(frozen=True, slots=True)
class CommunityMovement:
    """The movement of a crowd, the network that drove it, and the square of each community in each period."""

    movement: Movement
    network: SocialNetwork
    squares: Ints


def community_movement(
    nodes: int, width_m: float, height_m: float, how: Community, until_s: float, seed: int
) -> CommunityMovement:
    """The movement of a caveman network until `until_s`; the last leg of each person is completed."""
    network = caveman(nodes, how.caves, seed)
    if network.communities > how.grid**2:
        raise InputError(f"{network.communities} communities do not fit a grid of {how.grid} × {how.grid} squares")
    squares = _squares(network.communities, how, until_s, seed)
    streams = [stream(seed, "community", node) for node in range(nodes)]
    legs = _walk(network, squares, how, width_m, height_m, until_s, streams)
    order = np.lexsort((legs[:, 1], legs[:, 0]))
    legs = legs[order]
    first = np.searchsorted(legs[:, 0], np.arange(nodes + 1)).astype(np.int64)
    columns = [np.ascontiguousarray(legs[:, column]) for column in range(1, 6)]
    return CommunityMovement(Movement(width_m, height_m, first, *columns), network, squares)


def _squares(communities: int, how: Community, until_s: float, seed: int) -> Ints:
    """A square for each community, all different, in each period between reconfigurations."""
    periods = 1 if how.reconfiguration_s is None else int(until_s // how.reconfiguration_s) + 1
    rows = [stream(seed, "squares", period).permutation(how.grid**2)[:communities] for period in range(periods)]
    return np.array(rows, dtype=np.int64)


def _walk(
    network: SocialNetwork,
    squares: Ints,
    how: Community,
    width_m: float,
    height_m: float,
    until_s: float,
    streams: list[Generator],
) -> Floats:
    """Run the compiled loop, drawing random numbers for a host whenever it has used up its own."""
    # Compiled code takes a while to load, and reading a scenario does not need it.
    from thyme.world.mobility.community_kernel import DRAWS_PER_STEP, walk_on

    nodes, drawn = len(streams), STEPS_DRAWN * DRAWS_PER_STEP
    draws = np.array([draw.random(drawn) for draw in streams])
    used, arrived = np.zeros(nodes, np.int64), np.ones(nodes, np.bool_)
    square = squares[0][network.community]
    side_m = np.array([width_m / how.grid, height_m / how.grid])
    corner_m = np.column_stack((square % how.grid, square // how.grid)) * side_m
    place_m = corner_m + draws[:, :2] * side_m
    speed_mps = how.min_speed_mps + draws[:, 2] * (how.max_speed_mps - how.min_speed_mps)
    used[:] = DRAWS_PER_STEP
    due_s, period = np.zeros(nodes), np.zeros(nodes, np.int64)
    settings = np.array(
        [
            how.choice == "deterministic",
            how.attraction == "mean",
            how.drawn_to == "members",
            how.drift,
            how.min_speed_mps,
            how.max_speed_mps,
            how.speed_drawn == "per trip",
            how.min_pause_s,
            how.max_pause_s,
            how.reconfiguration_s if how.reconfiguration_s is not None else np.inf,
        ],
        dtype=np.float64,
    )
    ties = network.ties if how.weak_ties_attract else np.where(network.ties > how.caves.threshold, network.ties, 0.0)
    parts: list[Floats] = []
    while True:
        legs, empty = walk_on(
            ties, network.community, squares, how.grid, side_m, settings, until_s,
            square, place_m, speed_mps, due_s, arrived, period, draws, used,
        )  # fmt: skip
        parts.append(legs)
        if empty < 0:
            return np.concatenate(parts)
        draws[empty], used[empty] = streams[empty].random(drawn), 0
