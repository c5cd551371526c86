"""Who moves and who is on at one instant, asked of every node."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thyme.world.churn import Churn
from thyme.world.movement import Movement


def moving_nodes(movement: Movement, at_s: float) -> NDArray[np.bool_]:
    legs = movement.legs(at_s)
    moving: NDArray[np.bool_] = (movement.vx_mps[legs] != 0.0) | (movement.vy_mps[legs] != 0.0)
    return moving


def is_on(churn: Churn, node: int, at_s: float) -> bool:
    """A change holds from its own instant on."""
    on = node not in churn.starts_off()
    for change in churn.changes:
        if change.node == node and change.at_s <= at_s:
            on = change.on
    return on
