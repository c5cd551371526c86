"""Reach by contacts: nodes in contact receive, according to a table of contacts.

For recorded contacts without positions, and for moving crowds whose exact contacts were computed once: nodes in range
are looked up instead of measured for every frame. Distances are unknown and count as 0, which neglects up to a
microsecond of propagation delay.
"""

from __future__ import annotations

import numpy as np

from thyme.sim.radios.disc.neighbours import Near
from thyme.world.contacts.contact_table import Contacts


class ContactReach:
    """The nodes in contact with each other; queries must be in order of time. A contact includes the time of its
    end."""

    def __init__(self, contacts: Contacts) -> None:
        count = len(contacts)
        at_s = np.concatenate((contacts.start_s, contacts.end_s))
        starts = np.arange(2 * count) < count
        order = np.lexsort((~starts, at_s))
        columns = (at_s, starts, np.tile(contacts.a, 2), np.tile(contacts.b, 2))
        self._changes = list(zip(*(column[order].tolist() for column in columns), strict=True))
        """Starts and ends of contacts in order of time, starts first: time, whether it starts, and the two nodes."""
        self._next = 0
        self._near: list[set[int]] = [set() for _ in range(contacts.nodes)]
        self._listed: list[Near | None] = [None] * contacts.nodes
        self._nobody = _touching([])

    def within(self, node: int, at_s: float) -> Near:
        self._advance(at_s)
        listed = self._listed[node]
        if listed is None:
            listed = self._listed[node] = _touching(sorted(self._near[node]))
        return listed

    def towards(self, node: int, other: int, at_s: float) -> Near:
        self._advance(at_s)
        return _touching([other]) if other in self._near[node] else self._nobody

    def _advance(self, at_s: float) -> None:
        changes = self._changes
        while self._next < len(changes):
            change_s, starts, a, b = changes[self._next]
            if change_s > at_s or (not starts and change_s >= at_s):
                return
            self._next += 1
            if starts:
                self._near[a].add(b)
                self._near[b].add(a)
            else:
                self._near[a].discard(b)
                self._near[b].discard(a)
            self._listed[a] = self._listed[b] = None


def _touching(nodes: list[int]) -> Near:
    return Near(np.array(nodes, np.int64), np.zeros(len(nodes)), len(nodes))
