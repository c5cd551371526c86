"""Encounters: the exact contacts of a movement.

Two nodes on straight legs are within range for one interval, the roots of a quadratic; nothing is sampled.
Time is cut into windows only to find candidates: in each window a grid over the nodes' bounding boxes leaves
the pairs that can come within range, and those are solved leg by leg. The cost grows with who is near whom,
not with the number of pairs.
"""

from __future__ import annotations

import numpy as np

from thyme.model.errors import InputError
from thyme.world.contacts.encounter_kernel import find_encounters
from thyme.world.contacts.table import Contacts, contacts_from
from thyme.world.mobility.movement import Floats, Movement

WINDOW_REACH = 2.0
"""A typical walker covers this share of the range in one window: longer windows solve more pairs in vain,
shorter ones rebuild the grid too often (measured at 100 and 1,000 nodes in 4 × 4 km; flat from 1 to 4)."""

MIN_WINDOWS, MAX_WINDOWS = 1, 1_000_000


def contacts_of(movement: Movement, range_m: float, until_s: float) -> Contacts:
    """Every interval in [0, `until_s`] during which two nodes are at most `range_m` apart."""
    if not (range_m > 0.0 and until_s > 0.0):
        raise InputError(f"contacts within {range_m:g} m until {until_s:g} s: both must be positive")
    edges_s = _window_edges(movement, range_m, until_s)
    a, b, start_s, end_s = find_encounters(
        movement.first,
        movement.start_s,
        movement.x_m,
        movement.y_m,
        movement.vx_mps,
        movement.vy_mps,
        edges_s,
        float(range_m),
    )
    return contacts_from(movement.nodes, start_s, end_s, a, b)


def _window_edges(movement: Movement, range_m: float, until_s: float) -> Floats:
    speeds_mps = np.hypot(movement.vx_mps, movement.vy_mps)
    moving_mps = speeds_mps[speeds_mps > 0.0]
    typical_mps = float(np.quantile(moving_mps, 0.75)) if len(moving_mps) else 0.0
    windows = np.ceil(until_s * typical_mps / (WINDOW_REACH * range_m))
    return np.linspace(0.0, until_s, int(np.clip(windows, MIN_WINDOWS, MAX_WINDOWS)) + 1)
