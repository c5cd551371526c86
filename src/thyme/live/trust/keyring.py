"""The keyring: the namespaces that a device has joined, with their secrets, in a file that only its user may read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError

FILE = "namespaces.keys"
MAX_KEPT = 100


class Keyring:
    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        try:
            invitations = msgspec.json.decode(self._path.read_bytes(), type=list[str]) if self._path.exists() else []
        except (OSError, msgspec.MsgspecError) as error:
            raise InputError(f"{self._path} cannot be read: {error}") from error
        self._kept = {one.name: one for one in map(Namespace.invited, invitations)}

    def __iter__(self) -> Iterator[Namespace]:
        return iter(list(self._kept.values()))

    def find(self, name: str) -> Namespace | None:
        return self._kept.get(name)

    def get(self, name: str) -> Namespace:
        found = self._kept.get(name)
        if found is None:
            names = ", ".join(self._kept) or "none"
            raise InputError(f"this device has not joined a namespace {name!r}; it has joined: {names}")
        return found

    def add(self, namespace: Namespace) -> None:
        """Join, or replace the namespace of this name. A secret from before a renewal is refused."""
        kept = self._kept.get(namespace.name)
        if kept is not None and kept.supersedes(namespace):
            raise InputError(
                f"the key of namespace {namespace.name!r} was renewed since this invitation was made; this device has "
                "the new one (thyme namespace invite)"
            )
        if namespace.name not in self._kept and len(self._kept) >= MAX_KEPT:
            raise InputError(f"this device has joined {MAX_KEPT} namespaces; leave one of them first")
        self._kept[namespace.name] = namespace
        self._write()

    def remove(self, name: str) -> None:
        self.get(name)
        del self._kept[name]
        self._write()

    def _write(self) -> None:
        lines = msgspec.json.encode([one.invitation() for one in self._kept.values()])
        draft = self._path.with_name(f"{FILE}.{os.getpid()}")
        try:
            self._path.parent.mkdir(0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(lines)
            draft.replace(self._path)
        except OSError as error:
            raise InputError(f"{self._path} cannot be written: {error.strerror or error}") from error
