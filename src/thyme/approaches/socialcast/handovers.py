"""Confirmed hand-overs: a copy changes hands without ever being in two of them (SocialCast §III: at most γ copies).

A link that gives up cannot say whether its frame was lost or only the acknowledgement. So a carrier *offers* copies
and neither sends nor carries them meanwhile; the receiver reads the message, keeps the copies aside and *accepts*;
the carrier then gives them up for good and *releases* them, and from then on the receiver carries them. An offer that
is not accepted in time is taken back, and an answer that comes later finds nothing to release. A release that the link
could not deliver is sent again when its receiver is heard of; copies that were accepted and never released are
dropped in the end. Whatever is lost, copies are never doubled, and one is lost for good only if the two part between
the acceptance and the release and do not meet again in time.

Copies on offer stay in the host's store as carried, so a restart takes them back; they leave it before the release is
sent. Numbers of offers are never used again, so what others kept aside before the restart is never released by mistake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from thyme.approaches.socialcast.buffers import Buffer
from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.host import Host
from thyme.model.bounded import Bounded
from thyme.model.ids import NodeId, ObjectKey
from thyme.model.records import Counted, TrafficKind
from thyme.wire.socialcast import Accept, Data, Offer, Release, identifier

NUMBERS = "socialcast offers"
LAST = "last"


class _Open(NamedTuple):
    to: NodeId
    data: Data
    made_s: float


class Offers:
    """The side of the carrier: offers without an answer, and releases that the link could not deliver."""

    def __init__(self, host: Host, maximum: int) -> None:
        self._host = host
        self._maximum = maximum
        self._open: dict[int, _Open] = {}
        self._undelivered: Bounded[int, tuple[NodeId, float]] = Bounded(maximum)
        self._last = int(host.store.get(NUMBERS, LAST) or b"0")

    def __iter__(self) -> Iterator[Data]:
        return iter([offer.data for offer in self._open.values()])

    @property
    def full(self) -> bool:
        return len(self._open) >= self._maximum

    def make(self, to: NodeId, data: Data) -> int:
        """The number of a new offer."""
        self._last += 1
        self._host.store.put(NUMBERS, LAST, str(self._last).encode())
        self._open[self._last] = _Open(to, data, self._host.now())
        return self._last

    def accepted(self, sender: NodeId, number: int) -> Data | None:
        """What was offered under this number, if it still is: from now on its copies are the other's."""
        offer = self._open.get(number)
        if offer is None or offer.to != sender:
            return None
        del self._open[number]
        return offer.data

    def overdue(self, made_before_s: float) -> list[tuple[NodeId, Data]]:
        """Offers to take back, and who did not answer."""
        late = [number for number, offer in self._open.items() if offer.made_s <= made_before_s]
        return [(offer.to, offer.data) for offer in map(self._open.pop, late)]

    def keep_release(self, to: NodeId, number: int, until_s: float) -> None:
        """The link could not deliver it; beyond the maximum the oldest is given up."""
        self._undelivered[number] = to, until_s

    def releases_for(self, node: NodeId) -> list[tuple[int, float]]:
        """Releases to send again now that this node was heard: number, and until when it waits for it."""
        if not self._undelivered:
            return []
        now_s = self._host.now()
        found = [(number, until_s) for number, (to, until_s) in self._undelivered.items() if to == node]
        for number, _ in found:
            del self._undelivered[number]
        return [(number, until_s) for number, until_s in found if until_s > now_s]


class AcceptedOffers:
    """The side of the receiver: copies that were accepted and not yet released."""

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._kept: dict[tuple[NodeId, int], tuple[Data, float]] = {}
        self._released: Bounded[tuple[NodeId, int], ObjectKey] = Bounded(maximum)

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, sender: NodeId, number: int, data: Data, until_s: float) -> bool:
        """False if there is no room, or if this very offer was accepted and released before. (A sender that lost its
        store counts from the beginning again, with other messages.)"""
        key = (sender, number)
        if self._released.get(key) == data.metadata.key or (len(self._kept) >= self._maximum and key not in self._kept):
            return False
        self._kept[key] = data, until_s
        return True

    def release(self, sender: NodeId, number: int) -> Data | None:
        """What was kept under this number, once."""
        kept = self._kept.pop((sender, number), None)
        if kept is None:
            return None
        self._released[(sender, number)] = kept[0].metadata.key
        return kept[0]

    def drop_overdue(self, now_s: float) -> int:
        """Let go of what nobody released; gives how many offers that were."""
        late = [key for key, (_, until_s) in self._kept.items() if until_s <= now_s]
        for key in late:
            del self._kept[key]
        return len(late)


class Handovers:
    """Both sides of a node, and what they say to each other."""

    def __init__(
        self,
        host: Host,
        options: SocialCastOptions,
        buffer: Buffer,
        lost: Callable[[NodeId, int], None],
        taken_back: Callable[[NodeId, int], None],
    ) -> None:
        """`lost(node, message)`: the link gave an offer up; `taken_back(node, message)`: nobody accepted it in time."""
        self._host = host
        self._options = options
        self._buffer = buffer
        self._lost = lost
        self._taken_back = taken_back
        self._offers = Offers(host, options.pending_handovers)
        self._aside = AcceptedOffers(options.pending_handovers)

    def __iter__(self) -> Iterator[Data]:
        """What is on offer."""
        return iter(self._offers)

    @property
    def full(self) -> bool:
        return self._offers.full

    def on_offer(self) -> tuple[int, int]:
        """Copies, and the bytes of their contents."""
        copies = sum(len(data.copies) for data in self._offers)
        return copies, sum(len(data.copies) * len(data.content) for data in self._offers)

    @property
    def aside(self) -> int:
        """Offers that this node accepted and that were not yet released."""
        return len(self._aside)

    def offer(self, id_: int, to: NodeId, data: Data) -> None:
        """Take copies out of the buffer and offer them. If the link gives up the offer may have arrived all the same,
        and is answered then."""
        for copy in data.copies:
            self._buffer.lend(id_, copy)
        number = self._offers.make(to, data)
        self._host.unicast(to, Offer(data, number), partial(self._lost, to, id_))

    def answer(self, sender: NodeId, offer: Offer, carries: bool) -> None:
        """Accept; copies that this node will not carry end here, and the sender need not know."""
        until_s = self._host.now() + self._options.unreleased_s
        if carries and not self._aside.keep(sender, offer.number, offer.data, until_s):
            self._drop("Offer", "no room, or a repetition")
            return
        self._host.unicast(sender, Accept(offer.number))

    def on_accept(self, sender: NodeId, number: int) -> None:
        data = self._offers.accepted(sender, number)
        if data is None:
            self._drop("Accept", "taken back")
            return
        for copy in data.copies:
            self._buffer.let_go(identifier(data.metadata.key), copy)
        self._release(sender, number, self._host.now() + self._options.unreleased_s)

    def released(self, sender: NodeId, number: int) -> Data | None:
        """What this node carries from now on."""
        return self._aside.release(sender, number)

    def on_heard(self, node: NodeId) -> None:
        """It is near: what it was promised can be released."""
        for number, until_s in self._offers.releases_for(node):
            self._release(node, number, until_s)

    def settle_overdue(self) -> None:
        """Take back what nobody accepted, and drop what nobody released."""
        now_s = self._host.now()
        for to, data in self._offers.overdue(now_s - self._options.answer_wait_s):
            self._taken_back(to, identifier(data.metadata.key))
            self._buffer.add(data, data.copies, data.hops)
        for _ in range(self._aside.drop_overdue(now_s)):
            self._drop("Offer", "not released")

    def _release(self, to: NodeId, number: int, until_s: float) -> None:
        self._host.unicast(to, Release(number), partial(self._offers.keep_release, to, number, until_s))

    def _drop(self, name: str, reason: str) -> None:
        self._host.record(Counted(TrafficKind.DROPPED, name, reason=reason))
