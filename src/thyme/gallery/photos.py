"""Photos as the library keeps them and as the page sees them."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class PhotoState(StrEnum):
    PRIVATE = "private"
    PUBLISHING = "publishing"
    PUBLISHED = "published"
    DELETING = "deleting"
    NEW = "new"
    """Notified of, and nothing decided yet."""
    LATER = "later"
    DOWNLOADING = "downloading"
    FAILED = "failed"
    DOWNLOADED = "downloaded"
    DISMISSED = "dismissed"


TABS = {
    PhotoState.PRIVATE: "private",
    PhotoState.PUBLISHING: "private",
    PhotoState.PUBLISHED: "publications",
    PhotoState.DELETING: "publications",
    PhotoState.NEW: "available",
    PhotoState.LATER: "available",
    PhotoState.DOWNLOADING: "available",
    PhotoState.FAILED: "available",
    PhotoState.DOWNLOADED: "downloads",
}
"""Where each is shown (Thyme FGCS §7.4); what was dismissed, nowhere."""
HERE = (PhotoState.PRIVATE, PhotoState.PUBLISHING, PhotoState.PUBLISHED, PhotoState.DELETING, PhotoState.DOWNLOADED)
"""Photos whose file is on this device."""
OWN = (PhotoState.PRIVATE, PhotoState.PUBLISHING, PhotoState.PUBLISHED, PhotoState.DELETING)
"""Those of the person whose library it is."""
OFFERED = (PhotoState.NEW, PhotoState.LATER, PhotoState.FAILED, PhotoState.DOWNLOADING)
"""Those of others that were not downloaded."""


class Photo(msgspec.Struct, frozen=True):
    id: str
    state: PhotoState
    name: str
    by: str
    tags: tuple[str, ...]
    at_s: float
    """When it was published, or added here."""
    size_bytes: int
    width: int
    height: int
    kind: str = ""
    """The format of the file that is here."""
    orientation: int = 1
    key: str = ""
    metadata: bytes = b""
    """Of the object, as the node needs it to retrieve it, also after a restart."""
    thumb: bytes = b""
    """That of the notification."""
    thumb_type: str = ""
    error: str = ""


class Distance(msgspec.Struct, frozen=True):
    """How far the nearest replica is."""

    cells: int
    metres: int


class PhotoView(msgspec.Struct, frozen=True):
    id: str
    tab: str
    state: str
    name: str
    by: str
    own: bool
    tags: tuple[str, ...]
    at_s: float
    size_bytes: int
    width: int
    height: int
    key: str
    picture: bool
    """Whether there is a thumbnail to show."""
    here: bool
    """Whether the photo itself is on this device."""
    distance: Distance | None
    have_bytes: int
    error: str
    told: int
    """Views are numbered as they are made, since an answer may overtake an event, and the other way round."""
