"""One hop of a packet between cells: one frame per next hop, and other ways where a link fails.

Destinations with the same next cell share a frame (Thyme FGCS §6.6.5); those that are neighbours themselves get
one each, and what goes on to their cell goes along with it. A frame to a cell goes to a random stationary node
of it (§6.6.1). Where the link gives up, another node of that cell is tried, and then the destinations are routed
anew as if the cell were empty; how often is bounded by the options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from thyme.host import Host
from thyme.model.ids import CellId, NodeId
from thyme.routing.cells.addresses import GeographicOptions
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.links import Links
from thyme.wire.geographic import CellPacket, Heading

Leg = tuple[Heading, Heading]
"""A destination as it is here, and as it will be at the next hop."""


class Failures(msgspec.Struct, frozen=True):
    """The nodes and cells that a packet has failed to get to from here."""

    nodes: frozenset[NodeId] = frozenset()
    cells: frozenset[CellId] = frozenset()


NO_FAILURES = Failures()


class Hop:
    """Where the destinations of a packet go from here."""

    def __init__(self) -> None:
        self.by_node: dict[NodeId, list[Leg]] = {}
        self.by_cell: dict[CellId, list[Leg]] = {}

    def to_node(self, node: NodeId, heading: Heading) -> None:
        self.by_node.setdefault(node, []).append((heading, heading))

    def to_cell(self, cell: CellId, before: Heading, after: Heading) -> None:
        self.by_cell.setdefault(cell, []).append((before, after))


Reroute = Callable[[CellPacket, Sequence[Heading], Failures], None]
GiveUp = Callable[[CellPacket, Heading], None]


class Forwarder:
    """Sends packets one hop. `reroute` is asked when a cell cannot be reached, `give_up` told when too many
    could not."""

    __slots__ = (
        "_beacons",
        "_give_up",
        "_host",
        "_links",
        "_options",
        "_reroute",
    )

    def __init__(
        self,
        host: Host,
        beacons: Beacons,
        links: Links,
        options: GeographicOptions,
        reroute: Reroute,
        give_up: GiveUp,
    ) -> None:
        self._host = host
        self._beacons = beacons
        self._links = links
        self._options = options
        self._reroute = reroute
        self._give_up = give_up

    def send(self, packet: CellPacket, hop: Hop, failures: Failures) -> None:
        """The hop is used up."""
        by_node, by_cell = hop.by_node, hop.by_cell
        for cell in list(by_cell) if by_node else ():
            served = [node for node in self._beacons.nodes_in(cell) if node in by_node]
            if served:
                by_node[served[0]] += by_cell.pop(cell)
        for node, legs in by_node.items():
            self._to_node(packet, *_along(packet, legs), node, failures)
        for cell, legs in by_cell.items():
            self.to_cell(packet, *_along(packet, legs), cell, failures)

    def _to_node(
        self, packet: CellPacket, befores: Sequence[Heading], onward: CellPacket, node: NodeId, failures: Failures
    ) -> None:
        def failed() -> None:
            self._reroute(packet, befores, Failures(failures.nodes | {node}, failures.cells))

        self._host.unicast(node, onward, failed)

    def to_cell(
        self,
        packet: CellPacket,
        befores: Sequence[Heading],
        onward: CellPacket,
        cell: CellId,
        failures: Failures = NO_FAILURES,
    ) -> None:
        """Some destinations of a packet to one cell, in a packet of their own."""
        here = self._beacons.where()
        members = self._links.nodes_towards(here, cell)
        left = tuple(node for node in members if node not in failures.nodes) if failures.nodes else members
        if left and len(members) - len(left) < self._options.node_tries:
            node = self._host.random.choice(left)
            known = self._beacons.neighbour(node)
            if known is not None and known.cell == here != cell:  # a member that hears that cell finds the same step
                onward = msgspec.structs.replace(packet, headings=tuple(befores))

            def failed() -> None:
                self.to_cell(packet, befores, onward, cell, Failures(failures.nodes | {node}, failures.cells))

            self._host.unicast(node, onward, failed)
        elif len(failures.cells) + 1 < self._options.cell_tries:
            self._reroute(packet, befores, Failures(failures.nodes, failures.cells | {cell}))
        else:
            for before in befores:
                self._give_up(packet, before)


def _along(packet: CellPacket, legs: list[Leg]) -> tuple[list[Heading], CellPacket]:
    """The destinations that go the same way as they are here, and the packet for them as it leaves."""
    if len(legs) == 1 and len(packet.headings) == 1:
        before, after = legs[0]
        return [before], packet if after == packet.headings[0] else msgspec.structs.replace(packet, headings=(after,))
    afters = tuple([after for _, after in legs])
    onward = packet if afters == packet.headings else msgspec.structs.replace(packet, headings=afters)
    return [before for before, _ in legs], onward
