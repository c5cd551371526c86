"""Which approach to take for a crowd before anything was played: the decision map, and the rule that reads it.

`decision.csv` has what the six approaches did on 802.11g in the crowds that were played: one line for each crowd,
workload and approach, with the mean and the range of its runs (`thyme.study.mapping` plays them and says which crowds
those are). A crowd that was not played is estimated: between played crowds figures are interpolated, and a crowd that
differs in several respects from the map's usual one takes the effect of each of them. The answer says which. There are
two workloads: one with questions about the past and deletes, and one without either, so that nobody is judged by what
is not asked for. `approach = "auto"` is this rule, and a study says whether it agrees with it. What may be asked of an
approach at all is a matter of its capabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from thyme.approaches.decision_table import CrowdKind, DecisionRow, Measured, Workload, ruled_out, table
from thyme.approaches.estimating import How, estimate_of
from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError

Priority = Literal["delivery", "delay", "battery", "traffic"]
"""What decides among dependable approaches: notifications that arrive, time until they do, energy, or bytes sent."""
SOON_LEAST_S = 0.1
"""Times that differ by less are nobody's concern."""


class Needs(msgspec.Struct, frozen=True):
    """What a crowd has, and what it wants of an approach besides."""

    server: bool = False
    """Somebody brings a server."""
    positions: bool = True
    """Devices know where they are."""
    past: bool = True
    """Who asks is told what there was before."""
    deletes: bool = True

    @property
    def workload(self) -> Workload:
        return "all" if self.past or self.deletes else "future"


USUAL_NEEDS = Needs()


class Decision(msgspec.Struct, frozen=True):
    """What the map has for a crowd: the best, and others that cannot be told apart from it."""

    how: How
    places: tuple[CrowdKind, ...]
    """The crowds of the map that the answer is from."""
    best: tuple[DecisionRow, ...]
    lines: tuple[DecisionRow, ...]
    """All that were allowed, in the order of the table."""
    unknown: tuple[str, ...] = ()
    """Allowed approaches without data for this crowd that no easier crowd has ruled out."""

    @property
    def approach(self) -> str:
        return self.best[0].approach

    @property
    def dependable(self) -> bool:
        return self.best[0].dependable

    @property
    def margin(self) -> float | None:
        """How much more the next dependable one sends; None without one."""
        sent = sorted(line.air_bytes.mean for line in self.lines if line.dependable)
        return sent[1] / sent[0] - 1.0 if len(sent) > 1 and sent[0] > 0.0 else None


def fits(approach: str, needs: Needs) -> bool:
    """Whether an approach meets the needs with what is available."""
    can = APPROACHES[approach].capabilities
    return (
        (needs.server or not can.needs_server)
        and (needs.positions or not can.needs_positions)
        and ((can.answers_past and not can.past_is_best_effort) or not needs.past)
        and (can.deletes or not needs.deletes)
    )


def decide(
    kind: CrowdKind,
    needs: Needs = USUAL_NEEDS,
    priority: Priority = "traffic",
    lines: Sequence[DecisionRow] | None = None,
) -> Decision:
    """The rule of `approach = "auto"`."""
    allowed = [line for line in (table() if lines is None else lines) if fits(line.approach, needs)]
    if not allowed:
        raise InputError(f"no approach fits {needs}")
    estimate = estimate_of(kind, needs.workload, allowed)
    known = {line.approach for line in estimate.lines}
    for place in estimate.places:
        known |= ruled_out(place, needs.workload, allowed)
    unknown = [name for name in dict.fromkeys(line.approach for line in allowed) if name not in known]
    return Decision(estimate.how, estimate.places, _best(estimate.lines, priority), estimate.lines, tuple(unknown))


def _best(lines: Sequence[DecisionRow], priority: Priority) -> tuple[DecisionRow, ...]:
    """The best, and those whose range meets its own; the one that is best on average comes first."""
    dependable = [line for line in lines if line.dependable]
    if not dependable:
        return (max(lines, key=lambda line: line.success.mean * line.recall.mean),)
    match priority:
        case "battery":
            costs = {line: line.joules for line in dependable}
        case "traffic":
            costs = {line: line.air_bytes for line in dependable}
        case "delay":
            costs = {line: _soon(line) for line in dependable}
        case "delivery":
            costs = {line: Measured(-line.recall.mean, -line.recall.high, -line.recall.low) for line in dependable}
    first = min(dependable, key=lambda line: costs[line].mean)
    left = [line for line in dependable if costs[line].low <= costs[first].high]
    return tuple(sorted(left, key=lambda line: (costs[line].mean, line.air_bytes.mean)))


def _soon(line: DecisionRow) -> Measured:
    if line.notified_s is None:
        return Measured(float("inf"), float("inf"), float("inf"))
    return Measured(*(max(value, SOON_LEAST_S) for value in msgspec.structs.astuple(line.notified_s)))
