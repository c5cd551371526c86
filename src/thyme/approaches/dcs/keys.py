"""Where things belong in Thyme-DCS: tags, conjunction keys and replicas as cells and nodes (§6.1, §6.4.1, §6.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from random import Random

from thyme.model.errors import InputError
from thyme.model.ids import CellId, NodeId, ObjectKey
from thyme.model.objects import Metadata
from thyme.model.queries import Conjunction
from thyme.model.subscriptions import Subscription
from thyme.routing.cells.addresses import Destination
from thyme.routing.cells.grid import Grid
from thyme.wire.cells import WHOLE_CELL


def cells_of_tags(grid: Grid, tags: Iterable[str]) -> list[CellId]:
    """The cells that keep an object's metadata, each once."""
    return sorted({grid.cell_for(tag) for tag in tags})


def share_of(key: ObjectKey, cells: int) -> int:
    """Which of a hot tag's cells an object belongs to."""
    return int.from_bytes(blake2b(str(key).encode(), digest_size=4).digest(), "big") % cells


def other_cells_of(grid: Grid, tag: str, cells: int) -> list[CellId]:
    """The cells over which a hot tag is spread, without the first, which everybody knows."""
    home = grid.cell_for(tag)
    shares = dict.fromkeys(grid.cell_for(tag, share) for share in range(1, cells))
    return [cell for cell in shares if cell != home]


def insertion_cells(grid: Grid, metadata: Metadata, hot: Mapping[str, int]) -> list[CellId]:
    """The cells to insert metadata in: of a tag known to be spread over several, the one of this object's share."""
    return sorted({grid.cell_for(tag, share_of(metadata.key, hot[tag]) if tag in hot else 0) for tag in metadata.tags})


def parts_of(grid: Grid, subscription: Subscription, random: Random) -> dict[CellId, Subscription]:
    """Each conjunction goes to the cell of one of its positive literals, chosen at random (its key)."""
    shares: dict[CellId, list[Conjunction]] = {}
    for conjunction in subscription.conjunctions:
        if not conjunction.positive:
            raise InputError(
                f"{conjunction}: Thyme-DCS keeps a subscription in the cell of one of its tags, "
                "so each alternative of a query needs a tag that is not negated"
            )
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


def keepers_among(key: ObjectKey, members: Iterable[NodeId], wanted: int) -> list[NodeId]:
    """The members that keep an object where only `wanted` do: its owner, if it is one, and those that a hash of object
    and node puts first, in this order."""

    def weight(node: NodeId) -> tuple[bool, bytes]:
        return node != key.owner, blake2b(f"{key}/{node}".encode(), digest_size=8).digest()

    return sorted(members, key=weight)[:wanted]
