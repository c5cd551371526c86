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

import pytest

from thyme.cli.main import run


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def thyme(*arguments: str, folder: Path) -> Done:
    """What the command with these arguments prints in this folder."""
    out, err, log = StringIO(), StringIO(), logging.getLogger()
    handlers = list(log.handlers)
    with chdir(folder), redirect_stdout(out), redirect_stderr(err), patch.object(sys, "argv", ["thyme", *arguments]):
        try:
            with pytest.raises(SystemExit) as end:
                run()
        finally:
            log.handlers = handlers
    assert isinstance(end.value.code, int)
    return Done(end.value.code, out.getvalue(), err.getvalue())
