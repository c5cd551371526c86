"""JSON objects out of running text, whatever stands between them.

Objects may be glued, separated, in a list or in several; of a list its elements are taken one by one, so memory is
bounded by the largest record and not by the file. Where the text is no JSON, reading goes on at the next object that
decodes and is of a known kind; what lies between is told once, as one piece of damage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

import msgspec

from thyme.pipeline.posts.formats.posts import Unreadable

MAX_RECORD_CHARS = 64 * 1024 * 1024
"""A value that is longer counts as damage; what can be read inside it is still found."""
MAX_SHOWN_CHARS = 300
SEEN_CHARS = 30
CONTEXT_CHARS = 200
"""How far back is looked for what stands before an object."""
MAX_INNER_TRIES = 100
"""How many objects inside a damaged one are looked at; text that is nested without end has very many."""
_END_CHARS = 16
"""An error so near to the end of what was read may be no error once more is read."""
_BETWEEN = re.compile(r"[\s,\[\]}\x1e\ufeff]*")
_SEPARATORS = re.compile(r"[\s,]*")
_UNDECODED = re.compile(r"[\udc80-\udcff]")
_DECODER = json.JSONDecoder()


class Piece(msgspec.Struct, frozen=True):
    """An object, or what keeps a stretch of the text from being some; `shown` is how it starts."""

    line: int
    shown: str
    value: object = None
    damage: Unreadable | None = None
    spans_lines: bool = False


def scan(chunks: Iterator[str], known: Callable[[object], bool], line: int = 1) -> Iterator[Piece]:
    """The objects of a text that comes in parts, in order, with the damage between them. Bytes that were no text are
    expected as lone surrogates (`errors="surrogateescape"`)."""
    window = _Window(chunks, line)
    while window.skip(_BETWEEN):
        first = window.line()
        try:
            value = window.take()
        except Unreadable as error:
            yield from _resumed(window, known, error)
            continue
        if isinstance(value, dict | Unreadable):
            yield _piece(window, value, first)
        else:
            window.place = window.taken
            yield from _resumed(window, known, Unreadable(f"a JSON {type(value).__name__}; expected an object"))


def _piece(window: _Window, value: object, first: int) -> Piece:
    damage = value if isinstance(value, Unreadable) else None
    return Piece(first, window.shown(window.taken), None if damage else value, damage, window.line() > first)


def _resumed(window: _Window, known: Callable[[object], bool], damage: Unreadable) -> Iterator[Piece]:
    """The damage from here on, and the value that ends it, if one does."""
    start, first, shown = window.position(), window.line(), window.shown(window.place)
    window.place += 1
    inside = 0
    while window.find_start():
        at, line, begins = window.position(), window.line(), window.begins_record()
        inside += not begins
        if not begins and inside > MAX_INNER_TRIES:
            window.place += 1
            continue
        try:
            value = window.take()
        except Unreadable:
            window.place += 1
            continue
        if known(value) and (begins or window.stands_alone()):
            yield Piece(first, shown[: at - start].rstrip(), damage=damage)
            yield _piece(window, value, line)
            return
    yield Piece(first, shown.rstrip(), damage=damage)


class _Window:
    """The part of the text that is being looked at, `place` in it, before which all is done with, and where the value
    that was `taken` last begins."""

    def __init__(self, chunks: Iterator[str], line: int) -> None:
        self._chunks = chunks
        self._text = ""
        self.place = self.taken = 0
        self._dropped = 0
        self._line = line
        self._counted = 0
        self._undecoded = False

    def position(self) -> int:
        """The place in the whole text."""
        return self._dropped + self.place

    def line(self) -> int:
        if self._counted < self.place:
            self._line += self._text.count("\n", self._counted, self.place)
            self._counted = self.place
        return self._line

    def shown(self, place: int) -> str:
        return self._text[place : place + MAX_SHOWN_CHARS]

    def skip(self, what: re.Pattern[str]) -> bool:
        """Go on to where something else begins; False if nothing does."""
        while True:
            found = what.match(self._text, self.place)
            self.place = found.end() if found else self.place
            if self.place < len(self._text):
                return True
            if not self._read_on():
                return False

    def find_start(self) -> bool:
        """Go on to where an object may begin; False if none does."""
        while (at := self._text.find("{", self.place)) < 0:
            self.place = len(self._text)
            if not self._read_on():
                return False
        self.place = at
        return True

    def begins_record(self) -> bool:
        """Whether what is here begins a line, or is neither the value of a key nor the first of a list."""
        before = self._text[max(0, self.place - CONTEXT_CHARS) : self.place].rstrip(" \t\r")
        return before.endswith("\n") or not before.rstrip().endswith((":", "["))

    def stands_alone(self) -> bool:
        """Whether what was taken is followed by another object, by the end of a list or by nothing: then it is not part
        of an object, although the text before it broke off at a key."""
        while (end := _SEPARATORS.match(self._text, self.place).end()) >= len(self._text):  # type: ignore[union-attr]
            if not self._read_on(self.taken):
                return True
        return self._text[end] in "{[]"

    def take(self) -> object:
        """Decode the value here and go on behind it; Unreadable, without going on, where none is. One that is whole
        but holds bytes that are no text is returned as Unreadable."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self.place)
                break
            except json.JSONDecodeError as error:
                if self._is_cut(error) and not self._is_full() and self._read_on():
                    continue
                raise self._not_json(error) from error
            except RecursionError as error:
                raise Unreadable("not JSON that can be read, as it is nested too deeply") from error
            except ValueError as error:
                raise Unreadable("not JSON that can be read, as it has a number of thousands of digits") from error
        self.taken, self.place = self.place, end
        return self._not_text(self.taken, end) or value

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the text so far may be the beginning of a value."""
        return error.pos >= len(self._text) - _END_CHARS or error.msg.startswith("Unterminated string")

    def _is_full(self) -> bool:
        return len(self._text) - self.place >= MAX_RECORD_CHARS

    def _not_json(self, error: json.JSONDecodeError) -> Unreadable:
        if self._is_full() and self._is_cut(error):
            return Unreadable(f"not JSON within {MAX_RECORD_CHARS} characters")
        undecoded = self._not_text(self.place, error.pos + 1)
        if undecoded is not None:
            return undecoded
        seen = self._text[error.pos : error.pos + SEEN_CHARS].rstrip()
        return Unreadable(f"not JSON at character {error.pos - self.place + 1}: {{}}", seen)

    def _not_text(self, start: int, end: int) -> Unreadable | None:
        found = _UNDECODED.search(self._text, start, end) if self._undecoded else None
        return Unreadable(f"it is not UTF-8 at character {found.start() - start + 1}") if found else None

    def _read_on(self, needed: int | None = None) -> bool:
        """Read as much again as is waiting here; False if there is no more. What is before the place is dropped, but
        for a little and for what is still needed."""
        self.line()
        keep = max(0, min(self.place, self.place if needed is None else needed) - CONTEXT_CHARS)
        parts = [self._text[keep:]]
        wanted, got = len(self._text) - self.place, 0
        while got <= wanted and (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            got += len(chunk)
            self._undecoded = self._undecoded or _UNDECODED.search(chunk) is not None
        self._text = "".join(parts)
        self._dropped += keep
        self.place -= keep
        self.taken -= keep
        self._counted -= keep
        return got > 0
