"""The command `thyme` as a function: starting Python for each takes most of a second.

That the program itself starts is shown where processes matter (`tests/cli/test_door.py`, `tests/live`).
"""

from __future__ import annotations

import logging
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from thyme.cli.main import run


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def thyme(*arguments: str, folder: Path, given: bytes = b"") -> Done:
    """What the command with these arguments prints in this folder, if it reads what is given."""
    out, err, read = BytesIO(), BytesIO(), TextIOWrapper(BytesIO(given))
    log = logging.getLogger()
    handlers = list(log.handlers)
    with (
        chdir(folder),
        redirect_stdout(TextIOWrapper(out, write_through=True)) as shown,
        redirect_stderr(TextIOWrapper(err, write_through=True)) as complained,
        patch.multiple(sys, argv=["thyme", *arguments], stdin=read),
    ):
        try:
            with pytest.raises(SystemExit) as end:
                run()
        finally:
            log.handlers = handlers
    assert isinstance(end.value.code, int)
    said = Done(end.value.code, out.getvalue().decode(), err.getvalue().decode())
    shown.detach()
    complained.detach()
    return said
