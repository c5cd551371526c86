"""Neighbours: what the last control message of everybody in range said (SocialCast Fig. 1).

A neighbour is present while its last control message is not older than a period and a little; one that does not
answer at the link is gone at once. What a control message says is looked into only when a message needs it.

A control message names the last λ messages received. Where there are more, two nodes would give each other the same
ones every period, for ever. So what a neighbour was given, or gave, is remembered here too and not given to it: until
they part for a while, or the other subscribes to something else, or it turns out that it did not arrive.
"""

from __future__ import annotations

from collections.abc import Sequence

from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId
from thyme.model.objects import Metadata
from thyme.wire.socialcast import Control, Topic, Wanted

APART_LIFETIMES = 5.0
"""A neighbour that was not heard for so many of its lifetimes counts as a new one; before that, its broadcasts may have
been lost."""


class Neighbour:
    """One neighbour: its interests, its scores as a carrier, and which messages it has."""

    __slots__ = (
        "_control",
        "_given",
        "_matches",
        "_of_tag",
        "_of_tags",
        "_received_as_told",
        "deleted",
        "heard_s",
        "node",
        "received",
        "topics",
        "wanted",
    )  # fmt: skip

    def __init__(self, node: NodeId, control: Control, now_s: float, given_ids: int = 0) -> None:
        self.node = node
        self.wanted: tuple[Wanted, ...] = ()
        self.topics: tuple[Topic, ...] = ()
        self.received: set[int] = set()
        self.deleted: set[int] = set()
        self._received_as_told: tuple[int, ...] = ()
        self._given: Bounded[int, None] = Bounded(given_ids)
        self._matches: dict[tuple[str, ...], tuple[Wanted, ...]] = {}
        self.hear(control, now_s)

    def hear(self, control: Control, now_s: float) -> None:
        self.heard_s = now_s
        self._control = control
        self._of_tag: dict[str, int] | None = None
        self._of_tags: list[tuple[Topic, int]] = []
        if control.deleted:
            self.deleted.update(control.deleted)
        if control.received is not self._received_as_told:
            self._received_as_told = control.received
            self.received = {*control.received, *self._given}
        if control.wanted is not self.wanted and control.wanted != self.wanted:
            if self._given:
                self._given.clear()
                self.received = set(control.received)
            self.wanted = control.wanted
            self.topics = tuple(dict.fromkeys(wanted.conjunction.positive for wanted in control.wanted))
            self._matches.clear()

    def give(self, id_: int) -> None:
        """It is sent a message, and has it from now on."""
        self.received.add(id_)
        self._given[id_] = None

    def take_back(self, id_: int) -> None:
        """What it was sent did not arrive, as far as one can know; what it told last counts."""
        self._given.pop(id_, None)

    def part(self) -> None:
        """It is gone, maybe for a short time only."""
        self._received_as_told = ()
        self.received = set(self._given)

    def matches(self, tags: tuple[str, ...]) -> tuple[Wanted, ...]:
        """Its interests that a message with these tags meets, whatever its time."""
        matches = self._matches.get(tags)
        if matches is None:
            matches = tuple(wanted for wanted in self.wanted if wanted.conjunction.matches(tags))
            self._matches[tags] = matches
        return matches

    def wants(self, metadata: Metadata) -> bool:
        """Whether one of its subscriptions matches, tags and time alike."""
        return any(wanted.frame.contains(metadata.published_s) for wanted in self.matches(metadata.tags))

    def score(self, tags: Sequence[str]) -> int:
        """Its utility as a carrier for a message with these tags, in thousandths."""
        if self._of_tag is None:
            self._of_tag = self._index()
        best = self._control.elsewhere
        for tag in tags:
            best = max(best, self._of_tag.get(tag, 0))
        for topic, utility in self._of_tags:
            if utility > best and all(tag in tags for tag in topic):
                best = utility
        return best

    def listed(self) -> zip[tuple[Topic, int]]:
        """The topics for which it gave a utility of its own."""
        return zip(self._control.topics, self._control.utilities, strict=True)

    def _index(self) -> dict[str, int]:
        of_tag: dict[str, int] = {}
        for topic, utility in self.listed():
            if len(topic) == 1:
                of_tag[topic[0]] = utility
            else:
                self._of_tags.append((topic, utility))
        return of_tag


class Neighbourhood:
    """Everybody heard of late."""

    def __init__(self, lifetime_s: float, maximum: int, given_ids: int = 0) -> None:
        self._lifetime_s = lifetime_s
        self._maximum = maximum
        self._given_ids = given_ids
        self._neighbours: dict[NodeId, Neighbour] = {}
        self._apart: Bounded[NodeId, Neighbour] = Bounded(maximum)

    def hear(self, node: NodeId, control: Control, now_s: float) -> bool:
        """False if the table is full of others."""
        known = self._neighbours.get(node)
        if known is not None:
            known.hear(control, now_s)
            return True
        if len(self._neighbours) >= self._maximum:
            return False
        apart = self._apart.pop(node, None)
        if apart is not None and now_s - apart.heard_s <= APART_LIFETIMES * self._lifetime_s:
            apart.hear(control, now_s)
            self._neighbours[node] = apart
        else:
            self._neighbours[node] = Neighbour(node, control, now_s, self._given_ids)
        return True

    def lose(self, node: NodeId, id_: int) -> None:
        """The link could not deliver it a message."""
        self.take_back(node, id_)
        gone = self._neighbours.pop(node, None)
        if gone is not None:
            self._put_apart(gone)

    def has(self, node: NodeId, id_: int) -> None:
        """It gave this node a message; in the paper only what it says counts."""
        known = self._neighbours.get(node)
        if known is not None and self._given_ids:
            known.give(id_)

    def take_back(self, node: NodeId, id_: int) -> None:
        for known in (self._neighbours.get(node), self._apart.get(node)):
            if known is not None:
                known.take_back(id_)

    def present(self, now_s: float) -> dict[NodeId, Neighbour]:
        """Those in range as far as one can know, in order of number; the others are forgotten."""
        oldest_s = now_s - self._lifetime_s
        present: dict[NodeId, Neighbour] = {}
        for node, neighbour in sorted(self._neighbours.items()):
            if neighbour.heard_s >= oldest_s:
                present[node] = neighbour
            else:
                self._put_apart(neighbour)
        self._neighbours = present
        return present

    def _put_apart(self, neighbour: Neighbour) -> None:
        if self._given_ids:
            neighbour.part()
            self._apart[neighbour.node] = neighbour
