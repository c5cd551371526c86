"""Messages between an emulated crowd and its members: lines of JSON over pipes."""

from __future__ import annotations

from typing import Any

import msgspec

from thyme.approaches.user import UserOptions
from thyme.live.emulation.closed_loop import LoopOptions
from thyme.live.emulation.meter import Account
from thyme.live.node.device import DeviceOptions
from thyme.model.geometry import Point
from thyme.model.operations import Operation


class Life(msgspec.Struct, frozen=True):
    """The configuration that a member receives at its start."""

    device: DeviceOptions
    store: str
    """A folder."""
    epoch_s: float
    """Seconds since 1970 at which the crowd's time was nought."""
    users: UserOptions
    seed: int
    tail_s: float = 0.0
    """How long the meter counts the radio as awake after a frame; 0: no meter."""


class Meet(msgspec.Struct, frozen=True, tag="meet"):
    """These are all others; take part."""

    peers: tuple[str, ...]


class Issue(msgspec.Struct, frozen=True, tag="issue"):
    operation: Operation


class Stand(msgspec.Struct, frozen=True, tag="stand"):
    """You are here now."""

    place: Point
    moving: bool


class Loop(msgspec.Struct, frozen=True, tag="loop"):
    """Use the device in a closed loop from now on."""

    options: LoopOptions


class Rest(msgspec.Struct, frozen=True, tag="rest"):
    """Issue nothing more."""


class ReadMeter(msgspec.Struct, frozen=True, tag="read"):
    """Report the meter's counters, and reset them."""


class Share(msgspec.Struct, frozen=True, tag="share"):
    """Insert an object."""

    oid: str
    tag: str
    size_bytes: int
    replicate: bool


class FetchOrder(msgspec.Struct, frozen=True, tag="fetch"):
    """Retrieve an object as soon as you are notified of it."""

    oid: str


class LeaveOrder(msgspec.Struct, frozen=True, tag="leave"):
    pass


Order = Meet | Issue | Stand | Loop | Rest | ReadMeter | Share | FetchOrder | LeaveOrder


class Listens(msgspec.Struct, frozen=True, tag="listens"):
    host: str
    port: int


class MemberState(msgspec.Struct, frozen=True, tag="state"):
    """A member's state, reported periodically."""

    joined: bool
    cell: int | None
    neighbours: tuple[int, ...]
    held: dict[str, int]
    """Stored items by type, for itself and others."""
    notified: int
    busy: bool


class Metered(msgspec.Struct, frozen=True, tag="metered"):
    account: Account


class Did(msgspec.Struct, frozen=True, tag="did"):
    """An object was shared or fetched as ordered, or not, and why."""

    oid: str
    latency_s: float
    failure: str


Said = Listens | MemberState | Metered | Did

read_order = msgspec.json.Decoder(Order).decode
read_said = msgspec.json.Decoder(Said).decode
read_life = msgspec.json.Decoder(Life).decode


def line(what: Any) -> bytes:
    return msgspec.json.encode(what) + b"\n"
