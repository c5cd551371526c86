"""The benchmark of movement and contacts: simulated seconds per second of CPU time.

Nodes walk 4 km × 4 km for 8 hours with a range of 250 m (SocialCast's world). The first figure covers drawing
the movement and finding every contact of it exactly; the second adds a spray-and-wait load, one message every
30 s, carried over those contacts. Compilation is done before the clock starts: it is paid once per
installation.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.printing import table_console
from benchmarks.spray_and_wait import SprayAndWait, spray_and_wait
from thyme.world.contacts.encounters import contacts_of
from thyme.world.mobility.community import Community, community_movement
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint
from thyme.world.movement import Movement

SIDE_M = 4_000.0
RANGE_M = 250.0
DURATION_S = 28_800.0
WALK = Waypoint(1.0, 6.0)

ResultT = TypeVar("ResultT")


class ContactsRow(msgspec.Struct, frozen=True):
    """One crowd: CPU seconds of the parts, and simulated seconds per CPU second without and with messages."""

    mobility: str
    nodes: int
    simulated_s: float
    legs: int
    contacts: int
    movement_cpu_s: float
    contacts_cpu_s: float
    messages_cpu_s: float
    delivery: float

    @property
    def rate(self) -> float:
        """Simulated seconds per CPU second, movement and contacts only."""
        return self.simulated_s / (self.movement_cpu_s + self.contacts_cpu_s)

    @property
    def rate_with_messages(self) -> float:
        return self.simulated_s / (self.movement_cpu_s + self.contacts_cpu_s + self.messages_cpu_s)


def bench_contacts(
    sizes: Sequence[int] = (100, 1_000), duration_s: float = DURATION_S, seed: int = 1
) -> list[ContactsRow]:
    """Measure random waypoint at every size, and community mobility at the smallest."""
    _measure("community", 20, 100.0, seed)
    _measure("waypoint", 20, 100.0, seed)
    rows = [_measure("waypoint", nodes, duration_s, seed) for nodes in sorted(sizes)]
    return [*rows, _measure("community", min(sizes), duration_s, seed)]


def render(rows: Sequence[ContactsRow], console: Console | None = None) -> None:
    """Print the table."""
    hours = ", ".join(sorted({f"{row.simulated_s / 3600.0:g} h" for row in rows}))
    table = Table(
        title="Contacts: simulated seconds per second of CPU time",
        caption=f"{hours}; 4 km × 4 km, range 250 m; messages: spray and wait, 6 copies, one every 30 s",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("mobility", no_wrap=True)
    for heading in ("nodes", "contacts", "CPU s", "rate", "+ messages", "rate", "delivered"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        cpu_s = row.movement_cpu_s + row.contacts_cpu_s
        table.add_row(
            row.mobility,
            f"{row.nodes:,}",
            f"{row.contacts:,}",
            f"{cpu_s:.2f}",
            f"{row.rate:,.0f}",
            f"{cpu_s + row.messages_cpu_s:.2f}",
            f"{row.rate_with_messages:,.0f}",
            f"{row.delivery:.3f}",
        )
    (console or table_console()).print(table)


def _measure(mobility: str, nodes: int, duration_s: float, seed: int) -> ContactsRow:
    movement, movement_cpu_s = _timed(lambda: _movement(mobility, nodes, duration_s, seed))
    contacts, contacts_cpu_s = _timed(lambda: contacts_of(movement, RANGE_M, duration_s))
    outcome, messages_cpu_s = _timed(lambda: spray_and_wait(contacts, SprayAndWait(), duration_s, seed))
    return ContactsRow(
        mobility=mobility,
        nodes=nodes,
        simulated_s=duration_s,
        legs=len(movement.start_s),
        contacts=len(contacts),
        movement_cpu_s=movement_cpu_s,
        contacts_cpu_s=contacts_cpu_s,
        messages_cpu_s=messages_cpu_s,
        delivery=outcome.ratio,
    )


def _movement(mobility: str, nodes: int, duration_s: float, seed: int) -> Movement:
    if mobility == "community":
        return community_movement(nodes, SIDE_M, SIDE_M, Community(), duration_s, seed).movement
    places = uniform_places(nodes, SIDE_M, SIDE_M, seed)
    return random_waypoint(places, SIDE_M, SIDE_M, WALK, duration_s, seed)


def _timed(action: Callable[[], ResultT]) -> tuple[ResultT, float]:
    began_s = time.process_time()
    result = action()
    return result, time.process_time() - began_s
