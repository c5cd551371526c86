"""Text from others on a terminal: names, summaries and tags of objects, and errors and warnings that quote them."""

from __future__ import annotations


def printable(text: object) -> str:
    """Text for one line of a terminal: control characters, which could move the cursor or overwrite output, are shown
    as dots."""
    return "".join(c if c.isprintable() else "·" for c in str(text))
