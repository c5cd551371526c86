"""What a movement model is: a record of its settings, tagged by `model`, that makes the movement of a crowd.

A new model is a subclass in a file of its own and a name in `thyme.world.movement_models`.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import Contacts
from thyme.world.movement import Movement
from thyme.world.venue import Venue


class Crowd(msgspec.Struct, frozen=True):
    """Number of nodes, area, duration, and the seed of positions and routes."""

    nodes: int
    venue: Venue
    until_s: float
    seed: int


class Mobility(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="model"):
    knows_places: ClassVar[bool] = True
    """Whether there are places, which some radios need, or only contacts."""

    @property
    def source(self) -> str:
        """The file that the model reads, if it reads one."""
        return ""

    def make(self, crowd: Crowd) -> Movement:
        raise NotImplementedError

    def contacts(self, crowd: Crowd, movement: Movement, range_m: float) -> Contacts | None:
        """Contacts between nodes, if the model knows them better than positions do."""
        return None


def check_size(file: str, placed: Movement, crowd: Crowd) -> Movement:
    if placed.nodes != crowd.nodes:
        raise InputError(
            f"[movement] file {file}: it places {placed.nodes} nodes, but the scenario has nodes = {crowd.nodes}"
        )
    return placed
