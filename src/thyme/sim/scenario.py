"""A scenario: everything that a run depends on besides its trace, as one record that a TOML file describes.

The sections name the venue, the movement, the radio, who leaves and returns, the approach with its settings, and the
time line. Whatever is not given has the value of the Thyme papers' static evaluation (FGCS §9.2), except that the
radio is a unit disc unless a file says otherwise. Same scenario, trace and seed: same events.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from thyme.approaches.deciding import Needs, decide
from thyme.approaches.decision_table import Contents, CrowdKind, density_of
from thyme.approaches.registry import APPROACHES, find_approach
from thyme.approaches.user import UserOptions
from thyme.model.errors import InputError
from thyme.model.settings import SettingsSource, check_bounds, model_of, read_toml, set_key, to_record
from thyme.model.settings.bounds import AtLeastOne, NotNegative, Positive
from thyme.sim.disk import DiskSection
from thyme.sim.faults import Rule
from thyme.sim.radios.models import DiscModel, RadioModel
from thyme.world.churn import Alternate, ChurnModel, Crash, Join, Leave, NoChurn
from thyme.world.movement_models import Community, MovementModel, Places, Static, Waypoint
from thyme.world.venue import Venue, paper_venue, venue_for

AUTO = "auto"
MAX_NODES = 100_000
PAPER_SIZES = (16, 36, 64, 100, 144, 196)


class VenueSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where it happens. Without a width and a height, the area that holds two nodes per cell (FGCS §9.2)."""

    width_m: Positive | None = None
    """From west to east; give both sides or neither."""
    height_m: Positive | None = None
    """From south to north."""
    cell_m: Positive = 40.0
    """Side of the cells that Thyme-DCS divides the venue into."""
    nodes_per_cell: Positive = 2.0
    """How dense the crowd is where no sides are given."""


class TimeLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """FGCS §9.2: nodes join between 30 and 60 s, operations follow until 660 s, the run ends at 720 s."""

    join_from_s: NotNegative = 30.0
    """Each node joins at an instant of its own from here …"""
    join_to_s: NotNegative = 60.0
    """… to here."""
    until_s: NotNegative = 720.0
    """When the run ends."""


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a run depends on besides its trace."""

    name: str = "scenario"
    """Name in reports."""
    nodes: Annotated[int, msgspec.Meta(ge=1, le=MAX_NODES)] = 64
    """People, each with a device."""
    seed: int = 1
    """Seed of all random choices."""
    topology: int = 0
    """Which of the random placements of this seed; runs that differ only in `repetition` share it."""
    repetition: int = 0
    """Number of the run with the same positions; all other random choices differ."""
    approach: str = "ls"
    """How data is shared; "auto" takes the approach that the decision map recommends for such a crowd (`thyme study
    map`)."""
    settings: dict[str, Any] = {}
    """Of the approach; `thyme scenario new --approach NAME` lists them."""
    venue: VenueSection = VenueSection()
    movement: MovementModel = Static()
    """How the crowd moves."""
    radio: RadioModel = DiscModel()
    """The air."""
    churn: ChurnModel = NoChurn()
    """Nodes that leave, return or arrive late."""
    time: TimeLine = TimeLine()
    users: UserOptions = UserOptions()
    faults: tuple[Rule, ...] = ()
    clock_skew_s: NotNegative = 0.0
    """Each node's clock is ahead of the true time by a constant of its own, drawn from 0 to this."""
    signed: bool = False
    """Objects, subscriptions and their ends carry the bytes of signatures, as on live nodes."""
    disk: DiskSection = DiskSection()
    trace: str = ""
    """The file of operations, relative to the scenario file; `--trace` takes another."""
    servers: AtLeastOne = 1
    """Nodes added to the area for an approach that needs servers (Thyme-ES); they have no user."""
    servers_at: Literal["middle", "corner", "random"] = "middle"
    """Positions: spread along the long middle line, together in a corner, or random."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not 0.0 <= self.time.join_from_s <= self.time.join_to_s <= self.time.until_s:
            raise InputError("[time]: expected 0 ≤ join_from_s ≤ join_to_s ≤ until_s")
        present = self.nodes + len(self.server_nodes)
        strangers = [node for node in self.churn.concerned() if not 0 <= node < present]
        if strangers:
            raise InputError(f"[churn] nodes: there is no node {strangers[0]}; the scenario has 0 to {present - 1}")
        if not (self.movement.knows_places or self.radio.plays_contacts):
            raise InputError(
                f'[movement] model = "{model_of(self.movement)}" has no positions; use it with [radio] model = "disc"'
            )
        find_approach(self.approach).configure(self.settings)
        _check_fit(self.approach, self.movement)

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


def scenario_of(given: Mapping[str, Any], where: str | SettingsSource) -> Scenario:
    """Check a scenario that a person wrote; errors name the file, the line and the key."""
    if given.get("approach") != AUTO:
        return to_record(given, Scenario, where)
    if given.get("settings"):
        raise InputError('approach = "auto" takes no settings; name the approach that they belong to')
    left_open = to_record({key: value for key, value in given.items() if key != "approach"}, Scenario, where)
    return msgspec.structs.replace(left_open, approach=_decided(left_open))


def load_scenario(path: Path, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario of a TOML file, with the changes of `--set`. Relative paths in the file start at its folder, those
    of `--set` at the current folder."""
    given, source = read_toml(path)
    if isinstance(given.get("scenario"), dict):
        raise InputError(f"{path}: it has a section [scenario], so it is a study; run it with: thyme study {path}")
    resolve_beside(given, "movement.file", path.parent)
    for key, value in (changes or {}).items():
        set_key(given, key, value, Scenario)
    return scenario_of(given, source.with_changes(changes or ()))


def resolve_beside(table: Any, key: str, folder: Path) -> None:
    """A file that a table of settings names, if it does, is sought in the folder of the file that names it."""
    *sections, last = key.split(".")
    for section in sections:
        table = table.get(section) if isinstance(table, dict) else None
    if isinstance(table, dict) and isinstance(table.get(last), str) and table[last]:
        table[last] = str(folder / table[last])


def misfit(approach: str, movement: MovementModel) -> str:
    """Why an approach cannot run with a movement model; empty if it can."""
    if movement.knows_places:
        return ""
    found = find_approach(approach)
    if found.capabilities.needs_positions:
        return f"{found.title} has to know where people are"
    if found.capabilities.needs_server:
        return f"{found.title} needs a place for its server"
    return ""


def _check_fit(approach: str, movement: MovementModel) -> None:
    reason = misfit(approach, movement)
    if reason:
        fitting = [name for name in APPROACHES if not misfit(name, movement)]
        raise InputError(
            f'{reason}, and [movement] model = "{model_of(movement)}" says only who meets whom; '
            f"approaches that fit: {', '.join(fitting)}"
        )


def _decided(scenario: Scenario) -> str:
    """The approach of `approach = "auto"`: the decision map's choice for such a crowd, without a server, with past
    matches and deletion."""
    kind = crowd_of(scenario)
    if kind is None:
        raise InputError('approach = "auto": this movement model does not say how many people walk; name an approach')
    return decide(kind, Needs(positions=scenario.movement.knows_places)).approach


def crowd_of(scenario: Scenario, contents: Contents = "texts") -> CrowdKind | None:
    """The crowd as the decision map describes crowds; None if it is unknown how people move."""
    walking = _walking(scenario)
    if walking is None:
        return None
    gone = _going(scenario)
    for_good = isinstance(scenario.churn, Leave | Crash)
    leaving, switching = (gone, 0.0) if for_good else (0.0, gone)
    return CrowdKind(scenario.nodes, _density(scenario), walking, leaving, switching, contents)


def _density(scenario: Scenario) -> float:
    area = scenario.area()
    return round(density_of(scenario.nodes, area.width_m * area.height_m, scenario.radio.reach_m), 3)


def _walking(scenario: Scenario) -> float | None:
    match scenario.movement:
        case Static() | Places():
            return 0.0
        case Waypoint():
            return scenario.movement.mobile_fraction
        case Community():
            return 1.0
        case _:
            return None


def _going(scenario: Scenario) -> float:
    match scenario.churn:
        case NoChurn():
            return 0.0
        case Alternate() | Leave() | Crash() | Join():
            named = len(scenario.churn.nodes) / scenario.nodes
            return min(1.0, named or scenario.churn.fraction)
        case _:
            return 0.0
