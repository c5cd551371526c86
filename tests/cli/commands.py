"""The command `thyme` as a function: starting Python for each takes most of a second.

That the program itself starts is shown where processes matter (`tests/cli/test_door.py`, `tests/live`).
"""

from __future__ import annotations

import logging
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from thyme.cli.main import run


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def thyme(*arguments: str, folder: Path) -> Done:
    """What the command with these arguments prints in this folder."""
    out, err, log = StringIO(), StringIO(), logging.getLogger()
    handlers, code = list(log.handlers), 0
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["thyme", *arguments]):
        try:
            run()
        except SystemExit as end:
            assert isinstance(end.code, int)
            code = end.code
        finally:
            log.handlers = handlers
    return Done(code, out.getvalue(), err.getvalue())
