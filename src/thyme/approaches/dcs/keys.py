"""Cells of tags, conjunctions and replicas, and replication lists (Thyme FGCS §6.1, §6.2.3, §6.4.1, §6.5)."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from thyme.model.errors import InputError
from thyme.model.ids import CellId
from thyme.model.objects import Metadata, Replica
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Destination
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import WHOLE_CELL


def cells_of_tags(grid: Grid, tags: Iterable[str]) -> list[CellId]:
    """The cells that keep an object's metadata, each once."""
    return sorted({grid.cell_for(tag) for tag in tags})


def check_literals(subscription: Subscription) -> None:
    """InputError unless every conjunction has a cell."""
    for conjunction in subscription.conjunctions:
        if not conjunction.positive:
            raise InputError(
                f"{conjunction}: Thyme-DCS keeps a subscription in the cell of one of its tags, "
                "so each alternative of a query needs a tag that is not negated"
            )


def parts_of(grid: Grid, subscription: Subscription, random: Random) -> dict[CellId, Subscription]:
    """Each conjunction goes to the cell of one of its positive literals, chosen at random (its key)."""
    shares: dict[CellId, list[Conjunction]] = {}
    for conjunction in subscription.conjunctions:
        key = random.choice(conjunction.positive)
        shares.setdefault(grid.cell_for(key), []).append(conjunction)
    return {cell: Subscription(subscription.key, tuple(share), subscription.frame) for cell, share in shares.items()}


def sources_of(grid: Grid, metadata: Metadata, here: CellId) -> list[Destination]:
    """From where to retrieve an object: the closest replica first, the active replica's cell last if it is not the
    closest (§6.5)."""
    replicas = sorted(metadata.replicas, key=lambda r: (grid.distance_m(here, r.cell), r.node))
    sources = [Destination(replica.cell, replica.node) for replica in replicas]
    active = [source for source in sources if source.node == WHOLE_CELL]
    return [*sources[:1], *[s for s in sources[1:] if s not in active], *[s for s in active if s not in sources[:1]]]


def with_replica(replicas: tuple[Replica, ...], replica: Replica, most: int) -> tuple[Replica, ...]:
    """The most recent entries, and the active replica's first."""
    active = [entry for entry in replicas if entry.node == WHOLE_CELL]
    if replica.node == WHOLE_CELL:
        active = [replica]
    passive = [entry for entry in replicas if entry.node not in (WHOLE_CELL, replica.node)]
    if replica.node != WHOLE_CELL:
        passive.append(replica)
    room = most - len(active)
    return tuple(active + (passive[-room:] if room > 0 else []))


def merged(known: tuple[Replica, ...], newer: tuple[Replica, ...], most: int) -> tuple[Replica, ...]:
    """What is known, and of another list what is not."""
    for replica in newer:
        if replica not in known:
            known = with_replica(known, replica, most)
    return known
