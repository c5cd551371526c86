"""The options of Thyme-DCS. The defaults are ours; `CellStorageOptions.paper()` is the papers' configuration."""

from __future__ import annotations

import msgspec

from thyme.approaches.bounds import FrameBytes
from thyme.approaches.contents import ContentOptions
from thyme.approaches.interface import StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.model.errors import InputError
from thyme.routing.cells.addresses import GeographicOptions
from thyme.routing.cells.beacons import BeaconOptions


class GridOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The area and its cells (§4.3). A scenario fills in its own venue where nothing is said."""

    width_m: float = 0.0
    height_m: float = 0.0
    cell_m: float = 40.0
    namespace: str = ""


class CellStorageOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    grid: GridOptions = GridOptions()
    beacons: BeaconOptions = BeaconOptions()
    routing: GeographicOptions = GeographicOptions()
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    limits: StoreLimits = StoreLimits()
    past_matches: int = 10
    """n: how many of the most recent past matches are told at once (§3.3)."""
    replication_list: int = 8
    """Entries of a replication list; the active replica's is permanent (§6.2.3)."""
    active_replication: bool = True
    """Whether objects are replicated in their owner's cell, unless an insertion says otherwise (§7.1)."""
    lookups: int = 3
    """How often a retrieval that no replica has answered asks the metadata's cells where replicas are now; 0: never, as
    in the papers."""
    lookup_s: float = 1.0
    """How long it waits before it asks: copies may be changing hands."""
    searches: int = 2
    """How often the question who has an object goes round the crowd, when all else failed; 0: never."""
    search_s: float = 2.0
    """How long an answer to it is waited for."""
    replicas_in_cell: int = 0
    """How many members of the owner's cell keep an object; 0: all of them."""
    sure_members: int = 4
    """In a cell with at most so many others, an insertion is passed on to each by a packet that the link acknowledges,
    and answered after that: whoever of them remains has it. Where there are more, or 0, one broadcast tells all."""
    sure_s: float = 5.0
    """For so long after another member fell silent it is told all the same: a few beacons may have been lost, and it
    may be the one that remains."""
    confirmed: bool = False
    """Whether an insertion by a member of the very cell that keeps it is answered when another member, if there is one,
    has said that it holds it. Live nodes say yes."""
    join_wait_s: float = 2.0
    """How long a joining node listens for beacons of its cell, and then waits for the state (§6.7)."""
    join_tries: int = 3
    """How often a joining node asks without an answer before it makes do with what it has."""
    page_messages: int = 4
    """State is handed over in pages of so many messages: the next page leaves when this one has arrived."""
    page_s: float = 0.5
    """How long a joining node waits for the next page before it asks again; for the first one `join_wait_s`."""
    settle_s: float = 2.0
    """How long a node must stand before it takes part in a new cell (§7.3)."""
    walkers: int = 2
    """Walkers serve a cell in which fewer members than this are heard; 0: only those who stand serve, as in §6.6.3."""
    stretch: float = 0.75
    """How far, in sides of a cell, a walking member may be out of it while nobody else there knows what it knows."""
    walk_stay_s: float = 3.0
    """How long a walker must be going to be of use to a cell that has a member already."""
    near_cells: int = 1
    """So many cells from the one that it named last a node is still found, and need not say where it is, whether it
    walks by or joins; 0: it does at every border and whenever it joins, as in §6.4.3."""
    list_stay_s: float = 120.0
    """Who joins a cell and is going to be gone sooner, as its way goes, does not say anew where its copies are: before
    anybody looks for it there it is gone, and at a walking pace that is nearly all who walk; 0: everybody does, as in
    §6.2.3."""
    left_s: float = 20.0
    """How long a member that has left its cell, and others there know what it knew, keeps that in case it comes back;
    0: until it joins another cell, as in the papers."""
    watch_s: float = 0.5
    """How often a node looks at its own position."""
    undelivered_s: float = 30.0
    """How long notifications for a subscriber that is not where it was said to be are kept (§6.4.3)."""
    silent_ends: bool = False
    """Whether a subscriber that was waited for in vain has failed: its subscriptions end in that cell, and it has to
    subscribe again when it is back, as in §6.4.3. Otherwise they stand until their end, and it catches up."""
    undelivered: int = 500
    """Notifications kept for such subscribers."""
    resend_s: float = 5.0
    """A kept notification is tried again after this time, then after twice as long, and so on, since a NACK may be due
    to the way; 0: only when the subscriber says where it is, as in the papers."""
    catch_up: bool = True
    """Whether a subscriber that returns asks for what was published while it was away."""
    reminders: bool = True
    """Whether it goes round that a cell has lost its members, so that subscribers and owners tell whoever stands in for
    it what it knew of theirs."""
    reminder_s: float = 4.0
    """Within this time they do so, each at an instant of its own."""
    dynamic_cells: bool = True
    """Whether cells that empty or fill hand their keys over (§6.6.2, described but not implemented there)."""
    probe_s: float = 15.0
    """How often a proxy asks whether the keys it keeps for an empty cell still belong to it."""
    repair: bool = True
    """Whether members of a cell compare what they hold and repair differences (anti-entropy)."""
    repair_s: float = 2.0
    """A difference must be heard for this long before it is repaired: messages may be under way."""
    state_bytes: FrameBytes = 1_200
    """State is handed over in messages of about this size, which fit one frame."""
    notify_together: bool = False
    """Whether notifications of one instant to the same subscribers share messages. Live nodes say yes."""
    spread_load: int = 0
    """Objects under one tag above which a cell shares the tag with others; 0: never."""
    spread_cells: int = 4
    """Over how many cells a hot tag is spread."""
    spread_memory: int = 1_000
    """Hot tags that a node remembers."""
    brokered: int = 2_000
    """Requests this node answered for its cell that it remembers, to notify late of what it did not know then."""
    revoked: int = 2_000
    """Unsubscriptions remembered in a cell."""

    def __post_init__(self) -> None:
        if self.replication_list < 1:
            raise InputError(f"replication_list is {self.replication_list}; the active replica needs 1 entry")
        if self.past_matches < 1:
            raise InputError(f"past_matches is {self.past_matches}; expected at least 1")
        if self.spread_cells < 2:
            raise InputError(f"spread_cells is {self.spread_cells}; spreading a tag takes at least 2 cells")

    def as_in_the_papers(self) -> CellStorageOptions:
        """The papers' configuration: none of what they left undone."""
        return msgspec.structs.replace(
            self,
            routing=msgspec.structs.replace(self.routing, proxy_memory_s=0.0, sure_proxies=False),
            resend_s=0.0,
            silent_ends=True,
            catch_up=False,
            reminders=False,
            dynamic_cells=False,
            repair=False,
            notify_together=False,
            spread_load=0,
            replicas_in_cell=0,
            sure_members=0,
            confirmed=False,
            walkers=0,
            near_cells=0,
            list_stay_s=0.0,
            left_s=0.0,
            lookups=0,
            searches=0,
        )
