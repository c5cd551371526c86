"""QR codes: as rows for the page, as text for a terminal."""

from __future__ import annotations

import segno

from thyme.gallery.forms import Code

QUIET = 2
"""The border that scanners need, in modules, on each side; the terminal's lines and the page add theirs."""


def code_of(text: str) -> Code:
    return Code(text, tuple("".join(map(str, row)) for row in segno.make(text, error="m", micro=False).matrix))


def terminal_code(text: str) -> str:
    """Two modules per character, dark on light whatever the terminal's colours are."""
    rows = [[bool(module) for module in row] for row in segno.make(text, error="l", micro=False).matrix]
    width = len(rows) + 2 * QUIET
    light = [False] * width
    padded = [light] * QUIET + [[False] * QUIET + row + [False] * QUIET for row in rows] + [light] * QUIET
    if len(padded) % 2:
        padded.append(light)
    signs = {(False, False): "█", (False, True): "▀", (True, False): "▄", (True, True): " "}
    lines = ["".join(signs[pair] for pair in zip(*padded[i : i + 2], strict=True)) for i in range(0, len(padded), 2)]
    return "\n".join(lines)
