"""What an emulated crowd and its members say to each other: lines of JSON over pipes."""

from __future__ import annotations

from typing import Any

import msgspec

from thyme.approaches.user import UserOptions
from thyme.live.node.device import DeviceOptions
from thyme.model.geometry import Point
from thyme.model.operations import Operation


class Life(msgspec.Struct, frozen=True):
    """What a member is told when it is started."""

    device: DeviceOptions
    store: str
    """A folder."""
    epoch_s: float
    """Seconds since 1970 at which the crowd's time was nought."""
    users: UserOptions
    seed: int


class Meet(msgspec.Struct, frozen=True, tag="meet"):
    """These are all others; take part."""

    peers: tuple[str, ...]


class Issue(msgspec.Struct, frozen=True, tag="issue"):
    operation: Operation


class Stand(msgspec.Struct, frozen=True, tag="stand"):
    """You are here now."""

    place: Point
    moving: bool


class Leave(msgspec.Struct, frozen=True, tag="leave"):
    pass


Order = Meet | Issue | Stand | Leave


class Listens(msgspec.Struct, frozen=True, tag="listens"):
    host: str
    port: int


class State(msgspec.Struct, frozen=True, tag="state"):
    """How a member is, told now and then."""

    joined: bool
    cell: int | None
    neighbours: tuple[int, ...]
    held: dict[str, int]
    """What it holds, for itself and others: how many of what."""
    notified: int
    busy: bool


Said = Listens | State

read_order = msgspec.json.Decoder(Order).decode
read_said = msgspec.json.Decoder(Said).decode
read_life = msgspec.json.Decoder(Life).decode


def line(what: Any) -> bytes:
    return msgspec.json.encode(what) + b"\n"
