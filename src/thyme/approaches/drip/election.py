"""The bootstrap: everybody tells how able they are, and the k most able become brokers (DRIP §IV-A).

All nodes broadcast their id and ability once. What is heard is passed on only if it is among the k best known so
far: the others cannot be among the k best of the network. So everybody learns the same k, and nobody more.

The paper stops there. Here a node that joins later is told the list by its neighbours and takes its place in it, and
a broker that learns of k better ones steps down. A selection is one epoch; a node that hears no broker for long
begins the next one, which supersedes the former and so forgets brokers that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.wire.drip import Existing


class Election:
    """One node's part in the selection; `changed` is called whenever it may have become a broker or ceased to be."""

    def __init__(
        self,
        host: Host,
        k: int,
        standing: float,
        bootstrap_s: float,
        gossip_wait_s: float,
        changed: Callable[[], None],
    ) -> None:
        self._host = host
        self._k = k
        self.standing = standing
        self._bootstrap_s = bootstrap_s
        self._gossip_wait_s = gossip_wait_s
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
        return tuple(self._best)

    def begin(self) -> None:
        """Take part in the present selection."""
        self._best = {self._host.node: self.standing}
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
            if self._best:
                self._tell(self._best)
            return
        if message.epoch > self._epoch:
            self._epoch = message.epoch
            self._best = {self._host.node: self.standing}
            self._tell(self._best)
            self._decide_later()
        known = self._best
        self._merge(dict(message.entries))
        self._tell(node for node in self._best if node not in known)
        if message.asking:
            self._tell(self._best)

    def hear_broker(self, broker: NodeId, standing: float) -> None:
        """A broker was heard: if it is not among the k best known, either we or it should be told."""
        if not self._best or broker in self._best:
            return
        self._merge({broker: standing})
        if broker in self._best:
            self._tell((broker,))
        elif not self._news:
            self._tell(self._best)

    def _merge(self, entries: dict[NodeId, float]) -> None:
        if all(node in self._best for node in entries):
            return
        ranked = sorted((self._best | entries).items(), key=lambda entry: (-entry[1], entry[0]))
        self._best = dict(ranked[: self._k])
        if self._deciding is None:
            self._decide()

    def _tell(self, nodes: Iterable[NodeId]) -> None:
        self._news.update(dict.fromkeys(nodes))
        if self._news and self._gossip is None:
            self._gossip = self._host.after(self._host.random.uniform(0.0, self._gossip_wait_s), self._pass_on)

    def _pass_on(self) -> None:
        self._gossip = None
        entries = tuple((node, self._best[node]) for node in self._news if node in self._best)
        self._news.clear()
        if entries:
            self._host.broadcast(Existing(self._epoch, entries))

    def _decide_later(self) -> None:
        if self._deciding is not None:
            self._deciding.cancel()
        self._deciding = self._host.after(self._bootstrap_s, self._bootstrap_over)

    def _bootstrap_over(self) -> None:
        self._deciding = None
        self._decide()

    def _decide(self) -> None:
        chosen = self._host.node in self._best
        if chosen != self._in_office:
            self._in_office = chosen
            self._changed()
