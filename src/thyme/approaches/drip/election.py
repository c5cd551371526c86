"""The bootstrap: everybody tells how able they are, and the k most able become brokers (DRIP §IV-A).

All nodes broadcast their id and ability once. What is heard is passed on only if it is among the k best known so
far: the others cannot be among the k best of the network. So everybody learns the same k, and nobody more.

Where k follows the size of the crowd, nodes pass on those of the `MAX_SHARED_BROKERS` best, and with them a sample from
which everybody estimates the same size: the `SAMPLE` nodes with the lowest checksums. Up to so many are counted; of
more, the highest checksum in the sample tells how densely they lie.

The paper stops there. Here a node that joins later is told the list by its neighbours and takes its place in it, and
a broker that learns of k better ones steps down. A selection is one epoch; a node that hears no broker for long
begins the next one, which supersedes the former and so forgets brokers that are gone.

Abilities to detect events follow a power law (§VI-A): the density of x ≥ 1 is proportional to x^-exponent. Each node's
ability is a function of seed and node alone, so that a workload can give the events to those who detect them. With
random selection a second draw decides who becomes a broker, and abilities only who detects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from random import Random

from thyme.approaches.drip.options import DripOptions
from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.wire.drip import Existing

SAMPLE = 32
"""Nodes whose checksums are compared: the size of a larger crowd is estimated to about a fifth of it."""
LARGEST_CROWD = 1e9

GOSSIP_WAIT_S = 0.2
"""Abilities heard within this time are passed on together."""


class Election:
    """One node's part in the selection; `changed` is called whenever it may have become a broker or ceased to be."""

    def __init__(
        self,
        host: Host,
        brokers_of: Callable[[float], int],
        standing: float,
        bootstrap_s: float,
        changed: Callable[[], None],
    ) -> None:
        self._host = host
        self._brokers_of = brokers_of
        self._kept = brokers_of(LARGEST_CROWD)
        self._counts = brokers_of(0.0) < self._kept
        self._sampled: dict[NodeId, None] = {}
        """The nodes with the smallest checksums, smallest first."""
        self.standing = standing
        self._bootstrap_s = bootstrap_s
        self._changed = changed
        self._epoch = 0
        self._best: dict[NodeId, float] = {}
        self._news: dict[NodeId, None] = {}
        self._gossip: Timer | None = None
        self._deciding: Timer | None = None
        self._in_office = False

    @property
    def in_office(self) -> bool:
        """Whether this node is a broker."""
        return self._in_office

    def best(self) -> tuple[NodeId, ...]:
        """The k best known, best first."""
        return tuple(self._best)[: self._brokers_of(self.crowd())]

    def crowd(self) -> float:
        """How many nodes there are, as far as the present selection tells."""
        known = len(self._sampled)
        return float(known) if known < SAMPLE else (SAMPLE - 1) / _checksum(next(reversed(self._sampled)))

    def all_known(self) -> int | None:
        """The number of nodes, if all of them are known and no selection is under way."""
        if self._deciding is not None or not self._best:
            return None
        known = len({*self._best, *self._sampled})
        return known if known < (SAMPLE if self._counts else self._kept) else None

    def begin(self) -> None:
        """Take part in the present selection."""
        self._forget_others()
        self._host.broadcast(Existing(self._epoch, ((self._host.node, self.standing),), asking=True))
        self._decide_later()

    def begin_anew(self) -> None:
        """Call for a new selection, in which only those who are still there take part."""
        self._epoch += 1
        self.begin()

    def stop(self) -> None:
        for timer in (self._gossip, self._deciding):
            if timer is not None:
                timer.cancel()

    def hear(self, message: Existing) -> None:
        if not self._best or message.epoch < self._epoch:
            self._tell((*self._best, *self._sampled))
            return
        if message.epoch > self._epoch:
            self._epoch = message.epoch
            self._forget_others()
            self._tell(self._best)
            self._decide_later()
        known = {*self._best, *self._sampled}
        self._merge(dict(message.entries), message.sample)
        self._tell(node for node in (*self._best, *self._sampled) if node not in known)
        if message.asking:
            self._tell((*self._best, *self._sampled))

    def hear_broker(self, broker: NodeId, standing: float) -> None:
        """A broker was heard: if it is not among the k best known, either we or it should be told."""
        if not self._best or broker in self.best():
            return
        unknown = broker not in self._best
        self._merge({broker: standing}, ())
        if unknown and broker in self._best:
            self._tell((broker,))
        elif not self._news:
            self._tell((*self._best, *self._sampled))

    def _forget_others(self) -> None:
        self._best = {self._host.node: self.standing}
        self._sampled = {self._host.node: None} if self._counts else {}

    def _merge(self, entries: dict[NodeId, float], sample: Iterable[NodeId]) -> None:
        seen = dict.fromkeys((*entries, *sample)) if self._counts else {}
        if all(node in self._best for node in entries) and all(node in self._sampled for node in seen):
            return
        ranked = sorted((self._best | entries).items(), key=lambda entry: (-entry[1], entry[0]))
        self._best = dict(ranked[: self._kept])
        self._sampled = dict.fromkeys(sorted(self._sampled | seen, key=_checksum)[:SAMPLE])
        if self._deciding is None:
            self._decide()

    def _tell(self, nodes: Iterable[NodeId]) -> None:
        self._news.update(dict.fromkeys(nodes))
        if self._news and self._gossip is None:
            self._gossip = self._host.after(self._host.random.uniform(0.0, GOSSIP_WAIT_S), self._pass_on)

    def _pass_on(self) -> None:
        self._gossip = None
        entries = tuple((node, self._best[node]) for node in self._news if node in self._best)
        sample = tuple(node for node in self._news if node in self._sampled and node not in self._best)
        self._news.clear()
        if entries or sample:
            self._host.broadcast(Existing(self._epoch, entries, sample=sample))

    def _decide_later(self) -> None:
        if self._deciding is not None:
            self._deciding.cancel()
        self._deciding = self._host.after(self._bootstrap_s, self._bootstrap_over)

    def _bootstrap_over(self) -> None:
        self._deciding = None
        self._decide()

    def _decide(self) -> None:
        chosen = self._host.node in self.best()
        if chosen != self._in_office:
            self._in_office = chosen
            self._changed()


def _checksum(node: NodeId) -> float:
    """A number above 0, up to 1, as good as drawn for each node."""
    digest = blake2b(str(int(node)).encode(), digest_size=6).digest()
    return (int.from_bytes(digest, "big") + 1) / 2.0**48


def detecting_ability(seed: int, node: int, exponent: float) -> float:
    """ξ of a node."""
    share = Random(f"{seed}/{node}/ability").random()
    return float((1.0 - share) ** (-1.0 / (exponent - 1.0)))


def standing_of(options: DripOptions, node: int) -> float:
    """What decides whether a node becomes a broker: the k highest do."""
    if options.selection == "random":
        return Random(f"{options.ability_seed}/{node}/standing").random()
    return ability_of(options, node)


def ability_of(options: DripOptions, node: int) -> float:
    return options.ability or detecting_ability(options.ability_seed, node, options.exponent)
