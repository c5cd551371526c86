"""The workload of SocialCast's evaluation (§V-A, Table I), and that of a recorded contact trace.

People subscribe to the interest of their community, one each at most; publishers publish once per interval within a
window, every message on one interest. A publisher's interest is drawn anew for every message, uniformly, or is
its own where publishers are taken from among the subscribers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from random import Random
from typing import Literal

import msgspec
import networkx as nx

from thyme.model.errors import InputError
from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import Count, Positive, Share
from thyme.sim.scenario import Scenario
from thyme.world.contacts.statistics import time_together
from thyme.world.files.contacts import read_contacts
from thyme.world.movement_models import Community, RecordedContacts

SUBSCRIBED_S = 1.0
"""When everybody subscribes; the paper's runs begin with it."""


class SocialWorkload(SettingsRecord, frozen=True):
    """Table I."""

    publishers: Share = 0.5
    subscribers: Share = 0.5
    chosen: Literal["uniform", "subscribers"] = "uniform"
    """Which nodes publish on an interest: any node, or only its subscribers."""
    interval_s: Positive = 60.0
    from_s: float = 3_000.0
    to_s: float = 3_500.0
    size_bytes: Count = 100
    """The paper gives no sizes."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if not SUBSCRIBED_S <= self.from_s <= self.to_s < inf:
            raise InputError(
                f"workload: from_s is {self.from_s:g} and to_s {self.to_s:g}; expected finite numbers, "
                f"{SUBSCRIBED_S:g} ≤ from_s ≤ to_s"
            )


def communities_of(scenario: Scenario) -> list[int]:
    """The community of every node: of the social network behind its movement, or as Louvain finds them in the
    whole of a contact trace, whatever part of it the run plays."""
    if isinstance(scenario.movement, RecordedContacts):
        graph = time_together(read_contacts(Path(scenario.movement.file)).contacts)
        graph.add_nodes_from(range(scenario.nodes))
        found = nx.community.louvain_communities(graph, weight="weight", seed=scenario.place_seed)
        groups = sorted((sorted(group) for group in found), key=lambda group: group[0])
        of_node = {node: number for number, group in enumerate(groups) for node in group}
        return [of_node[node] for node in range(scenario.nodes)]
    if not isinstance(scenario.movement, Community):
        raise InputError("interests of communities need [movement] model = community or contacts")
    from thyme.world.mobility.social import caveman

    network = caveman(scenario.nodes, scenario.movement.caves, scenario.place_seed)
    return [int(community) for community in network.community]


def social_operations(communities: Sequence[int], how: SocialWorkload, seed: int, messages: int = 1) -> list[Operation]:
    """Subscriptions and publications, in order of time; `tag_of` names interests. Each publication is so many
    messages, of which `publication_of` tells that they are one."""
    random = Random(f"{seed}/social workload")
    nodes = len(communities)
    subscribers = sorted(random.sample(range(nodes), round(how.subscribers * nodes)))
    members = _members(communities, subscribers)
    rows: list[tuple[float, int, OperationKind, str]] = [
        (SUBSCRIBED_S, node, OperationKind.SUBSCRIBE, tag_of(communities[node])) for node in subscribers
    ]
    publishers = sorted(random.sample(range(nodes), round(how.publishers * nodes)))
    interests = sorted(members)
    for publisher in publishers:
        at_s = how.from_s + random.uniform(0.0, how.interval_s)
        while at_s <= how.to_s:
            interest = random.choice(interests)
            node = publisher if how.chosen == "uniform" else random.choice(members[interest])
            rows.append((at_s, node, OperationKind.INSERT, tag_of(interest)))
            at_s += how.interval_s
    rows.sort(key=lambda row: (row[0], row[1]))
    operations = [_operation(number, row, how.size_bytes) for number, row in enumerate(rows)]
    if messages == 1:
        return operations
    repeated = [
        msgspec.structs.replace(one, oid=f"{one.oid}.{copy}") if one.oid else one
        for one in operations
        for copy in range(messages if one.oid else 1)
    ]
    return [msgspec.structs.replace(one, operation=number) for number, one in enumerate(repeated)]


def publication_of(oid: str) -> str:
    return oid.partition(".")[0]


def tag_of(community: int) -> str:
    return f"interest{community}"


def _members(communities: Sequence[int], subscribers: Sequence[int]) -> Mapping[int, list[int]]:
    members: dict[int, list[int]] = {}
    for node in subscribers:
        members.setdefault(communities[node], []).append(node)
    return members


def _operation(number: int, row: tuple[float, int, OperationKind, str], size_bytes: int) -> Operation:
    at_s, node, kind, tag = row
    if kind == OperationKind.SUBSCRIBE:
        return Operation(number, at_s, NodeId(node), kind, sid=0, query=tag)
    return Operation(number, at_s, NodeId(node), kind, oid=f"m{number}", tags=(tag,), size_bytes=size_bytes)
