"""Paging through the past: the next batch from every source that has more (Thyme FGCS §3.3).

A subscriber's past matches may lie with several cells of Thyme-DCS. Each told where its batch ended; `more` asks all of
them for their next one and is done when all have answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from thyme.approaches.inbox import OwnSubscription
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.approaches.requests import Requests
from thyme.model.matching import Cursor

Source = TypeVar("Source")
Ask = Callable[[Source, int, Cursor, int], None]
"""(source, number of the request, where its last batch ended, how many it has left)"""


def ask_for_more(own: OwnSubscription[Source], requests: Requests, ask: Ask[Source], done: Done) -> None:
    waiting = dict(own.cursors)
    if not waiting:
        done(Outcome())
        return
    failures: list[Failure] = []

    def begin(source: Source, cursor: Cursor, left: int) -> None:
        def answered(outcome: Outcome) -> None:
            del waiting[source]
            if not outcome.ok:
                failures.append(outcome.failure)
            if not waiting:
                done(Outcome(failures[0] if failures else Failure.NONE, own.remaining))

        requests.begin(lambda number: ask(source, number, cursor, left), answered)

    for source, (cursor, left) in list(waiting.items()):
        begin(source, cursor, left)
