"""QR codes: as rows for the page, as text for a terminal."""

from __future__ import annotations

from io import StringIO

import segno

from thyme.gallery.forms import Code

QUIET = 2
"""The border that scanners need, in modules, on each side; the terminal's lines and the page add theirs."""


def code_of(text: str) -> Code:
    return Code(text, tuple("".join(map(str, row)) for row in segno.make(text, error="m", micro=False).matrix))


def terminal_code(text: str) -> str:
    """Two modules per character, dark on light on a terminal with light text."""
    drawn = StringIO()
    segno.make(text, error="l", micro=False).terminal(drawn, border=QUIET, compact=True)
    return drawn.getvalue().rstrip("\n")
