"""Routers: to whom a carrier hands copies on. SocialCast's own carrier selection, and those it is compared with.

A router is asked once per period for every message in the buffer, and answers with hand-overs. They are carried
out one by one as they are asked for, and a neighbour counts as having the message from then on: no two copies of a
message go to the same node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Literal, NamedTuple, Protocol

from thyme.approaches.socialcast.buffers import BufferedMessage
from thyme.approaches.socialcast.neighbours import Neighbour
from thyme.approaches.socialcast.utilities import CarrierScore
from thyme.model.ids import NodeId

Routing = Literal["prediction", "none", "epidemic", "spray", "prophet"]


class Handover(NamedTuple):
    """Copies for a neighbour to carry; `keeps` means that this node carries them on as well."""

    to: Neighbour
    copies: tuple[int, ...]
    keeps: bool = False


class Router(Protocol):
    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        """A period's turn: these are the neighbours."""

    def handovers(self, held: BufferedMessage) -> Iterable[Handover]: ...


class BestCarrier:
    """SocialCast (§III): each copy goes to the neighbour with the highest utility, if it beats ours by ε."""

    def __init__(self, own: CarrierScore, hysteresis: int) -> None:
        self._own = own
        self._hysteresis = hysteresis
        self._present: Mapping[NodeId, Neighbour] = {}
        self._better: dict[tuple[str, ...], list[Neighbour]] = {}

    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        self._present = present
        self._better.clear()

    def handovers(self, held: BufferedMessage) -> Iterable[Handover]:
        tags = held.metadata.tags
        better = self._better.get(tags)
        if better is None:
            better = self._better[tags] = self._rank(tags)
        return self._to_best(held, better) if better else ()

    def _to_best(self, held: BufferedMessage, better: list[Neighbour]) -> Iterator[Handover]:
        for copy in list(held.copies):
            best = next((neighbour for neighbour in better if held.id not in neighbour.received), None)
            if best is None:
                return
            yield Handover(best, (copy,))

    def _rank(self, tags: tuple[str, ...]) -> list[Neighbour]:
        """Those who beat us, the best first, and of equals the one with the lower number."""
        bound = self._own.score(tags) + self._hysteresis
        scored = [(neighbour.score(tags), neighbour) for neighbour in self._present.values()]
        ranked = sorted((-score, neighbour.node, neighbour) for score, neighbour in scored if score > bound)
        return [neighbour for _, _, neighbour in ranked]


class RandomCarrier:
    """The paper's variant without prediction: a random entry of the routing table, the node itself included."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._present: list[Neighbour] = []

    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        self._present = list(present.values())

    def handovers(self, held: BufferedMessage) -> Iterator[Handover]:
        for copy in list(held.copies):
            drawn = self._random.randrange(len(self._present) + 1)
            if drawn < len(self._present) and held.id not in self._present[drawn].received:
                yield Handover(self._present[drawn], (copy,))


class Epidemic:
    """Everybody gets and carries everything."""

    def __init__(self) -> None:
        self._present: list[Neighbour] = []

    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        self._present = list(present.values())

    def handovers(self, held: BufferedMessage) -> Iterator[Handover]:
        copy = min(held.copies)
        for neighbour in self._present:
            if held.id not in neighbour.received:
                yield Handover(neighbour, (copy,), keeps=True)


class SprayAndWait:
    """Binary spray and wait: half of the copies go to each node that has none; the last one waits for subscribers."""

    def __init__(self) -> None:
        self._present: list[Neighbour] = []

    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        self._present = list(present.values())

    def handovers(self, held: BufferedMessage) -> Iterator[Handover]:
        for neighbour in self._present:
            if len(held.copies) < 2:
                return
            if held.id not in neighbour.received:
                copies = list(held.copies)
                yield Handover(neighbour, tuple(copies[: len(copies) // 2]))


class Prophet:
    """ProPHET's usual rule: a copy to every neighbour that is more likely to meet the subscribers than we are."""

    def __init__(self, own: CarrierScore) -> None:
        self._own = own
        self._present: list[Neighbour] = []

    def begin(self, present: Mapping[NodeId, Neighbour]) -> None:
        self._present = list(present.values())

    def handovers(self, held: BufferedMessage) -> Iterator[Handover]:
        tags = held.metadata.tags
        own = self._own.score(tags)
        for neighbour in self._present:
            if held.id not in neighbour.received and neighbour.score(tags) > own:
                yield Handover(neighbour, (min(held.copies),), keeps=True)
