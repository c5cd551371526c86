"""The options of Thyme-DCS. The defaults are ours; `paper = true` is the papers' configuration."""

from __future__ import annotations

import msgspec

from thyme.approaches.contents import ContentOptions
from thyme.approaches.interface import StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import AtLeastOne
from thyme.routing.cells.addresses import GeographicOptions
from thyme.routing.cells.beacons import BeaconOptions


class GridOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The area and its cells (§4.3). A scenario fills in its own venue where nothing is said."""

    width_m: float = 0.0
    """Width of the area."""
    height_m: float = 0.0
    """Height of the area."""
    cell_m: float = 40.0
    """Side of a cell."""
    namespace: str = ""
    """Hashed with each tag, so that namespaces use different cells."""


ALL_AT_ONCE = 1_000


class CellStorageOptions(SettingsRecord, frozen=True, forbid_unknown_fields=True):
    """Thyme-DCS; `paper` switches off whatever the papers did not implement."""

    grid: GridOptions = GridOptions()
    beacons: BeaconOptions = BeaconOptions()
    routing: GeographicOptions = GeographicOptions()
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    limits: StoreLimits = StoreLimits()
    past_matches: AtLeastOne = 10
    """n: how many of the most recent past matches are delivered at once (§3.3)."""
    replication_list: AtLeastOne = 8
    """Entries of a replication list; the active replica's is permanent (§6.2.3)."""
    active_replication: bool = True
    """Whether objects are replicated in their owner's cell, unless an insertion says otherwise (§7.1)."""
    lookups: int = 3
    """How often a retrieval that no replica has answered asks the metadata's cells for the current replicas; 0: never,
    as in the papers."""
    searches: int = 2
    """How often a request for the holders of an object is flooded when all else failed; 0: never."""
    copies: int = 3
    """Devices that hold a content larger than one message, its owner and those who retrieved it included. Smaller ones
    are part of the cell's state. 0: all members of the owner's cell hold every content, as in the papers."""
    cast: bool = True
    """Whether the owner broadcasts a content of several parts when it is inserted (§8). Not on live nodes, whose
    broadcasts are mostly a datagram to each peer."""
    fetches: AtLeastOne = 1
    """Contents that a node fetches at once."""
    sure_members: int = 4
    """In a cell with at most so many other members, an insertion is sent to each in an acknowledged packet before it is
    answered, so that any member that remains has it. With more members, or 0, one broadcast goes to all."""
    confirmed: bool = False
    """Whether an insertion by a member of the cell that keeps it is answered only after another member, if there is
    one, has confirmed it. Live nodes set this."""
    join_wait_s: float = 2.0
    """How long a joining node listens for beacons of its cell, and then waits for the state (§6.7)."""
    join_tries: int = 3
    """How often a joining node asks without an answer before it continues with what it has."""
    page_s: float = 0.5
    """How long a joining node waits for the next page before it asks again; for the first one `join_wait_s`."""
    settle_s: float = 2.0
    """How long a node must be stationary before it joins a new cell (§7.3)."""
    walkers: int = 2
    """Moving nodes serve a cell that has fewer members in range than this; 0: only stationary nodes serve, as in
    §6.6.3."""
    near_cells: int = 1
    """A node is still found within so many cells of its last reported location and sends no update there, whether it
    moves on or joins; 0: it sends one at every border and whenever it joins, as in §6.4.3."""
    list_stay_s: float = 120.0
    """A node that joins a cell and is expected to leave it sooner than this does not report its copies again: it would
    be gone before a request arrives. At walking pace that is nearly every moving node. 0: every node reports, as in
    §6.2.3."""
    left_s: float = 20.0
    """How long a member that left its cell keeps the cell's state, in case it returns, if other members have it too; 0:
    until it joins another cell, as in the papers."""
    undelivered_s: float = 30.0
    """In the papers' configuration: how long notifications are kept for a subscriber that is not at its reported
    location (§6.4.3). After that it counts as failed: its subscriptions end in that cell, and it has to subscribe
    again."""
    undelivered: int = 500
    """Most notifications kept for such subscribers; otherwise, most subscribers waiting for a hint to compare."""
    reconcile: bool = True
    """Whether subscribers and cells compare notified with matching objects when something may be missing."""
    reminders: bool = True
    """Whether the loss of a cell's members is announced, so that subscribers and owners send its proxy what it should
    know."""
    reminder_s: float = 4.0
    """They send it at a random time within this delay."""
    dynamic_cells: bool = True
    """Whether cells that empty or fill hand their keys over (§6.6.2, described but not implemented there)."""
    probe_s: float = 15.0
    """How often a proxy checks whether it still has to keep the keys of an empty cell."""
    repair: bool = True
    """Whether members of a cell compare what they hold and repair differences (anti-entropy)."""
    repair_s: float = 2.0
    """A difference must last this long before it is repaired: messages may be in transit."""
    notify_together: bool = False
    """Whether notifications of one instant to the same subscribers share messages. Live nodes set this."""
    revoked: int = 2_000
    """Unsubscriptions remembered in a cell."""
    paper: bool = False
    """The papers' configuration: switches off what the papers did not implement."""

    def as_in_the_papers(self) -> CellStorageOptions:
        """The papers' configuration, without the parts that they did not implement."""
        return msgspec.structs.replace(
            self,
            routing=self.routing.as_in_the_paper(),
            reconcile=False,
            reminders=False,
            dynamic_cells=False,
            repair=False,
            notify_together=False,
            copies=0,
            cast=False,
            fetches=ALL_AT_ONCE,
            sure_members=0,
            confirmed=False,
            walkers=0,
            near_cells=0,
            list_stay_s=0.0,
            left_s=0.0,
            lookups=0,
            searches=0,
        )
