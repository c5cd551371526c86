"""The only list of approaches: their names, what they are, and in which package each is.

Everything that needs to know which approaches there are asks here: scenarios, studies, live nodes, the help text. An
approach's own modules are imported when it is asked for, so that a node starts with nothing but its own, and a change
in one approach leaves what was computed with another valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import msgspec

from thyme.approaches.entry import Entry
from thyme.approaches.interface import Capabilities, ReactiveStore
from thyme.host import Host
from thyme.model.errors import InputError
from thyme.model.settings import to_record


class Approach(msgspec.Struct, frozen=True):
    """One line of the registry. `make` builds one node's protocol on its host."""

    name: str
    title: str
    """As the papers call it; results are kept under this name."""
    plain_name: str
    """For people who have not read the papers."""
    summary: str

    @property
    def full_title(self) -> str:
        """`Cells (Thyme-DCS)`."""
        return f"{self.plain_name} ({self.title})"

    @property
    def module(self) -> str:
        """The module with its `ENTRY`."""
        return f"thyme.approaches.{self.name}.protocol"

    @property
    def entry(self) -> Entry:
        entry: Entry = import_module(self.module).ENTRY
        return entry

    @property
    def capabilities(self) -> Capabilities:
        return self.entry.capabilities

    @property
    def settings(self) -> type[msgspec.Struct]:
        return self.entry.settings

    @property
    def make(self) -> Callable[[Host, Any], ReactiveStore]:
        return self.entry.make

    def configure(self, given: Mapping[str, Any], where: str = "") -> Any:
        """Check the settings that a person gave for this approach."""
        place = f"{where}: approach {self.name!r}" if where else f"approach {self.name!r}"
        return to_record(given, self.settings, place, ("settings",))


APPROACHES: dict[str, Approach] = {
    approach.name: approach
    for approach in (
        Approach("es", "Thyme-ES", "Server", "a server that everybody knows stores and matches everything"),
        Approach("ls", "Thyme-LS", "Owners", "objects stay with their owners, subscriptions are flooded to everybody"),
        Approach(
            "dcs", "Thyme-DCS", "Cells", "cells of the venue share storage and matching, by hashing tags to places"
        ),
        Approach(
            "socialcast",
            "SocialCast",
            "Carriers",
            "messages travel with people who are likely to meet those interested",
        ),
        Approach(
            "drip",
            "DRIP",
            "Brokers",
            "the most able nodes are brokers of the regions around them and relay matching events",
        ),
        Approach(
            "walks", "Directional walks", "Walkers", "publishers and subscribers meet where their random walks cross"
        ),
    )
}


_TITLES = re.compile(
    r"(?<![\w(-])(" + "|".join(re.escape(approach.title) for approach in APPROACHES.values()) + r")(?![\w-])"
)


def with_plain_names(text: str) -> str:
    """Text for people, with the plain name of each approach before its title."""
    plain = {approach.title: approach.full_title for approach in APPROACHES.values()}
    return _TITLES.sub(lambda found: plain[found[0]], text)


def find_approach(name: str, where: str = "approach") -> Approach:
    approach = APPROACHES.get(name)
    if approach is None:
        raise InputError(f"{where}: there is no approach {name!r}; expected one of {', '.join(APPROACHES)}")
    return approach
