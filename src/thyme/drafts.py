"""The one way to write a file or a folder whole or not at all: it is drafted beside its place and renamed.

Whoever finds something at its place can use it, and an interrupted job leaves nothing that looks like a result. A
draft stands in a folder of its own whose name begins with a dot, so that readers of the folder around it pass it over.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A place to write to, which becomes `path` when the block ends well, in place of an older file; what else is
    written beside it goes when the block ends, and so does the draft if the block fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".draft-", dir=path.parent))
    try:
        draft = folder / "draft"
        yield draft
        draft.replace(path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_file(path: Path, content: bytes) -> None:
    with drafted(path) as draft:
        draft.write_bytes(content)
