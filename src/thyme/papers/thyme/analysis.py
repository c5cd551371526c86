"""The analytical study of the Thyme paper: Table 6 and Figure 8 as functions (Thyme FGCS §8).

A point-to-point message costs √n transmissions and a flood n. In Thyme-DCS the ways lead from cell to cell, so there
n is the number of populated cells, which is the number of nodes over those in a cell. The paper counts a scoped
dissemination in a cell of c nodes as c messages. Objects have one tag and subscriptions one conjunction key.

√n is an order of growth, not a number of hops: `Scale` says how many hops a point-to-point message takes per √n and
how many transmissions a scoped dissemination is, with the paper's as the default.
"""

from __future__ import annotations

from enum import StrEnum
from math import sqrt
from typing import Literal, assert_never

import msgspec

from thyme.model.errors import InputError

ApproachName = Literal["es", "ls", "dcs"]
ANALYSED: tuple[ApproachName, ...] = ("es", "ls", "dcs")


class Cost(StrEnum):
    """The rows of Table 6 that add up to an approach's total."""

    INSERT = "insert"
    RETRIEVE = "retrieve"
    SUBSCRIBE = "subscribe"
    NOTIFICATION = "notification"


class Load(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Parameters of the formulas, each with the paper's letter."""

    nodes: float
    """n"""
    inserted: float = 0.0
    """Di: stored objects."""
    retrieved: float = 0.0
    """Dr: retrieved objects."""
    subscriptions: float = 0.0
    """S: issued subscriptions."""
    matches: float = 0.0
    """Ds: matching objects, which is notifications."""
    per_cell: float = 2.0
    """c: nodes in a cell, on average; only Thyme-DCS has cells."""

    def __post_init__(self) -> None:
        if self.nodes <= 0.0 or self.per_cell <= 0.0:
            raise InputError(f"{self.nodes:g} nodes, {self.per_cell:g} per cell: both must be positive")
        if min(self.inserted, self.retrieved, self.subscriptions, self.matches) < 0.0:
            raise InputError("a load cannot have fewer than 0 inserted, retrieved, subscriptions or matches")

    def count(self, cost: Cost) -> float:
        """How often this load performs the operation of `cost`."""
        match cost:
            case Cost.INSERT:
                return self.inserted
            case Cost.RETRIEVE:
                return self.retrieved
            case Cost.SUBSCRIBE:
                return self.subscriptions
            case Cost.NOTIFICATION:
                return self.matches


class Scale(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Transmissions for each of the paper's orders of growth."""

    hops: float = 1.0
    """Hops of a point-to-point message per √n."""
    scoped: float | None = None
    """Transmissions of one dissemination within a cell; c by default."""


class Shape(msgspec.Struct, frozen=True):
    """One entry of Table 6, per operation: point-to-point messages, floods and scoped disseminations."""

    messages: int = 0
    floods: int = 0
    scoped: int = 0


PAPER_SCALE = Scale()

TABLE_6: dict[ApproachName, dict[Cost, Shape]] = {
    "es": {
        Cost.INSERT: Shape(messages=2),
        Cost.RETRIEVE: Shape(messages=2),
        Cost.SUBSCRIBE: Shape(messages=2),
        Cost.NOTIFICATION: Shape(messages=1),
    },
    "ls": {
        Cost.INSERT: Shape(),
        Cost.RETRIEVE: Shape(messages=2),
        Cost.SUBSCRIBE: Shape(floods=1),
        Cost.NOTIFICATION: Shape(messages=1),
    },
    "dcs": {
        Cost.INSERT: Shape(messages=2, scoped=2),
        Cost.RETRIEVE: Shape(messages=3, scoped=1),
        Cost.SUBSCRIBE: Shape(messages=2, scoped=1),
        Cost.NOTIFICATION: Shape(messages=1),
    },
}


def point_to_point(approach: ApproachName, load: Load, scale: Scale = PAPER_SCALE) -> float:
    """Transmissions of one point-to-point message."""
    places = load.nodes / load.per_cell if approach == "dcs" else load.nodes
    return scale.hops * sqrt(places)


def messages_each(approach: ApproachName, cost: Cost, load: Load, scale: Scale = PAPER_SCALE) -> float:
    """Transmissions that one operation, or one notification, costs."""
    shape = TABLE_6[approach][cost]
    scoped = load.per_cell if scale.scoped is None else scale.scoped
    return shape.messages * point_to_point(approach, load, scale) + shape.floods * load.nodes + shape.scoped * scoped


def messages(approach: ApproachName, cost: Cost, load: Load, scale: Scale = PAPER_SCALE) -> float:
    """Table 6: transmissions in the whole network for all operations of one kind."""
    return load.count(cost) * messages_each(approach, cost, load, scale)


def hot_spot(approach: ApproachName, load: Load) -> float:
    """Table 6, last row: the most messages that any one node sends, ways of others not counted. In Thyme-ES the
    server pays it; in Thyme-LS and Thyme-DCS it is a bound that several nodes share."""
    match approach:
        case "es" | "dcs":
            return load.inserted + load.retrieved + load.subscriptions + load.matches
        case "ls":
            return load.retrieved + load.subscriptions + load.matches
        case _:
            assert_never(approach)


def notifications_per_member(per_cell: float, notifications: float = 100.0) -> float:
    """Figure 8: messages that each node of a cell sends, on average, for this number of notifications. One member
    handles each match, drawn at random by routing, so the work is shared by all.
    """
    if per_cell <= 0.0:
        raise InputError(f"{per_cell:g} nodes per cell: expected a positive number")
    return notifications / per_cell
