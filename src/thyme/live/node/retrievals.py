"""The retrievals of an application that are under way: who wants to know how far each is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from thyme.model.ids import ObjectKey

Progress = Callable[[int, int], None]
"""(bytes that are here, bytes in all)"""


class Retrievals:
    """By object; several may want the same one."""

    def __init__(self) -> None:
        self._waiting: dict[ObjectKey, list[Progress | None]] = {}

    @contextmanager
    def entered(self, key: ObjectKey, progress: Progress | None) -> Iterator[Callable[[], bool]]:
        """While this is entered, progress is told. Gives whether nobody else wants the object."""
        waiting = self._waiting.setdefault(key, [])
        waiting.append(progress)
        try:
            yield lambda: len(waiting) == 1
        finally:
            waiting.remove(progress)
            if not waiting:
                self._waiting.pop(key, None)

    def tell(self, key: ObjectKey, have_bytes: int, size_bytes: int) -> None:
        for progress in self._waiting.get(key, ()):
            if progress is not None:
                progress(have_bytes, size_bytes)
