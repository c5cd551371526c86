"""Where benchmarks print their tables: a terminal has its own width; into a file goes the whole table, whatever width a
terminal would have."""

from __future__ import annotations

import sys

from rich.console import Console

FILE_COLUMNS = 140


def table_console() -> Console:
    return Console(width=None if sys.stdout.isatty() else FILE_COLUMNS)
