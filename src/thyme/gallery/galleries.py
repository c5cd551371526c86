"""The galleries of this device: each is a namespace (Thyme FGCS §7.2, §7.4), open or closed, with an area of its own.

One is current: its node runs. Others are remembered with what lets this device in again; switching ends the current
node and starts the other, so a page sees one gallery at a time.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from thyme.approaches.entry import with_defaults
from thyme.drafts import write_file
from thyme.gallery.forms import GalleryView, NewGallery
from thyme.live.failures import RequestError, not_found
from thyme.live.link.directory import NearbyNamespace
from thyme.live.trust.approach_choice import settings_of
from thyme.live.trust.namespaces import Namespace, namespace_of
from thyme.model.errors import InputError

MAX_GALLERIES = 100
APPROACH = "dcs"
DEFAULT_NAME = "Shared photos"
DEFAULT_AREA_M = (120.0, 80.0)
MAX_SIDE_M = 4_000.0
CELL_M = 40.0
FILE = "galleries.json"
_AREA = re.compile(r"\((\d+(?:\.\d+)?) × (\d+(?:\.\d+)?) m\)$")


class _Kept(msgspec.Struct, frozen=True):
    current: str
    invitations: list[str]


def settings_for(width_m: float, height_m: float) -> dict[str, Any]:
    if not (0 < width_m <= MAX_SIDE_M and 0 < height_m <= MAX_SIDE_M):
        raise InputError(f"the area is {width_m:g} × {height_m:g} m; expected sides of up to {MAX_SIDE_M:g} m")
    return {"grid": {"width_m": width_m, "height_m": height_m, "cell_m": CELL_M}}


def gallery_namespace(asked: NewGallery) -> Namespace:
    """The namespace of a description or an invitation."""
    if asked.invitation:
        namespace = Namespace.invited(asked.invitation.strip())
        if namespace.approach not in ("", APPROACH):
            raise InputError(f"{namespace.name!r} is shared by {namespace.approach}, and galleries by {APPROACH}")
    else:
        name = asked.name.strip()
        if not name:
            raise InputError("give the gallery a name")
        asked = with_area(name, asked)
        namespace = namespace_of(asked.name, asked.passphrase)
    said = settings_of(namespace, APPROACH)
    grid = said.get("grid")
    sides = [grid.get("width_m"), grid.get("height_m")] if isinstance(grid, dict) else [asked.width_m, asked.height_m]
    width_m, height_m = (float(side) if isinstance(side, int | float) and side else 0.0 for side in sides)
    area = settings_for(width_m or DEFAULT_AREA_M[0], height_m or DEFAULT_AREA_M[1])
    return msgspec.structs.replace(namespace, approach=APPROACH, settings=with_defaults(said, area))


def with_area(name: str, asked: NewGallery) -> NewGallery:
    """Devices share cells only if they use the same area, so an unusual area is part of the name: a device that joins
    by name alone reads it from there.
    """
    if said := _AREA.search(name):
        width_m, height_m = float(said[1]), float(said[2])
    else:
        width_m, height_m = asked.width_m or DEFAULT_AREA_M[0], asked.height_m or DEFAULT_AREA_M[1]
        if (width_m, height_m) != DEFAULT_AREA_M:
            name = f"{name} ({width_m:g} × {height_m:g} m)"
    return NewGallery(name, asked.passphrase, width_m, height_m)


class Galleries:
    """The galleries remembered in a folder; `changed` is called when the current gallery changes."""

    def __init__(self, folder: Path, first: NewGallery | None = None) -> None:
        self._file = folder / FILE
        self.changed: Callable[[], None] | None = None
        self._known: dict[str, Namespace] = {}
        current = ""
        if self._file.exists():
            kept = msgspec.json.decode(self._file.read_bytes(), type=_Kept)
            for text in kept.invitations:
                namespace = Namespace.invited(text)
                self._known[namespace.name] = namespace
            current = kept.current
        if first is not None or not self._known:
            namespace = gallery_namespace(first or NewGallery(DEFAULT_NAME))
            self._known[namespace.name] = namespace
            current = namespace.name
        self._current = current if current in self._known else next(iter(self._known))
        self._keep()

    @property
    def current(self) -> Namespace:
        return self._known[self._current]

    def current_view(self) -> GalleryView:
        return self._view(self.current)

    def views(self, around: Iterable[NearbyNamespace] = ()) -> list[GalleryView]:
        """Those of this device, then open ones that others near are in."""
        near = [GalleryView(each.name, False, False, True) for each in around if self._is_new(each)]
        return [*(self._view(each) for each in self._known.values()), *near]

    def add(self, asked: NewGallery) -> GalleryView:
        """Create or join, which is the same: everyone with the same name and passphrase, or an invitation, is a member.
        An unusual area is part of the name.
        """
        namespace = gallery_namespace(asked)
        if len(self._known) >= MAX_GALLERIES and namespace.name not in self._known:
            raise RequestError(409, "full", f"this device knows {MAX_GALLERIES} galleries, which is the limit")
        before = self._known.get(namespace.name)
        if before is not None and before.secret != namespace.secret:
            raise RequestError(
                409, "name", f"this device is in another gallery called {namespace.name!r}; choose another name"
            )
        self._known[namespace.name] = namespace
        return self.choose(namespace.name)

    def choose(self, name: str) -> GalleryView:
        if name not in self._known:
            raise not_found(f"gallery {name[:80]!r} on this device")
        if name != self._current:
            self._current = name
            self._keep()
            if self.changed is not None:
                self.changed()
        return self._view(self.current)

    def _is_new(self, entry: NearbyNamespace) -> bool:
        return entry.approach == APPROACH and entry.name not in self._known

    def _view(self, namespace: Namespace) -> GalleryView:
        return GalleryView(namespace.name, namespace.closed, namespace.name == self._current)

    def _keep(self) -> None:
        kept = _Kept(self._current, [each.invitation() for each in self._known.values()])
        write_file(self._file, msgspec.json.encode(kept))
        os.chmod(self._file, 0o600)  # noqa: PTH101 - it holds what lets somebody in
