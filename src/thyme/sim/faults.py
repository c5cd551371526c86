"""Faults: a chain of small rules that may lose or delay what the radio delivered.

Each rule looks at one delivery and lets it pass, delays or drops it; the first that does not let it pass decides. Rules
work on any radio: losses at random, partitions of the area, jammed places. A dropped unicast is reported to its sender
as failed, as if the link had given up (without the airtime of the retries).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from random import Random
from typing import Literal, Protocol

import msgspec

from thyme.model.errors import InputError
from thyme.sim.engine import Engine
from thyme.wire.message import Message
from thyme.world.movement import Movement


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fault of a scenario, in force from `from_s` to `to_s`.

    `loss` drops a delivery with `probability`; `delay` holds it back by up to `delay_s`; `partition` cuts the area at
    x = `at_m`; `jam` makes the disc of `radius_m` around (`x_m`, `y_m`) deaf. `message` restricts a rule to one kind of
    message by its class name.
    """

    kind: Literal["loss", "delay", "partition", "jam"]
    """What happens to deliveries."""
    from_s: float = 0.0
    """Start."""
    to_s: float = inf
    """End."""
    probability: float = 1.0
    """Share of the deliveries in question that it hits."""
    delay_s: float = 0.0
    """Of `delay`: longest delay."""
    at_m: float = 0.0
    """Of `partition`: x of the cut."""
    x_m: float = 0.0
    """Of `jam`: x of its middle."""
    y_m: float = 0.0
    """Of `jam`: y of its middle."""
    radius_m: float = 0.0
    """Of `jam`: its radius."""
    message: str = ""
    """Only messages of this class, such as `Beacon`; empty for all."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise InputError(f"fault {self.kind!r}: probability is {self.probability}; expected 0 to 1")
        if self.to_s < self.from_s:
            raise InputError(f"fault {self.kind!r}: it ends at {self.to_s} s, before it starts at {self.from_s} s")
        if self.kind == "jam" and self.radius_m <= 0.0:
            raise InputError("fault 'jam': radius_m must be a positive number of metres")
        if self.kind == "delay" and self.delay_s <= 0.0:
            raise InputError("fault 'delay': delay_s must be a positive number of seconds")


class FaultContext(Protocol):
    """What rules look at: the time, where people are, and the dice for faults."""

    @property
    def engine(self) -> Engine: ...
    @property
    def movement(self) -> Movement: ...
    @property
    def fault_random(self) -> Random: ...


def delay_of(rules: Sequence[Rule], world: FaultContext, sender: int, receiver: int, message: Message) -> float | None:
    """How late a delivery is, in seconds: infinity if it is lost, None if no rule applies."""
    now_s = world.engine.now_s
    for rule in rules:
        if not rule.from_s <= now_s < rule.to_s or (rule.message and type(message).__name__ != rule.message):
            continue
        delay_s = _delay_by(rule, world, sender, receiver)
        if delay_s is not None:
            return delay_s
    return None


def _delay_by(rule: Rule, world: FaultContext, sender: int, receiver: int) -> float | None:
    now_s = world.engine.now_s
    match rule.kind:
        case "partition":
            here, there = world.movement.position(sender, now_s), world.movement.position(receiver, now_s)
            hit = (here.x_m < rule.at_m) != (there.x_m < rule.at_m)
        case "jam":
            there = world.movement.position(receiver, now_s)
            hit = (there.x_m - rule.x_m) ** 2 + (there.y_m - rule.y_m) ** 2 <= rule.radius_m**2
        case _:
            hit = True
    if not hit or (rule.probability < 1.0 and world.fault_random.random() >= rule.probability):
        return None
    if rule.kind == "delay":
        return world.fault_random.uniform(0.0, rule.delay_s)
    return inf
