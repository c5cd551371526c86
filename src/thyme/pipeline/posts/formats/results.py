"""What reading a record comes to, as it is told: a post, something to skip, or a rejected record with its line."""

from __future__ import annotations

import json

import msgspec

from thyme.pipeline.posts.formats.posts import Outcome, ParsedPost, Skipped, Unreadable
from thyme.pipeline.posts.formats.scanning import MAX_SHOWN_CHARS


class Rejected(msgspec.Struct, frozen=True):
    """Why a record is no post; `public_reason` is the same with nothing of the record in it."""

    line: int
    reason: str
    record: str
    public_reason: str


ReadResult = ParsedPost | Rejected | Skipped


class LineCount:
    """How many lines begin in a source: those of the parts before tell where in its file a part's lines are."""

    number = 0


def told(outcome: Outcome, line: int, value: object, shown: str | bytes) -> ReadResult:
    """An outcome as told; of a record that is a part of a larger value, the part is shown."""
    if not isinstance(outcome, Unreadable):
        return outcome
    if outcome.record is not None and outcome.record is not value:
        return rejected(line, outcome, _dumped(outcome.record))
    if isinstance(shown, bytes):
        shown = shown[: 4 * MAX_SHOWN_CHARS].decode("utf-8", errors="replace")
    return rejected(line, outcome, shown)


def _dumped(record: object) -> str:
    try:
        return json.dumps(record, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def rejected(line: int, why: Unreadable, shown: str) -> Rejected:
    return Rejected(line, str(why), shown[:MAX_SHOWN_CHARS].rstrip(), why.without_content)
