"""The past matches of one subscription: the n most recent, and the next n on request (Thyme FGCS §3.3).

Several sources may have past matches (owners in Thyme-LS, the server in Thyme-ES, cells in Thyme-DCS). Each sends its
newest first, in pieces that name the match they follow and the number left. Pieces that arrived without a gap wait
here, and the newest match of all sources is delivered next. A source with nothing waiting that may have a newer match
is asked first, so a batch is the n most recent of all matches. A lost piece is only delayed: the cursor of a source
advances over what arrived, and a repeated request continues from there.

The position of a source that has more is kept by the subscriber's store: after a restart, the rest can be requested.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator
from itertools import islice
from typing import Generic, TypeVar

import msgspec

from thyme.model.ids import ObjectKey
from thyme.model.matching import Batch, Cursor
from thyme.model.objects import Metadata
from thyme.model.subscriptions import Subscription
from thyme.wire.storage import PastMatches

Source = TypeVar("Source")
SOURCES = 10_000
"""Most sources of one subscription's past matches."""
HELD_BACK = 10_000
"""Most matches of one subscription that arrived and wait to be requested; further pieces come when there is room."""
PIECES_AT_ONCE = 4
"""Most pieces of one answer: as many as the queues on the route hold (DSDV queues five packets per destination)."""
STREAM_MATCHES = 2_000
"""A request for so many at once starts a stream: the answer uses this credit, …"""
STREAM_PIECES = 32
"""… in at most so many pieces, which may exceed a radio's frame where the link carries more."""
PIECE_BYTES = 1_400
"""Most matches in one piece, so that it fits a frame; a larger match is sent alone."""
Missing = Callable[[Metadata], int]
"""Bytes to be added to an object before it is sent (`Codec.missing_bytes`)."""


class _Stretch(msgspec.Struct):
    """One source's matches: those waiting, the cursor after them, and how many more it has."""

    waiting: deque[Metadata]
    cursor: Cursor | None = None
    left: int = 0
    early: dict[Cursor, PastMatches] = {}
    """Pieces that arrived early, by the match they follow."""
    taken: Cursor | None = None
    """After the last match that was delivered."""

    def take(self) -> Metadata:
        metadata = self.waiting.popleft()
        self.taken = Cursor(metadata.published_s, metadata.key)
        return metadata


class Position(msgspec.Struct, frozen=True):
    """What a restarted subscriber needs to request the rest of a source's matches."""

    after: Cursor | None
    left: int


class Past(Generic[Source]):
    """The past matches of one subscription that are known and not yet delivered."""

    def __init__(self, keep: Callable[[Source, Position | None], None] = lambda *_: None) -> None:
        """`keep` is called with each new position of a source, and with None when a source has no more."""
        self._keep = keep
        self._stretches: dict[Source, _Stretch] = {}
        self._waiting = 0
        self.asked: dict[Source, None] = {}
        """The sources that were asked and have not answered."""
        self.silent: set[Source] = set()
        """The sources that did not answer the last request."""

    @property
    def remaining(self) -> int:
        return sum(len(stretch.waiting) + stretch.left for stretch in self._stretches.values())

    def undelivered(self) -> list[Source]:
        """Sources with undelivered matches."""
        return [source for source, stretch in self._stretches.items() if stretch.left or stretch.waiting]

    def unfinished(self) -> list[Source]:
        """The sources that have more than what has arrived."""
        return [source for source, stretch in self._stretches.items() if stretch.left]

    @property
    def waiting(self) -> int:
        """The number of matches that arrived and were not delivered."""
        return self._waiting

    def expect(self, source: Source, left: int) -> None:
        """A source reports the number of its matches; possibly none has arrived yet."""
        if source not in self._stretches and len(self._stretches) < SOURCES and left > 0:
            self._stretches[source] = _Stretch(deque(), left=left)
            self._keep_position(source)

    def resume(self, source: Source, position: Position) -> None:
        """Go on where a source was left before a restart."""
        self._stretches[source] = _Stretch(deque(), position.after, position.left, taken=position.after)

    def _keep_position(self, source: Source) -> None:
        stretch = self._stretches[source]
        left = len(stretch.waiting) + stretch.left
        self._keep(source, Position(stretch.taken, left) if left else None)

    def awaited(self) -> bool:
        """Whether a source reported matches and none has arrived."""
        return any(stretch.left and stretch.cursor is None for stretch in self._stretches.values())

    def waits(self, source: Source) -> bool:
        """Whether matches of a source arrived and were not delivered."""
        stretch = self._stretches.get(source)
        return stretch is not None and bool(stretch.waiting)

    def holds(self, source: Source, key: ObjectKey) -> bool:
        """Whether a match of a source arrived and was not delivered."""
        stretch = self._stretches.get(source)
        return stretch is not None and any(metadata.key == key for metadata in stretch.waiting)

    def cursor(self, source: Source) -> Cursor | None:
        """The cursor after the last match that arrived from a source."""
        stretch = self._stretches.get(source)
        return stretch.cursor if stretch else None

    def arrive(self, source: Source, piece: PastMatches) -> list[PastMatches]:
        """Append a piece to those that arrived before. Returns the pieces that are now in place: this one, early ones
        that follow it, or a duplicate; none if it does not follow yet or there is no room."""
        stretch = self._stretches.get(source)
        if stretch is None:
            if len(self._stretches) >= SOURCES:
                return []
            stretch = self._stretches[source] = _Stretch(deque())
            if piece.after is not None:
                stretch.left = 1 + len(piece.matches) + max(0, piece.left)
        if piece.after != stretch.cursor:
            return self._out_of_turn(stretch, piece)
        placed: list[PastMatches] = []
        upcoming: PastMatches | None = piece
        while upcoming is not None and self._waiting + len(upcoming.matches) <= HELD_BACK:
            self._append(stretch, upcoming)
            placed.append(upcoming)
            upcoming = stretch.early.pop(stretch.cursor, None) if stretch.cursor else None
        self._keep_position(source)
        return placed

    def _out_of_turn(self, stretch: _Stretch, piece: PastMatches) -> list[PastMatches]:
        end = piece.matches[-1] if piece.matches else None
        if end is not None and not _may_precede(stretch.cursor, _place(end.published_s, end.key)):
            return [piece]
        if piece.after is not None and piece.matches:
            if len(stretch.early) >= STREAM_PIECES:
                stretch.early.clear()
            stretch.early[piece.after] = piece
        return []

    def _append(self, stretch: _Stretch, piece: PastMatches) -> None:
        stretch.waiting.extend(piece.matches)
        self._waiting += len(piece.matches)
        stretch.left = max(0, piece.left) if piece.matches else 0
        if piece.matches:
            stretch.cursor = Cursor(piece.matches[-1].published_s, piece.matches[-1].key)

    def take(self, most: int, passed_over: Container[Source] = ()) -> tuple[list[Metadata], list[Source]]:
        """The most recent matches, or the sources that must be asked first. If both are empty, only sources that do not
        answer may have more."""
        taken: list[Metadata] = []
        lacking: list[Source] = []
        changed: dict[Source, None] = {}
        if len(self._stretches) == 1:
            taken = self._take_waiting(most)
            changed = dict.fromkeys(self._stretches if taken else ())
        while len(taken) < most:
            newest, lacking = self._newest(passed_over)
            if newest is None:
                break
            taken.append(self._stretches[newest].take())
            self._waiting -= 1
            changed[newest] = None
        for source in changed:
            self._keep_position(source)
        return taken, [] if taken else lacking

    def _take_waiting(self, most: int) -> list[Metadata]:
        """The same with a single source."""
        (stretch,) = self._stretches.values()
        count = min(most, len(stretch.waiting))
        self._waiting -= count
        popleft = stretch.waiting.popleft
        taken = [popleft() for _ in range(count)]
        if taken:
            stretch.taken = Cursor(taken[-1].published_s, taken[-1].key)
        return taken

    def _newest(self, passed_over: Container[Source]) -> tuple[Source | None, list[Source]]:
        """The source of the most recent match, or the sources that must be asked to find it."""
        newest: Source | None = None
        place: tuple[float, object] | None = None
        for source, stretch in self._stretches.items():
            if stretch.waiting:
                head = stretch.waiting[0]
                if place is None or _place(head.published_s, head.key) < place:
                    newest, place = source, _place(head.published_s, head.key)
        lacking = [
            source
            for source, stretch in self._stretches.items()
            if not stretch.waiting
            and stretch.left
            and source not in passed_over
            and _may_precede(stretch.cursor, place)
        ]
        return (None if lacking else newest), lacking

    def take_all(self, source: Source) -> None:
        """The waiting matches of a source were delivered."""
        stretch = self._stretches[source]
        self._waiting -= len(stretch.waiting)
        stretch.waiting.clear()
        stretch.taken = stretch.cursor
        self._keep_position(source)


def _place(published_s: float, key: object) -> tuple[float, object]:
    """Newest first; ties are ordered by key."""
    return -published_s, key


def _may_precede(cursor: Cursor | None, place: tuple[float, object] | None) -> bool:
    """Whether the match after the cursor could precede this position."""
    return cursor is None or place is None or _place(cursor.published_s, cursor.key) < place


def answer_in_pieces(
    search: Callable[[Subscription, int, Cursor | None], Batch],
    subscription: Subscription,
    cursor: Cursor | None,
    limit: int,
    most: int,
    missing_bytes: Missing,
    request: int = -1,
    carries_bytes: int = 0,
) -> Iterator[PastMatches]:
    """A source's answer: its matches after the cursor, at most `limit`, at most `most` per piece; a large limit
    makes it a stream, in pieces of the link's size. It is a generator: the first piece can be sent while the others
    are made."""
    if limit < STREAM_MATCHES:
        batch = search(subscription, max(1, min(limit, PIECES_AT_ONCE * most)), cursor)
        divided = islice(pieces_of(batch.matches, most, missing_bytes), PIECES_AT_ONCE)
    else:
        batch = search(subscription, STREAM_MATCHES, cursor)
        piece_bytes = max(PIECE_BYTES, carries_bytes)
        divided = islice(pieces_of(batch.matches, STREAM_MATCHES, missing_bytes, piece_bytes), STREAM_PIECES)
    left = len(batch.matches) + batch.left
    upcoming: tuple[Metadata, ...] | None = next(divided)
    while upcoming is not None:
        matches, upcoming = upcoming, next(divided, None)
        left -= len(matches)
        yield PastMatches(subscription.key, matches, cursor, left, request, upcoming is None)
        if matches:
            cursor = Cursor(matches[-1].published_s, matches[-1].key)


def pieces_of(
    matches: tuple[Metadata, ...], most: int, missing_bytes: Missing, piece_bytes: int = PIECE_BYTES
) -> Iterator[tuple[Metadata, ...]]:
    """Matches in order, in pieces that fit one message each; one empty piece if there are none."""
    piece: list[Metadata] = []
    room, encode = piece_bytes, msgspec.msgpack.encode
    for metadata in matches:
        size = len(encode(metadata)) + missing_bytes(metadata)
        if piece and (size > room or len(piece) >= most):
            yield tuple(piece)
            piece, room = [], piece_bytes
        piece.append(metadata)
        room -= size
    yield tuple(piece)
