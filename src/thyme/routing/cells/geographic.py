"""Geographic routing between cells (Thyme FGCS §6.6), for the approach that stores by cells.

Addressing: `send_to_cell` ends at one random stationary node of the cell, or of its proxy if the cell is empty; the
approach may then broadcast there. `send_to_node` ends at a node in a cell, or returns as a NACK (`undelivered`,
§6.6.4). `broadcast_in_cell` reaches all nodes in this node's cell, once and unacknowledged. `send_to_many` sends one
packet to several destinations, which splits only where the next hops differ (§6.6.5). `send_to_proxy` goes to the cell
that would keep a cell's keys if it were empty: a node that is about to fill a cell fetches them there, and one that is
about to empty it leaves them there (§6.6.2).

Every send returns a number, which `undelivered` repeats. There are no other guarantees: a packet may be lost, and
recovery is up to the approach (§4.3). No node receives a packet twice, but two nodes of a cell may each receive it
after a lost acknowledgement, so messages to a cell should be idempotent.

Only stationary nodes route (§6.6.3), according to `Beacons.stationary`. A moving node sends its packets, its own or
not, to a stationary neighbour; `send_to_node` still reaches it as long as it beacons. Between cells a packet goes by
unicast to a random stationary node; if the link fails, another node of that cell is tried and then another cell, each a
bounded number of times. A node that receives a packet and has changed since its last beacon sends a beacon at once;
otherwise neighbours with outdated tables would send it the same packet again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import partial

import msgspec

from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import CellId, NodeId
from thyme.model.records import Counted, TrafficKind
from thyme.routing.cells.addresses import Arrival, Deliver, Destination, Form, GeographicOptions, Undelivered
from thyme.routing.cells.beacons import Beacons
from thyme.routing.cells.forwarding import NO_FAILURES, Failures, Forwarder, Hop
from thyme.routing.cells.grid import Grid
from thyme.routing.cells.links import Links
from thyme.routing.cells.planar import Far
from thyme.routing.cells.proxies import Proxies
from thyme.routing.cells.steps import End, Onward, Ways, turning_back, without
from thyme.wire.codec import DecodeError
from thyme.wire.geographic import ANY_NODE, CellBroadcast, CellPacket, Heading, NodeAbsent, makes_sense
from thyme.wire.message import Message

_NUMBERS = 1 << 32


class GeographicRouter:
    """Sends this node's messages between cells and forwards those of others."""

    __slots__ = (
        "_arrived",
        "_beacons",
        "_deliver",
        "_forwarder",
        "_greedy_hops",
        "_grid",
        "_hop_limit",
        "_host",
        "_leap_beyond",
        "_links",
        "_number",
        "_options",
        "_passed",
        "_proxies",
        "_reach_cells",
        "_undelivered",
        "_ways",
    )

    def __init__(
        self,
        host: Host,
        grid: Grid,
        beacons: Beacons,
        deliver: Deliver,
        undelivered: Undelivered,
        options: GeographicOptions | None = None,
    ) -> None:
        self._host = host
        self._grid = grid
        self._beacons = beacons
        self._deliver = deliver
        self._undelivered = undelivered
        self._options = options or GeographicOptions()
        self._links = Links(grid, beacons, self._options.far_links)
        self._forwarder = Forwarder(host, beacons, self._links, self._options, self._route, self._give_up)
        self._ways = Ways(grid)
        self._hop_limit = self._options.hops_within(grid)
        self._leap_beyond = self._options.leap_beyond
        self._reach_cells = 2 if self._options.leap_beyond else 1
        self._greedy_hops = grid.columns + grid.rows
        """More hops than a path without a detour takes."""
        self._proxies = Proxies(host.now, self._options.proxy_memory_s)
        self._number = host.random.getrandbits(32)
        self._arrived: Bounded[tuple[NodeId, int, CellId, NodeId], None] = Bounded(self._options.memory)
        self._passed: Bounded[tuple[NodeId, int, Heading], int] = Bounded(self._options.memory)
        """The hop counts of packets on tours that passed here."""

    def start(self) -> None:
        """Nothing to do; the owner of the beacons starts them."""

    def send_to_cell(self, cell: CellId, message: Message) -> int:
        """To one random node of the cell, or of its proxy."""
        if cell == self._beacons.where() and self._beacons.participates():
            return self._tell_itself(cell, Form.CELL, message)
        return self._send([Heading(cell)], message)

    def send_to_node(self, node: NodeId, cell: CellId, message: Message) -> int:
        """To a node that should be in the cell; `undelivered` is called if it is known not to be."""
        if node == self._host.node:
            return self._tell_itself(cell, Form.NODE, message)
        here = self._beacons.where()
        if self._in_reach(node, here, NO_FAILURES):
            return self._send_to_neighbour(here, Heading(cell, node), message)
        return self._send([Heading(cell, node)], message)

    def send_to_many(self, destinations: Iterable[Destination], message: Message) -> int:
        """One message to several destinations, each once, in as few packets as possible."""
        once = dict.fromkeys(destinations)
        if len(once) == 1:
            (only,) = once
            if only.node == ANY_NODE:
                return self.send_to_cell(only.cell, message)
            return self.send_to_node(only.node, only.cell, message)
        return self._send([Heading(destination.cell, destination.node) for destination in once], message)

    def send_to_proxy(self, cell: CellId, message: Message) -> int:
        """To one random node of the cell that would be the proxy if `cell` were empty. If no other node is in range,
        the message is dropped."""
        return self._send([Heading(cell, beside=True)], message)

    def broadcast_in_cell(self, message: Message, cell: CellId | None = None) -> None:
        """To all other nodes in this node's cell, or in a cell next to it."""
        here = self._beacons.cell
        self._host.broadcast(CellBroadcast(here if cell is None else cell, here, self._host.codec.encode(message)))

    def tell_each_in_cell(
        self,
        message: Message,
        cell: CellId | None = None,
        most: int = 0,
        silent: Iterable[NodeId] = (),
        but: NodeId | None = None,
    ) -> None:
        """As `broadcast_in_cell`, but for at most `most` receivers an acknowledged unicast to each. Later messages of
        this node leave after it. `silent` nodes, whose beacons are missing, are tried too, and one node may be
        excluded."""
        to = self._beacons.cell if cell is None else cell
        others = [Destination(to, node) for node in self._beacons.nodes_in(to) if node != but]
        if not most or len(others) > most:
            self.broadcast_in_cell(message, cell)
            return
        if others:
            self.send_to_many(others, message)
        unheard = [Heading(to, node) for node in silent if not self._hears(node)]
        if unheard:
            self._try_directly(unheard, message)

    def remember_proxy(self, cell: CellId) -> None:
        """This node's cell is the proxy of `cell`, as another member has just found out: packets for it need no tour
        for a while (`GeographicOptions.proxy_memory_s`)."""
        here, populated = self._beacons.cell, self._beacons.populated()
        self._proxies.remember(Heading(cell), here, self._neighbours(here, populated, self._links.far(here, populated)))

    def receive(self, sender: NodeId, message: Message) -> bool:
        if isinstance(message, CellPacket):
            self.take(sender, message)
        elif isinstance(message, CellBroadcast):
            self.hear(sender, message)
        else:
            return False
        return True

    def take(self, sender: NodeId, packet: CellPacket) -> None:
        """A packet from a neighbour: deliver or forward it."""
        beacons = self._beacons
        here, member = beacons.where(), beacons.participates()
        beacons.correct(here, member)
        if not makes_sense(packet, self._grid.size, self._options.max_headings):
            self._drop("nonsense")
        elif packet.hops + 1 > self._hop_limit:
            self._drop("hop limit")
        else:
            packet = msgspec.structs.replace(packet, hops=packet.hops + 1)
            only = packet.headings[0] if len(packet.headings) == 1 else None
            if only is not None and only.node == self._host.node:
                self._arrive(packet, only, proxied=False)
                return
            ahead = self._straight_ahead(packet, here) if member and only is not None else None
            if ahead is not None:
                self._forwarder.to_cell(packet, packet.headings, packet, ahead)
            else:
                self._route(packet, packet.headings)

    def hear(self, sender: NodeId, message: CellBroadcast) -> None:
        """A broadcast of a neighbour, which may be for another cell."""
        if message.cell == self._beacons.cell:
            payload = self._read(message.payload)
            if payload is not None:
                self._deliver(Arrival(sender, message.origin_cell, payload, message.cell, Form.BROADCAST))

    def _send(self, headings: list[Heading], message: Message) -> int:
        for heading in headings:
            self._grid.place(heading.cell)
        number = self._next_number()
        payload = self._host.codec.encode(message)
        for first in range(0, len(headings), self._options.max_headings):
            some = tuple(headings[first : first + self._options.max_headings])
            self._launch(some, number, True, payload)
        return number

    def _send_to_neighbour(self, here: CellId, heading: Heading, message: Message) -> int:
        """As `_send`, on the direct path. If it fails, another one is tried."""
        self._grid.place(heading.cell)
        number, codec = self._next_number(), self._host.codec
        payload = codec.encode_for_neighbour(message)
        packet = CellPacket(self._host.node, here, number, (heading,), 0, True, payload)

        def failed() -> None:
            onward = msgspec.structs.replace(packet, payload=codec.encode(message))
            self._route(onward, packet.headings, Failures(frozenset({heading.node})))

        self._host.unicast(heading.node, packet, failed)
        return number

    def _tell_itself(self, cell: CellId, form: Form, message: Message) -> int:
        """This node is the destination, or a member of the cell. A local message need not be encoded, and arrives
        once."""
        self._grid.place(cell)
        number = self._next_number()
        arrival = Arrival(self._host.node, self._beacons.where(), message, cell, form, False, 0, number)
        self._host.after(0.0, partial(self._deliver, arrival))
        return number

    def _try_directly(self, headings: list[Heading], message: Message) -> None:
        """To nodes that may be in range although their beacons are missing; a failure is not reported."""
        payload, number = self._host.codec.encode(message), self._next_number()
        packet = CellPacket(self._host.node, self._beacons.cell, number, tuple(headings), 0, False, payload)
        hop = Hop()
        for heading in headings:
            hop.to_node(heading.node, heading)
        self._forwarder.send(packet, hop, NO_FAILURES)

    def _launch(self, headings: tuple[Heading, ...], number: int, answer: bool, payload: bytes) -> None:
        packet = CellPacket(self._host.node, self._beacons.cell, number, headings, 0, answer, payload)
        self._route(packet, headings)

    def _next_number(self) -> int:
        self._number = (self._number + 1) % _NUMBERS
        return self._number

    def _straight_ahead(self, packet: CellPacket, here: CellId) -> CellId | None:
        """Where `_route` would send most packets, which have one distant destination and a populated cell straight
        ahead: no other cell can be closer. None in all other cases."""
        heading = packet.headings[0]
        node = heading.node
        if heading.detour is not None or heading.beside or packet.hops > self._greedy_hops:
            return None
        beacons = self._beacons
        if node != ANY_NODE and (node == self._host.node or beacons.neighbour(node) is not None):
            return None
        populated = beacons.cells
        leap = self._leap(here, heading, populated)
        if leap is not None:
            return leap
        ahead = self._grid.towards(here, heading.cell)
        return ahead if ahead != here and ahead in populated else None

    def _leap(self, here: CellId, heading: Heading, populated: Set[CellId]) -> CellId | None:
        """Long paths take two cells per hop, if the radio range allows it."""
        beyond = self._leap_beyond
        if not beyond or heading.detour is not None or heading.beside:
            return None
        leaps = self._grid.leaps(here, heading.cell, beyond)
        if leaps is None:
            return None
        aside, straight = leaps
        return aside if aside in populated else straight if straight in populated else None

    def _route(self, packet: CellPacket, headings: Sequence[Heading], failures: Failures = NO_FAILURES) -> None:
        """One hop: find where each destination goes next, and send one packet per next hop."""
        here, member = self._beacons.where(), self._beacons.participates()
        populated = self._beacons.populated()
        # A cell that did not answer may still be populated: other nodes on a tour may know better.
        sure = self._options.sure_proxies and not failures.cells
        far = self._links.far(here, populated)
        if failures.cells:
            populated -= failures.cells
            far = without(far, failures.cells)
        hop = Hop()
        for heading in headings:
            if heading.node == self._host.node:
                self._arrive(packet, heading, proxied=False)
                continue
            if self._in_reach(heading.node, here, failures):
                hop.to_node(heading.node, heading)
                continue
            if self._circles(packet, heading):
                if heading.detour is None or heading.detour.over:
                    self._give_up(packet, heading, "in circles")
                    continue
                heading = turning_back(here, heading)
            step = self._step(here, member, populated, heading, far, sure=sure)
            if isinstance(step, Onward):
                hop.to_cell(step.cell, heading, step.heading)
            elif heading.node != ANY_NODE and heading.node not in failures.nodes and self._may_hear(heading.node):
                hop.to_node(heading.node, heading)
            elif heading.node != ANY_NODE:
                self._report_absent(packet, heading)
            elif step is End.STRANDED:
                self._drop("nobody in reach")
            else:
                self._arrive(packet, heading, proxied=step is End.PROXIED)
        self._forwarder.send(packet, hop, failures)

    def _step(
        self, here: CellId, member: bool, populated: frozenset[CellId], heading: Heading, far: Far, *, sure: bool
    ) -> Onward | End:
        leap = self._leap(here, heading, populated) if member else None
        if leap is not None:
            return Onward(leap, heading)
        step = self._ways.step(here, member, populated, heading, far, sure)
        if isinstance(step, Onward) and not _sets_out(heading, step.heading):
            return step
        neighbours = self._neighbours(here, populated, far)
        if step is End.PROXIED:
            self._proxies.remember(heading, here, neighbours)
        elif isinstance(step, Onward) and self._proxies.known(heading, here, neighbours):
            return End.PROXIED
        return step

    def _neighbours(self, here: CellId, populated: frozenset[CellId], far: Far) -> frozenset[CellId]:
        return populated.intersection(self._grid.around(here)) | far.cells

    def _circles(self, packet: CellPacket, heading: Heading) -> bool:
        """Whether this node forwarded the packet under the same heading some hops ago. It would return again,
        because nodes move or links fail and cells have different views. Greedy paths are short, so only long ones
        can be loops."""
        if heading.detour is None and packet.hops <= self._greedy_hops:
            return False
        key = (packet.origin, packet.number, heading)
        before = self._passed.get(key)
        if before is None:
            self._passed[key] = packet.hops
        return before is not None and before < packet.hops

    def _in_reach(self, node: NodeId, here: CellId, failures: Failures) -> bool:
        """Whether a node can be reached directly: its beacons arrive, and it is near enough."""
        neighbour = self._beacons.neighbour(node) if node not in failures.nodes else None
        if neighbour is None:
            return False
        far = self._options.far_links and self._beacons.names(node, here)
        return far or self._grid.steps(here, neighbour.cell) <= self._reach_cells

    def _hears(self, node: NodeId) -> bool:
        return self._beacons.neighbour(node) is not None

    def _may_hear(self, node: NodeId) -> bool:
        """Whether to try a node at the end of a packet's path."""
        return self._beacons.rare or self._hears(node)

    def _give_up(self, packet: CellPacket, heading: Heading, reason: str = "no link") -> None:
        self._drop(reason)
        self._report_absent(packet, heading)

    def _arrive(self, packet: CellPacket, heading: Heading, proxied: bool) -> None:
        key = (packet.origin, packet.number, heading.cell, heading.node)
        if key in self._arrived:
            return
        self._arrived[key] = None
        message = self._read(packet.payload)
        if message is None:
            return
        if isinstance(message, NodeAbsent):
            self._undelivered(message.node, message.cell, message.number)
            return
        form = Form.CELL if heading.node == ANY_NODE else Form.NODE
        arrival = Arrival(
            packet.origin, packet.origin_cell, message, heading.cell, form, proxied, packet.hops, packet.number
        )
        if packet.hops:
            self._deliver(arrival)
        else:
            self._host.after(0.0, lambda: self._deliver(arrival))

    def _report_absent(self, packet: CellPacket, heading: Heading) -> None:
        if not packet.answer or heading.node == ANY_NODE:
            return
        if packet.origin == self._host.node:
            self._host.after(0.0, lambda: self._undelivered(heading.node, heading.cell, packet.number))
            return
        absent = self._host.codec.encode(NodeAbsent(packet.number, heading.node, heading.cell))
        self._launch((Heading(packet.origin_cell, packet.origin),), self._next_number(), False, absent)

    def _read(self, payload: bytes) -> Message | None:
        try:
            return self._host.codec.decode(payload)
        except DecodeError:
            self._drop("unreadable")
            return None

    def _drop(self, reason: str) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, "CellPacket", reason=reason))


def _sets_out(before: Heading, after: Heading) -> bool:
    """Whether a detour starts with this step."""
    if after.detour is None:
        return False
    return before.detour is None or before.detour.entry != after.detour.entry
