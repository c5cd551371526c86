"""Which approaches fit which world: some need to know where people are, or a place for a server."""

from __future__ import annotations

from thyme.approaches.registry import APPROACHES, find_approach
from thyme.model.errors import InputError
from thyme.model.settings import model_of
from thyme.world.mobility.models import MovementModel


def misfit(approach: str, movement: MovementModel) -> str:
    """Why an approach cannot run where people move like this; empty if it can."""
    if movement.knows_places:
        return ""
    found = find_approach(approach)
    if found.capabilities.needs_positions:
        return f"{found.title} has to know where people are"
    if found.capabilities.needs_server:
        return f"{found.title} needs a place for its server"
    return ""


def check_fit(approach: str, movement: MovementModel) -> None:
    reason = misfit(approach, movement)
    if reason:
        fitting = [name for name in APPROACHES if not misfit(name, movement)]
        raise InputError(
            f'{reason}, and [movement] model = "{model_of(movement)}" tells only who meets whom; '
            f"approaches that fit: {', '.join(fitting)}"
        )
