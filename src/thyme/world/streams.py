"""Streams of random numbers: one per run seed, purpose and node.

Every draw in this room comes from a stream named by what it is for and whose it is. Two models never share a
stream (where a node stands says nothing about when it leaves), and a further node never changes what the
others draw. `chosen` picks a fraction of the nodes under the same rule.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from numpy.random import Generator, SeedSequence

from thyme.model.errors import InputError

BLOCK_NODES = 20
"""`chosen` fills its quota within each run of this many nodes: 5 % of them is exactly one."""


def stream(seed: int, purpose: str, node: int = 0) -> Generator:
    """The generator of `node` for `purpose` in the run with `seed`."""
    if seed < 0:
        raise InputError(f"seed {seed} is negative; a seed is a whole number from 0 up")
    return np.random.default_rng(SeedSequence([seed, node, crc32(purpose.encode())]))


def chosen(nodes: int, fraction: float, seed: int, purpose: str) -> tuple[int, ...]:
    """A random `fraction` of the nodes, in ascending order.

    The quota is met in every full block of `BLOCK_NODES`, so that the share hardly varies between seeds, and
    whether a node is chosen does not depend on how many others exist.
    """
    if not 0.0 <= fraction <= 1.0:
        raise InputError(f"fraction {fraction:g} for {purpose} is not between 0 and 1")
    carry = float(stream(seed, f"{purpose} quota").random())
    picked: list[int] = []
    for block in range(-(-nodes // BLOCK_NODES)):
        share = BLOCK_NODES * fraction
        quota = int((block + 1) * share + carry + 1e-9) - int(block * share + carry + 1e-9)
        order = stream(seed, purpose, block).permutation(BLOCK_NODES)
        picked.extend(block * BLOCK_NODES + int(place) for place in order[:quota])
    return tuple(sorted(node for node in picked if node < nodes))
