"""What the walks paper leaves open, as named options, and how a walk is made.

Each field of `Reading` is one question that Algorithms 1 and 2 and the text of §V–VI do not settle; each value
is one answer, with a name that is used nowhere else, so that `parse_reading("each-meets,pruned")` needs no
keys. The defaults are the answers that agree with most of the paper's own statements about its figures, and with its
text where the figures do not tell answers apart; what every other answer changes has been measured
(docs/explanation/approaches/walks.md). `WalkOptions` holds what the paper itself varies: the three cost functions
and their parameters, one or two branches, pure walks.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, get_args, get_type_hints

import msgspec

from thyme.approaches.walks.options import MAX_WEIGHT, Method, check_weights
from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne

RADIUS = 0.05
"""Range of communication in the unit square (walks paper §VI)."""

MAX_SEED = 2**32 - 1
MAX_NODES = 100_000
MAX_GRAPH_DRAWS = 10_000
"""Placements to try for one connected network; at 1,000 nodes about one in ten is connected."""

MAX_NETWORKS = 1_000_000
MAX_DRAWS = 1_000_000
MAX_BRANCHES = 2

FirstWalks = Literal["both-stop", "each-meets"]
Backtracked = Literal["counted", "pruned"]
Initiator = Literal["joins", "as-printed"]
Meeting = Literal["looks-around", "steps-on"]
Marking = Literal["penultimate", "last"]
Ties = Literal["random-tie", "first-tie"]
PureStep = Literal["revisits", "fresh", "loop-erased"]
ActiveNodes = Literal["distinct", "per-walk"]


class Reading(msgspec.Struct, frozen=True):
    """One answer to each open question.

    first_walks: Algorithm 1 waits while neither of the first two walks has met. `both-stop`: the meeting ends
        both. `each-meets`: the walk that was met goes on until it meets a walk by itself, and only then the
        third starts.
    backtracked: Algorithm 2 line 19 goes back along the walk. `counted`: nodes it went back from stay in V'_x
        and in the active path. `pruned`: they leave both, as `i--` says where i is the number of nodes in the
        active path. A pure walk does not go back, so this does not touch it.
    initiator: lines 4 and 7 test the same condition. `joins`: line 4 is taken to ask whether the initiator is
        itself on a walk; then it is the broker. `as-printed`: a neighbour on a walk ends the construction at
        line 4, and no second node is added.
    meeting: `steps-on`: a walk meets when the node it chose is on another walk. `looks-around`: as soon as any
        neighbour of its last node is (lines 7 and 22); then a denser network needs fewer active nodes, against all
        that the paper says of Figure 8.
    marking: the indices of lines 12–19 run one ahead of the nodes. `penultimate`: when a node is chosen, the
        neighbours of all but the last node are marked (Figure 5). `last`: those of the last node too (Eq. 4).
    ties: between nodes of equal cost. `random-tie`, or `first-tie` in the order of node numbers.
    pure_step: a pure walk chooses its next node among all neighbours (`revisits`) or among those it has not
        been at, with backtracking as Algorithm 2 (`fresh`). `loop-erased`: among all neighbours, and where it
        comes back to a node of its own, the loop leaves V'_x.
    active: `distinct`: a node on several walks counts once; `per-walk`: once for each.
    """

    first_walks: FirstWalks = "both-stop"
    backtracked: Backtracked = "pruned"
    initiator: Initiator = "joins"
    meeting: Meeting = "steps-on"
    marking: Marking = "penultimate"
    ties: Ties = "random-tie"
    pure_step: PureStep = "revisits"
    active: ActiveNodes = "distinct"

    def __str__(self) -> str:
        changed = [
            str(getattr(self, field))
            for field in self.__struct_fields__
            if getattr(self, field) != getattr(DEFAULT_READING, field)
        ]
        return ",".join(changed) or "default"


DEFAULT_READING = Reading()


def answers() -> dict[str, tuple[str, ...]]:
    """Every open question with its answers, the default first."""
    hints = get_type_hints(Reading)
    return {
        field: (default, *(value for value in get_args(hints[field]) if value != default))
        for field, default in msgspec.structs.asdict(DEFAULT_READING).items()
    }


def parse_reading(text: str) -> Reading:
    """`default`, or answers separated by commas; questions that are not named keep their defaults."""
    field_of = {value: field for field, values in answers().items() for value in values}
    chosen: dict[str, str] = {}
    for word in (part.strip() for part in text.split(",")):
        if word in ("", "default"):
            continue
        if word not in field_of:
            raise InputError(f"reading has no answer called {word!r}; there are: {', '.join(field_of)}")
        field = field_of[word]
        if chosen.get(field, word) != word:
            raise InputError(f"reading answers {field} twice: {chosen[field]} and {word}; give one of them")
        chosen[field] = word
    return msgspec.convert(chosen, Reading)


class WalkOptions(SettingsRecord, frozen=True):
    """How a walk chooses its way.

    method: `neighbourhood` is cost (3) of the overlay; `second` is cost (2) with alpha and beta; `weights` is
        weight (1), whose penalty per earlier step on a node takes the place of the tabu list, so it may come
        back to a node when all others have been used as often.
    alpha, beta, penalty: the paper gives no values; ours weigh the second neighbourhood half and let a penalty
        outweigh any weight that occurs at these densities.
    max_hops: of all walks of one overlay together; a pure walk in 3,000 nodes takes some thousands.
    """

    method: Method = "neighbourhood"
    pure: bool = False
    branches: Annotated[int, msgspec.Meta(ge=1, le=MAX_BRANCHES)] = 1
    alpha: float = 1.0
    beta: float = 0.5
    penalty: Annotated[float, msgspec.Meta(gt=0.0, le=MAX_WEIGHT)] = 100.0
    max_hops: AtLeastOne = 10_000_000

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.method not in get_args(Method):
            raise InputError(f"method is {self.method!r}; expected one of {', '.join(get_args(Method))}")
        check_weights(self.alpha, self.beta)


class Rules(NamedTuple):
    """A reading and its options as the kernel takes them: flags and numbers."""

    pure: bool
    by_weight: bool
    second: bool
    alpha: float
    beta: float
    penalty: float
    branches: int
    max_hops: int
    each_meets: bool
    prunes: bool
    as_printed: bool
    steps_on: bool
    marks_last: bool
    first_tie: bool
    revisits: bool
    erases: bool


def rules_of(options: WalkOptions, reading: Reading) -> Rules:
    by_weight = options.method == "weights" and not options.pure
    return Rules(
        pure=options.pure,
        by_weight=by_weight,
        second=options.method == "second" and not options.pure,
        alpha=options.alpha,
        beta=options.beta,
        penalty=options.penalty,
        branches=options.branches,
        max_hops=options.max_hops,
        each_meets=reading.first_walks == "each-meets",
        prunes=reading.backtracked == "pruned",
        as_printed=reading.initiator == "as-printed",
        steps_on=reading.meeting == "steps-on",
        marks_last=reading.marking == "last",
        first_tie=reading.ties == "first-tie",
        revisits=by_weight or (options.pure and reading.pure_step != "fresh"),
        erases=reading.pure_step == "loop-erased" if options.pure else by_weight and reading.backtracked == "pruned",
    )
