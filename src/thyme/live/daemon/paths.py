"""Where a daemon is found: a Unix socket in the user's runtime folder, for this user only."""

from __future__ import annotations

import os
from pathlib import Path
from warnings import catch_warnings

from thyme.model.errors import InputError

DEFAULT = "node"
"""The daemon that commands connect to by default."""


def control_path(given: str = "") -> Path:
    """The socket that a person named: by its path, or by a name in the user's runtime folder."""
    name = given or DEFAULT
    if "/" in name:
        return Path(name).expanduser()
    from platformdirs import user_runtime_path

    with catch_warnings(action="ignore"):  # there may be no runtime folder that is this user's alone: one is made
        return user_runtime_path("thyme", appauthor=False) / f"{name}.sock"


def expect_own(path: Path) -> None:
    """InputError if another user made this file or folder: its server is not this user's node."""
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise InputError(f"{path} belongs to another user; choose your own socket with --control")


def log_path(given: str = "") -> Path:
    """Log file of a daemon in the background."""
    from platformdirs import user_log_path

    return user_log_path("thyme", appauthor=False) / f"{Path(given or DEFAULT).stem}.log"
