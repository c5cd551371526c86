"""Small worlds for SocialCast: people who meet when a table says, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from thyme.approaches.interface import Outcome, ReactiveStore
from thyme.approaches.socialcast.protocol import SocialCast
from thyme.model.frames import TimeFrame
from thyme.model.ids import SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.sim.faults import Rule
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of
from thyme.wire.socialcast import identifier

Contact = tuple[int, int, float, float]
END_S = 100_000.0


def places(stores: Iterable[ReactiveStore]) -> Counter[tuple[int, int]]:
    """In how many places each copy (message, number) is: carried, or on offer and to be taken back or released."""
    found: Counter[tuple[int, int]] = Counter()
    for store in stores:
        assert isinstance(store, SocialCast)
        found.update((held.id, copy) for held in store.buffer for copy in held.copies)
        found.update((identifier(data.metadata.key), copy) for data in store.handovers for copy in data.copies)
    return found


class SocialWorld:
    """`nodes` people and their contacts (a, b, from, until); all are on from the start."""

    def __init__(
        self, folder: Path, nodes: int, contacts: Sequence[Contact], faults: Sequence[Rule] = (), **settings: Any
    ) -> None:
        # Everybody meets once after the end, so that the file names all nodes.
        rows = [*contacts, *((node, nodes - 1, END_S + 1, END_S + 2) for node in range(nodes - 1))]
        file = folder / "contacts.txt"
        file.write_text("".join(f"{a} {b} {start} {end}\n" for a, b, start, end in rows))
        given = {
            "nodes": nodes,
            "approach": "socialcast",
            "settings": {"period_s": 20.0, "hysteresis": 0.2, **settings},
            "movement": {"model": "contacts", "file": str(file), "begin_s": 0.0},
            "time": {"join_from_s": 0.0, "join_to_s": 0.0, "until_s": END_S},
            "users": {"retrieval": {"probability": 0.0}, "ask_more": False},
        }
        self.run = Run(scenario_of(given, "test"))
        self.run.world.rules = tuple(faults)
        self.run.world.keep_frames()
        self.notified: list[tuple[int, str, int]] = []
        """(subscriber, object, hops)"""
        self.outcomes: list[Outcome] = []
        self.until(0.0)

    def node(self, node: int) -> SocialCast:
        store = self.run.stores[node]
        assert isinstance(store, SocialCast)
        return store

    def until(self, at_s: float) -> None:
        self.run.world.run(at_s)

    def subscribe(self, node: int, query: str, frame: TimeFrame | None = None) -> SubscriptionKey:
        frame = frame or TimeFrame.always()
        return self.node(node).subscribe(parse_query(query), frame, self.on_notified, self.outcomes.append)

    def publish(self, node: int, oid: str, *tags: str, data: bytes = b"news") -> Metadata:
        return self.node(node).insert(oid, data, tags, b"", self.outcomes.append)

    def names(self, node: int) -> list[str]:
        return [name for subscriber, name, _ in self.notified if subscriber == node]

    def copies(self, node: int) -> int:
        return len(self.node(node).buffer)

    def on_offer(self, node: int) -> int:
        return self.node(node).handovers.on_offer()[0]

    def aside(self, node: int) -> int:
        return self.node(node).handovers.aside

    def sent(self, *names: str) -> list[tuple[int, int]]:
        """(from, to) of all frames of these kinds so far; of those with an object in them if no kind is given."""
        names = names or ("Data", "Offer")
        frames = self.run.world.frames()
        assert frames is not None
        return [(row["sender"], row["to"]) for row in frames.to_pylist() if row["message"] in names]

    def restart(self, node: int) -> None:
        self.run.switch_off(node, True)
        self.run.switch_on(node, 0.0)
        self.node(node).resume(self.on_notified)

    def on_notified(self, key: SubscriptionKey, matches: Sequence[Metadata], hops: int) -> None:
        self.notified += [(key.subscriber, metadata.key.oid, hops) for metadata in matches]
