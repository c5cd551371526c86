"""Atomic writes of files and folders: a draft is written beside the target and renamed.

A target that exists is complete, and an interrupted job leaves nothing that looks like a result. A draft is in a folder
of its own whose name begins with a dot, so that readers of the surrounding folder skip it.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_DRAFT = ".draft-"
MAX_MACHINE_CHARS = 30


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A path to write to, which replaces `path` when the block ends without an error. The draft of a block that fails,
    and all else that was written beside it, is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=draft_prefix(os.getpid()), dir=path.parent))
    try:
        draft = folder / "draft"
        yield draft
        draft.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def drop_leftovers(folder: Path) -> None:
    """Remove the drafts in a folder that were left by ended processes of this machine."""
    mine = f"{_DRAFT}{_machine()}-"
    for draft in folder.glob(f"{_DRAFT}*"):
        number = draft.name.removeprefix(mine).partition("-")[0]
        if draft.name.startswith(mine) and number.isdigit() and not _runs(int(number)):
            shutil.rmtree(draft, ignore_errors=True)


def draft_prefix(process: int) -> str:
    return f"{_DRAFT}{_machine()}-{process}-"


def _machine() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())[:MAX_MACHINE_CHARS] or "here"


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_file(path: Path, content: bytes) -> None:
    with drafted(path) as draft:
        draft.write_bytes(content)
