"""Backups: a device's key, its namespaces and its stores in one archive, to be restored on another device.

A backup is a folder of a node as a compressed tar archive, without what belongs to one machine or can be made anew. It
holds secrets, so only its owner can read it. The node must not run meanwhile, and of two devices with the same key only
one may run at a time.
"""

from __future__ import annotations

import os
import tarfile
from contextlib import ExitStack, closing
from pathlib import Path

from thyme.drafts import drafted
from thyme.live.store.database import LOCK, NAME, hold
from thyme.live.store.writing import SPARE
from thyme.live.trust.identity import KEY_FILE
from thyme.model.errors import InputError

LEFT_OUT = {LOCK, SPARE, "http", "damaged"}
"""The lock, spare room, uploads and the token of the HTTP interface, and what was found damaged."""


def back_up(folder: Path, archive: Path) -> int:
    """Write a backup of a node's folder; how many files it has."""
    if not (folder / KEY_FILE).is_file():
        raise InputError(f"{folder} contains no node key ({KEY_FILE}); give the node's folder with --store")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not LEFT_OUT & {*_parts(folder, path)}]
    with ExitStack() as stack:
        for database in folder.rglob(NAME):
            stack.enter_context(closing(hold(database.parent)))
        with drafted(archive) as draft:
            os.close(os.open(draft, os.O_WRONLY | os.O_CREAT, 0o600))
            with tarfile.open(draft, "w:gz") as tar:
                for path in files:
                    tar.add(path, path.relative_to(folder))
    return len(files)


def restore(archive: Path, folder: Path) -> int:
    """Unpack a backup to a folder that has no node yet; how many files there were."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder} is not empty; restore to another folder (--store), or move it away")
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.exists():
        folder.rmdir()
    try:
        with tarfile.open(archive, "r:gz") as tar, drafted(folder) as draft:
            members = tar.getmembers()
            if KEY_FILE not in {member.name for member in members}:
                raise InputError(f"{archive} is not a backup of a node: it has no {KEY_FILE}")
            draft.mkdir(mode=0o700)
            tar.extractall(draft, members, filter="data")
    except tarfile.TarError as error:
        raise InputError(f"{archive} is not a backup of a node: {error}") from error
    return len(members)


def _parts(folder: Path, path: Path) -> tuple[str, ...]:
    return path.relative_to(folder).parts
