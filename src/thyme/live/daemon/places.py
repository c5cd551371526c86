"""Where a daemon is found: a Unix socket in the user's runtime folder, which nobody else may use."""

from __future__ import annotations

import os
from pathlib import Path
from warnings import catch_warnings

from thyme.model.errors import InputError

DEFAULT = "node"
"""The daemon that commands speak to unless told otherwise."""


def control_path(given: str = "") -> Path:
    """The socket that a person named: by its path, or by a name in the user's runtime folder."""
    name = given or DEFAULT
    if "/" in name:
        return Path(name).expanduser()
    from platformdirs import user_runtime_path

    with catch_warnings(action="ignore"):  # there may be no runtime folder that is this user's alone: one is made
        return user_runtime_path("thyme", appauthor=False) / f"{name}.sock"


def expect_own(path: Path) -> None:
    """InputError if somebody else made this file or folder: what they serve is not this user's node."""
    if hasattr(os, "getuid") and path.stat().st_uid != os.getuid():
        raise InputError(f"{path} belongs to another user; name a socket of your own with --control")


def log_path(given: str = "") -> Path:
    """What a daemon in the background writes."""
    from platformdirs import user_log_path

    return user_log_path("thyme", appauthor=False) / f"{Path(given or DEFAULT).stem}.log"
