"""Paging through the past: the next batch from every source that has more (Thyme FGCS §3.3).

A subscriber's past matches may lie with several sources (owners in Thyme-LS, cells in Thyme-DCS). Each told where its
batch ended; `more` asks all of them for their next one and is done when all have answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from thyme.approaches.inbox import OwnSubscription
from thyme.approaches.interface import Done, Failure, Outcome
from thyme.approaches.requests import Requests
from thyme.model.matching import Cursor
from thyme.model.objects import Metadata

Source = TypeVar("Source")
PIECE_BYTES = 1_400
"""Matches that one notification carries at most, so that it fits a frame; a single larger one goes alone."""
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


def pieces_of(matches: tuple[Metadata, ...], most: int) -> list[tuple[Metadata, ...]]:
    """Matches in pieces that fit a message each, in their order; one empty piece if there are none."""
    pieces: list[tuple[Metadata, ...]] = []
    piece: list[Metadata] = []
    room = PIECE_BYTES
    for metadata in matches:
        size = len(msgspec.msgpack.encode(metadata))
        if piece and (size > room or len(piece) >= most):
            pieces.append(tuple(piece))
            piece, room = [], PIECE_BYTES
        piece.append(metadata)
        room -= size
    return [*pieces, tuple(piece)]
