"""How a walk weighs its next step: the cost functions of the walks paper (§V) by name, and the bounds of weights."""

from __future__ import annotations

from typing import Literal

from thyme.model.errors import InputError

Method = Literal["neighbourhood", "second", "weights"]
"""Cost (3), cost (2) and weight (1)."""
MAX_WEIGHT = 1_000_000.0
"""Of alpha, beta and the penalty: costs stay far from where floating-point numbers run out."""


def check_weights(alpha: float, beta: float) -> None:
    """The weights of cost (2): none negative, one of them positive."""
    for name, weight in (("alpha", alpha), ("beta", beta)):
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise InputError(f"{name} is {weight}: a weight lies between 0 and {MAX_WEIGHT:.0f}")
    if alpha + beta == 0.0:
        raise InputError("alpha + beta is 0: one of the two weights has to be positive")
