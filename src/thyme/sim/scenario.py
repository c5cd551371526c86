"""A scenario: everything that a run depends on besides its trace, as one record that a TOML file describes.

The sections name the venue, the movement, the radio, who leaves and returns, the approach with its settings, and the
time line. Whatever is not given has the value of the Thyme papers' static evaluation (FGCS §9.2), except that the
radio is a unit disc unless a file says otherwise. Same scenario, trace and seed: same events.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from thyme.approaches.registry import find_approach
from thyme.approaches.user import UserOptions
from thyme.model.errors import InputError
from thyme.sim.energy import EnergyOptions
from thyme.sim.faults import Rule
from thyme.sim.radios.disc import DiscOptions
from thyme.sim.radios.wifi.profiles import WifiOptions
from thyme.world.churn import Alternation
from thyme.world.mobility.waypoint import Waypoint
from thyme.world.venue import Venue, paper_venue, venue_for

if TYPE_CHECKING:
    from thyme.world.mobility.community import Community

MAX_NODES = 100_000
PAPER_SIZES = (16, 36, 64, 100, 144, 196)


class VenueSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where it happens. Without a width and a height, the area that holds two nodes per cell (FGCS §9.2)."""

    width_m: float | None = None
    height_m: float | None = None
    cell_m: float = 40.0
    nodes_per_cell: float = 2.0


class MovementSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the crowd moves: not at all (at random places, or those of a `file`), by random waypoints, in communities, or
    as a movement `trace` says; or not positions but who met whom is known (`contacts`: a contact trace)."""

    model: Literal["static", "waypoint", "community", "file", "trace", "contacts"] = "static"
    file: str = ""
    waypoint: Waypoint = Waypoint()
    community: dict[str, Any] = {}
    """Keys of `thyme.world.mobility.community.Community`."""
    begin_s: float | None = None
    """The instant of a contact trace at which the run begins; that of the first contact if none is given."""


class RadioSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The air: a unit disc, or 802.11g."""

    model: Literal["disc", "wifi"] = "disc"
    disc: DiscOptions = DiscOptions()
    profile: Literal["thyme", "def", "p27"] = "thyme"
    """The 802.11g world: ours (113 m), ns-3.44's defaults (51 m) or ns-3.27's (100 m)."""
    wifi: WifiOptions = WifiOptions()
    energy: EnergyOptions = EnergyOptions()


class ChurnSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who leaves, returns or comes late: nobody; a share of nodes that leaves for good, each at an instant of its own
    (`leave`) or all at `from_s` (`crash`); a share that switches on and off (`alternate`); a share that is off at first
    and comes between `from_s` and `to_s` (`join`)."""

    model: Literal["none", "leave", "crash", "alternate", "join"] = "none"
    fraction: float = 0.0
    nodes: tuple[int, ...] = ()
    """The nodes concerned; a random share of `fraction` if none are named."""
    keep_cells: bool = False
    """Whether the drawn nodes leave at least one in each cell of the venue."""
    from_s: float = 200.0
    to_s: float = 300.0
    alternation: Alternation = Alternation()


class TimeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """FGCS §9.2: nodes join between 30 and 60 s, operations follow until 660 s, the run ends at 720 s."""

    join_from_s: float = 30.0
    join_to_s: float = 60.0
    until_s: float = 720.0


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = "scenario"
    nodes: int = 64
    seed: int = 1
    topology: int = 0
    """Which of the random placements of this seed; runs that differ only in `repetition` share it."""
    repetition: int = 0
    approach: str = "ls"
    settings: dict[str, Any] = {}
    venue: VenueSection = VenueSection()
    movement: MovementSection = MovementSection()
    radio: RadioSection = RadioSection()
    churn: ChurnSection = ChurnSection()
    time: TimeLine = TimeLine()
    users: UserOptions = UserOptions()
    faults: tuple[Rule, ...] = ()
    trace: str = ""
    servers: int = 1
    """Nodes added in the middle of the area for an approach that needs servers (Thyme-ES); they have no user."""

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MAX_NODES:
            raise InputError(f"nodes is {self.nodes}; expected 1 to {MAX_NODES}")
        if not 0.0 <= self.time.join_from_s <= self.time.join_to_s <= self.time.until_s:
            raise InputError("[time]: expected 0 ≤ join_from_s ≤ join_to_s ≤ until_s")
        if self.churn.nodes and self.churn.fraction:
            raise InputError("[churn]: give either nodes or a fraction of them, not both")
        if self.servers < 1:
            raise InputError(f"servers is {self.servers}; expected at least 1")
        present = self.nodes + len(self.server_nodes)
        strangers = [node for node in self.churn.nodes if not 0 <= node < present]
        if strangers:
            raise InputError(f"[churn] nodes: there is no node {strangers[0]}; the scenario has 0 to {present - 1}")
        if self.movement.model == "community":
            community_of(self.movement.community)
        find_approach(self.approach).configure(self.settings, "[settings]")

    @property
    def server_nodes(self) -> tuple[int, ...]:
        needed = find_approach(self.approach).capabilities.needs_server
        return tuple(range(self.nodes, self.nodes + self.servers)) if needed else ()

    @property
    def place_seed(self) -> int:
        """The seed of everything that a topology fixes: places and ways."""
        return self.seed * 1_000_003 + self.topology

    @property
    def run_seed(self) -> int:
        return self.place_seed * 1_000_033 + self.repetition

    def area(self) -> Venue:
        section = self.venue
        if section.width_m is not None and section.height_m is not None:
            return Venue(section.width_m, section.height_m, section.cell_m)
        if section.width_m is not None or section.height_m is not None:
            raise InputError("[venue]: give both width_m and height_m, or neither")
        if self.nodes in PAPER_SIZES and section.nodes_per_cell == 2.0 and section.cell_m == 40.0:
            return paper_venue(self.nodes)
        return venue_for(self.nodes, section.nodes_per_cell, section.cell_m)


def community_of(given: Mapping[str, Any], where: str = "[movement.community]") -> Community:
    """The options of community mobility, checked."""
    # Imported here because the compiled code behind it takes a while to load, and few scenarios need it.
    from thyme.world.mobility.community import Community
    from thyme.world.mobility.social import Caves

    for table, record in ((given, Community), (given.get("caves", {}), Caves)):
        fields = [field.name for field in msgspec.structs.fields(record)]
        unknown = [key for key in table if key not in fields]
        if unknown:
            raise InputError(f"{where}: there is no key {unknown[0]!r}; expected some of {', '.join(fields)}")
    try:
        return msgspec.convert(dict(given), Community, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}") from error


def scenario_of(given: Mapping[str, Any], where: str) -> Scenario:
    """Check what a person gave; errors name the place and the key."""
    try:
        return msgspec.convert(dict(given), Scenario, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {error}") from error


def load_toml(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; expected a TOML file") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a text file; expected TOML") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: not valid TOML: {error}") from error


def load_scenario(path: Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    given = load_toml(path)
    for key, value in (changes or {}).items():
        set_key(given, key, value)
    return scenario_of(given, str(path))


def set_key(table: dict[str, Any], dotted: str, value: Any) -> None:
    """Set `a.b.c` in nested tables, as `--set a.b.c=value` does."""
    *parents, last = dotted.split(".")
    for parent in parents:
        below = table.setdefault(parent, {})
        if not isinstance(below, dict):
            raise InputError(f"{dotted}: {parent!r} is a value, not a section")
        table = below
    table[last] = value


def parse_setting(text: str) -> tuple[str, Any]:
    """Read `key=value`, the value as TOML would (a bare word is a string)."""
    key, separator, value = text.partition("=")
    if not separator or not key.strip():
        raise InputError(f"--set {text}: expected key=value, such as radio.disc.range_m=80")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value.strip()
