"""Marks: names that stay known over restarts, such as what was revoked or deleted, up to a maximum.

A mark is an empty record in the host's store. Beyond the maximum the one made first makes room.
"""

from __future__ import annotations

from collections.abc import Iterator

from thyme.host import Host


class Marks:
    """The marks of one kind, in the order in which they were made."""

    def __init__(self, host: Host, kind: str, maximum: int) -> None:
        self._store = host.store
        self._kind = kind
        self._maximum = maximum
        self._names = dict.fromkeys(name for name, _ in host.store.items(kind))

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def add(self, name: str) -> None:
        if name in self._names:
            return
        self._names[name] = None
        self._store.put(self._kind, name, b"")
        if len(self._names) > self._maximum:
            oldest = next(iter(self._names))
            del self._names[oldest]
            self._store.remove(self._kind, oldest)
