"""The location of a node's store: memory, a given folder, or the user's data folder."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from thyme.approaches.registry import APPROACHES
from thyme.host import MemoryStore, Store
from thyme.live.store.disk import DiskStore
from thyme.live.store.room import DiskOptions
from thyme.live.trust.identity import FIRST_DERIVED, Identity, kept_identity
from thyme.live.trust.namespaces import DEFAULT_NAME, Namespace
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

MEMORY = "memory"
"""Instead of a folder: keep nothing after the end."""


Place = Store | str | os.PathLike[str] | None


def open_store(
    where: Place, node: int, approach: str, options: DiskOptions, namespace: Namespace | None = None
) -> Store | DiskStore:
    """The store that a person named; without a name, the one of this node, approach and namespace in the user's data
    folder."""
    name = namespace.name if namespace is not None else DEFAULT_NAME
    if where is None:
        own = own_folder() / approach if node >= FIRST_DERIVED else data_folder() / f"{node}-{approach}"
        folder = own if namespace is None or name == DEFAULT_NAME else own.with_name(f"{own.name}-{namespace.folder}")
        _warn_of_other_stores(folder, approach)
        return DiskStore(folder, _about(node, approach, name), options)
    if isinstance(where, str | os.PathLike):
        if where == MEMORY:
            return MemoryStore()
        return DiskStore(Path(where).expanduser(), _about(node, approach, name), options)
    if not hasattr(where, "items"):
        raise InputError(f"store is {where!r}; give a folder, or {MEMORY!r} to keep nothing after the end")
    return where


def _warn_of_other_stores(folder: Path, approach: str) -> None:
    """A first start with an approach does not find what was stored with another one."""
    for other in () if folder.exists() else APPROACHES:
        if other != approach and folder.with_name(folder.name.replace(approach, other, 1)).exists():
            logger.warning(
                "this node starts with an empty store: what it stored with the approach %s is kept and not read; "
                "start it with --approach %s to use that",
                other,
                other,
            )


def identity_at(where: Place) -> Identity:
    """The identity of the node with this store; created at its first start, and not kept for a store in memory."""
    folder = identity_folder(where)
    return Identity.new() if folder is None else kept_identity(folder)


def identity_folder(where: Place) -> Path | None:
    """The folder of the key and name of the node with this store; None if they are not kept."""
    if where is None:
        return own_folder()
    if isinstance(where, str | os.PathLike) and where != MEMORY:
        return Path(where).expanduser()
    return None


def data_folder() -> Path:
    from platformdirs import user_data_path

    return user_data_path("thyme", appauthor=False) / "nodes"


def own_folder() -> Path:
    """Folder of this device's key and its memberships, unless a person named one."""
    return data_folder() / "self"


def _about(node: int, approach: str, namespace: str) -> dict[str, str]:
    about = {"node": str(node), "approach": approach}
    return about if namespace == DEFAULT_NAME else {**about, "namespace": namespace}
