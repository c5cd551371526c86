"""The pager: delivers the past matches of a subscription to the application in batches (Thyme FGCS §3.3).

A batch asks the sources that are needed, waits for their answers, and ends when it was delivered or no source has more.
Batches of one subscription run one after the other. A source that does not answer is skipped for the batch, which then
failed in part. Later batches ask it last, when the others have no more, until it sends something; otherwise each of
them would wait for it.

A batch larger than usual is a stream: each source has a credit of many matches and gets a new one as soon as the
previous one has arrived, before it is delivered, so that the next batch finds some waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from thyme.approaches.inbox import Inbox, OwnSubscription
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.approaches.past import STREAM_MATCHES
from thyme.approaches.requests import Requests
from thyme.wire.storage import MoreRequest, PastMatches

Source = TypeVar("Source", bound=int)


class _Batch(msgspec.Struct, Generic[Source]):
    wanted: int
    done: Done
    credit: int
    """How many matches to request from a source."""
    told: int = 0
    silent: dict[Source, Failure] = {}
    """The sources that did not answer."""
    asks_all: bool = False
    """Whether only sources that did not answer before are left."""

    def passed_over(self, own: OwnSubscription[Source]) -> set[Source]:
        """The sources to skip: those silent now, and those silent before if others may have more."""
        return {*self.silent, *(() if self.asks_all else own.past.silent)}


class Pager(Generic[Source]):
    """The batches of one node's subscriptions."""

    def __init__(
        self,
        inbox: Inbox[Source],
        requests: Requests,
        ask: Callable[[Source, MoreRequest], None],
        size: int,
    ) -> None:
        """`ask` sends a request to a source; a batch has `size` matches."""
        self._inbox = inbox
        self._requests = requests
        self._ask = ask
        self._size = size
        self._turns: dict[int, list[_Batch[Source]]] = {}

    def give(self, own: OwnSubscription[Source], done: Done, most: int = 0) -> None:
        """Deliver the next batch, or a stream of up to so many."""
        turns = self._turns.setdefault(own.subscription.key.sid, [])
        turns.append(_Batch(most or self._size, done, STREAM_MATCHES if most > self._size else self._size))
        if len(turns) == 1:
            self._go_on(own)

    def on_piece(self, source: Source, piece: PastMatches) -> None:
        """A piece arrived. An unrequested one, after the first batch, is delivered at once: its source was late, or
        learned the subscription only now. It waits if other matches of its source wait to be requested, unless
        its source starts anew, since it has lost its store."""
        own = self._inbox.find(piece.key)
        if own is not None:
            own.past.silent.discard(source)
        waits = own is not None and own.past.waits(source)
        placed = own.past.arrive(source, piece) if own is not None else [piece]
        for one in placed:
            if one.request >= 0 and one.last:
                self._requests.resolve(one.request, Outcome())
        if piece.request >= 0 or own is None or not own.answered:
            return
        if not waits:
            for one in placed or [piece]:
                self._inbox.accept_all(piece.key, one.matches)
            if placed:
                own.past.take_all(source)
        elif placed:
            new = [metadata for metadata in piece.matches if not own.past.holds(source, metadata.key)]
            self._inbox.accept_all(piece.key, new)

    def _go_on(self, own: OwnSubscription[Source]) -> None:
        sid = own.subscription.key.sid
        turns = self._turns[sid]
        batch = turns[0]
        if batch.credit > self._size:
            self._ask_ahead(own, batch)
        lacking = self._tell(own, batch)
        if not lacking and batch.told < batch.wanted and own.past.silent and not batch.asks_all:
            batch.asks_all = True
            lacking = self._tell(own, batch)
        if lacking:
            self._ask_for_more(own, batch, [source for source in lacking if source not in own.past.asked])
            return
        own.answered = True
        turns.pop(0)
        if not turns:
            del self._turns[sid]
        failures = list(batch.silent.values())
        batch.done(Outcome(failures[0] if failures else Failure.NONE, own.past.remaining))
        if turns:
            self._go_on(own)

    def _tell(self, own: OwnSubscription[Source], batch: _Batch[Source]) -> list[Source]:
        """Deliver what has arrived; returns the sources to ask next."""
        key, passed_over = own.subscription.key, batch.passed_over(own)
        while batch.told < batch.wanted and self._inbox.find(key) is own:
            matches, lacking = own.past.take(batch.wanted - batch.told, passed_over)
            if not matches:
                return lacking
            batch.told += self._inbox.give(own, matches)
        return []

    def _ask_ahead(self, own: OwnSubscription[Source], batch: _Batch[Source]) -> None:
        """Give credit to the sources that have more, unless much is already waiting to be delivered."""
        if own.past.waiting <= batch.credit:
            not_now = {*own.past.asked, *batch.passed_over(own)}
            unasked = [one for one in own.past.unfinished() if one not in not_now]
            self._ask_for_more(own, batch, unasked)

    def _ask_for_more(self, own: OwnSubscription[Source], batch: _Batch[Source], sources: list[Source]) -> None:
        def begin(source: Source) -> None:
            def send(number: int) -> None:
                self._ask(source, MoreRequest(number, own.subscription, own.past.cursor(source), batch.credit))

            def answered(outcome: Outcome) -> None:
                own.past.asked.pop(source, None)
                turns = self._turns.get(own.subscription.key.sid)
                if not outcome.ok:
                    own.past.silent.add(source)
                    if turns:
                        turns[0].silent[source] = outcome.failure
                if turns and (not own.past.asked or turns[0].credit > self._size):
                    self._go_on(own)

            self._requests.begin(send, answered)

        own.past.asked.update(dict.fromkeys(sources))
        for source in sources:
            begin(source)
