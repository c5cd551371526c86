"""Histories: what people and accidents do to a crowd of live nodes, drawn from a seed.

A history has an active phase, in which nodes start, applications insert, delete, subscribe and unsubscribe (also while
a node joins; while it is off, as soon as it takes part again), and faults happen. Then the network is whole; after
`SETTLE_S` the judge looks. A history is a JSON file, too.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec

from thyme.approaches.registry import find_approach
from thyme.fuzz.live.faults import AnyFault, Kill, Leave, Walk, draw_fault

ACTIVE_S = 60.0
SETTLE_S = 20.0
"""After the repair: a unicast is given up after 3 s, a peer after 15 s, and what failed is retried within 5 s."""
STARTS_S = 5.0
"""A node that starts takes part within this time."""
TAGS = ("a", "b", "c")
QUERIES: tuple[tuple[str, tuple[tuple[str, ...], ...], tuple[str, ...]], ...] = (
    ("a", (("a",),), ()),
    ("b", (("b",),), ()),
    ("a & b", (("a", "b"),), ()),
    ("a & !c", (("a",),), ("c",)),
    ("b | c", (("b",), ("c",)), ()),
)
"""A query, its required tag sets (at least one must match), and its excluded tags."""
LIES_S = (-3_600.0, -30.0, 30.0, 3_600.0, 1e300)
BUSY_START_S = 3.0
"""Applications act within this time after some restarts."""
CELL_M, AREA_M = 40.0, 80.0
"""Sides of a cell, and of the area of nodes that stand in several cells."""
WALK_S = (1.0, 10.0, 30.0)
CRASHES, CRASH_S = 0.5, 0.2
"""In how many histories a device crashes within this time after its application asked for something."""
CLOSED, OLDER = 0.3, 0.15
"""How many histories are those of closed namespaces, and of devices of which some run the version before."""
LEAVES, LISTED = 0.4, 0.3
"""In how many histories a node is stopped and started again, and nodes are given the addresses of the others."""
FILES = 0.25
"""In how many histories nodes keep their stores in files."""
SPREAD = {"dcs": 0.6}
"""Approaches that use places, and in how many of their histories nodes stand in several cells."""


class Act(msgspec.Struct, frozen=True, tag=str.lower):
    """An application does something."""

    at_s: float
    node: int


class Start(Act, frozen=True):
    wrong_s: float = 0.0
    """Offset of the device's clock."""


class Insert(Act, frozen=True):
    name: str
    tags: tuple[str, ...]
    size_bytes: int


class Delete(Act, frozen=True):
    name: str


class Subscribe(Act, frozen=True):
    query: int
    """Its place in `QUERIES`."""


class Unsubscribe(Act, frozen=True):
    number: int
    """Which of the node's subscriptions, modulo their number."""


AnyAct = Start | Insert | Delete | Subscribe | Unsubscribe
Step = AnyAct | AnyFault


class History(msgspec.Struct, frozen=True):
    approach: str
    seed: int
    nodes: int
    everywhere: bool
    """Whether nodes listen to all addresses of their families, or to one of IPv4 with its multicast group."""
    steps: tuple[Step, ...]
    families: tuple[str, ...] = ()
    """Of each node: `4`, `6` or `46`; both if none are given."""
    commit_s: float = 0.005
    """How long disks take."""
    lie_s: float = 0.0
    """If it is not 0, the last node is a liar, and lies about its time by this much."""
    places: tuple[tuple[float, float], ...] = ()
    """Where nodes are at first, in metres; side by side in one cell if not given."""

    closed: bool = False
    """Whether the nodes share in a closed namespace."""
    older: int = 0
    """So many nodes, the last ones, run the version before that of the others."""

    listed: bool = False
    """Whether nodes are given the addresses of the others."""

    files: bool = False
    """Whether nodes keep their stores in files, as devices do."""

    radio: bool = False
    """Whether the network is the simulator's 802.11g radio, with the nodes where they are at first."""

    @property
    def liar(self) -> int:
        """-1: nobody."""
        return self.nodes - 1 if self.lie_s else -1

    def crowd_of(self, node: int) -> range:
        """The nodes with the version of one, itself included."""
        first_older = self.nodes - self.older
        return range(first_older) if node < first_older else range(first_older, self.nodes)

    def calm(self, from_s: float, to_s: float) -> bool:
        """Whether nothing disturbs the crowd in this time: no fault, nobody who starts, no liar."""
        if self.lie_s:
            return False
        for step in self.steps:
            lasts_s = STARTS_S if isinstance(step, Start) else getattr(step, "lasts_s", None)
            if lasts_s is not None and step.at_s < to_s and step.at_s + lasts_s > from_s:
                return False
        return True


def draw_history(approach: str, seed: int) -> History:
    draw = Random(f"history/{approach}/{seed}")
    nodes = draw.randint(3, 5)
    steps: list[Step] = [Start(draw.uniform(0.0, 5.0) * (i > 0), i) for i in range(nodes)]
    lie_s = draw.choice(LIES_S) if nodes > 3 and draw.random() < 0.25 else 0.0
    if lie_s or draw.random() < 0.3:
        # One wrong clock or liar, and not among the first: the others would follow it for a long time.
        steps[-1] = Start(7.0, nodes - 1, 0.0 if lie_s else draw.choice((-300.0, -5.0, 5.0, 300.0)))
    steps += [draw_fault(draw, nodes, ACTIVE_S) for _ in range(draw.choice((0, 1, 2, 3, 5)))]
    times = [_when(draw) for _ in range(draw.randint(10, 40))]
    places = [draw.randrange(nodes) for _ in times]
    for fault in [step for step in steps if isinstance(step, Kill)]:
        if draw.random() < 0.5:
            back_s = fault.at_s + fault.lasts_s
            steps.append(Subscribe(back_s + draw.uniform(0.0, BUSY_START_S), fault.node, draw.randrange(len(QUERIES))))
            times.append(back_s + draw.uniform(0.0, BUSY_START_S))
            places.append(fault.node)
    for number in range(draw.randint(2, 2 * nodes)):
        steps.append(Subscribe(_when(draw), draw.randrange(nodes), draw.randrange(len(QUERIES))))
        if draw.random() < 0.2:
            steps.append(Unsubscribe(_when(draw), draw.randrange(nodes), number))
    for number, (at_s, node) in enumerate(zip(times, places, strict=True)):
        tags = tuple(tag for tag in TAGS if draw.random() < 0.5) or ("a",)
        size_bytes = draw.choice((1, 20, 300, 20_000 if draw.random() < 0.2 else 40))
        steps.append(Insert(min(at_s, ACTIVE_S), node, f"o{number}", tags, size_bytes))
        if draw.random() < 0.15:
            steps.append(Delete(min(ACTIVE_S, at_s + draw.uniform(0.5, 30.0)), node, f"o{number}"))
    steps += _crash(steps, Random(f"crash/{approach}/{seed}"))
    steps += _leave(nodes, Random(f"leave/{approach}/{seed}"))
    history = History(
        approach,
        seed,
        nodes,
        everywhere := draw.random() < 0.5,
        tuple(sorted(steps, key=lambda step: step.at_s)),
        _families(draw, nodes) if everywhere else (),
        draw.choice((0.001, 0.02, 0.1)),
        lie_s,
    )
    draw = Random(f"crowd/{approach}/{seed}")
    history = msgspec.structs.replace(
        history,
        closed=draw.random() < CLOSED,
        listed=Random(f"listed/{approach}/{seed}").random() < LISTED,
        files=Random(f"files/{approach}/{seed}").random() < FILES,
    )
    if not lie_s and not find_approach(approach).capabilities.needs_server and draw.random() < OLDER:
        history = msgspec.structs.replace(history, older=draw.randint(1, nodes - 2))
    spread = not lie_s and draw.random() < SPREAD.get(approach, 0.0)  # a liar may be the only member of a cell
    return _spread(history, draw) if spread else history


def _crash(steps: list[Step], draw: Random) -> list[Step]:
    """A crash while something may be half on the disk, in some histories."""
    acts = [step for step in steps if isinstance(step, Insert | Delete | Subscribe) and step.at_s < ACTIVE_S - 5.0]
    if not acts or draw.random() > CRASHES:
        return []
    act = draw.choice(acts)
    return [Kill(act.at_s + draw.uniform(0.0, CRASH_S), act.node, draw.choice((0.5, 4.0)))]


def _leave(nodes: int, draw: Random) -> list[Step]:
    if draw.random() > LEAVES:
        return []
    return [Leave(draw.uniform(8.0, ACTIVE_S - 15.0), draw.randrange(nodes), draw.choice((1.0, 10.0)))]


def _spread(history: History, draw: Random) -> History:
    """The same with nodes in several cells, some of which walk to another one."""
    places = tuple(_place(draw) for _ in range(history.nodes))
    walks: list[Step] = []
    for _ in range(draw.choice((0, 1, 1, 2, 3))):
        at_s = draw.uniform(8.0, ACTIVE_S - 5.0)
        lasts_s = min(draw.choice(WALK_S), ACTIVE_S - at_s)
        walks.append(Walk(at_s, draw.randrange(history.nodes), lasts_s, _place(draw)))
    steps = tuple(sorted((*history.steps, *walks), key=lambda step: step.at_s))
    return msgspec.structs.replace(history, places=places, steps=steps)


def _place(draw: Random) -> tuple[float, float]:
    return draw.uniform(0.0, AREA_M), draw.uniform(0.0, AREA_M)


def read_history(path: Path) -> History:
    return msgspec.json.decode(path.read_bytes(), type=History)


def history_text(history: History) -> str:
    return msgspec.json.format(msgspec.json.encode(history)).decode() + "\n"


def _when(draw: Random) -> float:
    return draw.uniform(0.5 if draw.random() < 0.2 else 8.0, ACTIVE_S)


def _families(draw: Random, nodes: int) -> tuple[str, ...]:
    """All share one family."""
    shared = draw.choice("46")
    return tuple("46" if draw.random() < 0.7 else shared for _ in range(nodes))
