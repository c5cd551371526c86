"""Cards: what a photo's notification says of it, in the summary of its object (Thyme FGCS §3.1: s).

A card must fit `MAX_SUMMARY_BYTES`; what the name and the author leave, the thumbnail may take. A summary of an object
that is no card, such as a text from `thyme put`, is shown as a name without a picture.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from thyme.gallery.limits import BY_CHARS, NAME_CHARS
from thyme.model.objects import MAX_SUMMARY_BYTES

MARK = "thyme photo"
SPARE_BYTES = 24
"""For lengths and numbers around the thumbnail."""

_Text = Annotated[str, msgspec.Meta(max_length=200)]
_Side = Annotated[int, msgspec.Meta(ge=0, le=100_000)]


class Card(msgspec.Struct, frozen=True, array_like=True):
    mark: Annotated[str, msgspec.Meta(max_length=20)]
    name: _Text
    by: _Text
    width: _Side
    height: _Side
    thumb: bytes


_decoder = msgspec.msgpack.Decoder(Card)


def thumb_room(name: str, by: str) -> int:
    """Bytes that are left for the thumbnail."""
    return MAX_SUMMARY_BYTES - SPARE_BYTES - len(msgspec.msgpack.encode(Card(MARK, name, by, 100_000, 100_000, b"")))


def card_bytes(name: str, by: str, width: int, height: int, thumb: bytes) -> bytes:
    return msgspec.msgpack.encode(Card(MARK, name, by, width, height, thumb))


def read_card(summary: bytes, fallback: str) -> Card:
    """The card of any received summary."""
    try:
        card = _decoder.decode(summary)
    except (msgspec.MsgspecError, ValueError):
        card = None
    if card is None or card.mark != MARK:
        text = summary.decode("utf-8", "ignore").strip() or fallback
        return Card(MARK, plain(text, NAME_CHARS), "", 0, 0, b"")
    name, by = plain(card.name, NAME_CHARS), plain(card.by, BY_CHARS)
    return Card(MARK, name or fallback, by, card.width, card.height, card.thumb)


def plain(text: str, most_chars: int) -> str:
    """One line of printable characters."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))[:most_chars].strip()
