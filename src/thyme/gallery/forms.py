"""The JSON that the page and the gallery exchange, besides that of the node's HTTP interface."""

from __future__ import annotations

import msgspec

from thyme.gallery.photos import PhotoView
from thyme.live.views import StatusView, SubscriptionView


class Me(msgspec.Struct, frozen=True):
    node: str
    by: str
    guest_of: str | None = None
    """The host's name, which may be empty; None for the host."""


class Limits(msgspec.Struct, frozen=True):
    photo_bytes: int
    undo_s: float
    by_chars: int


class GalleryView(msgspec.Struct, frozen=True):
    name: str
    closed: bool
    current: bool
    nearby: bool = False
    """Announced by a neighbour, and not joined yet."""


class StateView(msgspec.Struct, frozen=True):
    """All that a page needs when it opens; what changes afterwards comes as events behind `last_event`."""

    gallery: GalleryView
    me: Me
    photos: list[PhotoView]
    subscriptions: list[SubscriptionView]
    tags: list[str]
    every_photo: str
    limits: Limits
    demo: bool
    now_s: float
    last_event: str


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tags: tuple[str, ...]


class PublishForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tags: tuple[str, ...]
    keep_location: bool = False


class Entering(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    """Of the invitation to guests."""
    name: str


class NewName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    by: str


class NewGallery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str = ""
    passphrase: str = ""
    width_m: float = 0.0
    height_m: float = 0.0
    invitation: str = ""
    """Instead of all that."""


class Chosen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class NewPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    x_m: float
    y_m: float


class Code(msgspec.Struct, frozen=True):
    """Something to scan: the text, and its QR code as rows of 0 and 1."""

    text: str
    rows: tuple[str, ...]


class InviteView(msgspec.Struct, frozen=True):
    page: Code | None
    """This device's page, for phones beside it; only if it is shared on the network."""
    gallery: Code | None
    """The invitation, for others' own nodes; guests are not shown it."""
    fingerprint: str
    """Of the authority that signed the page's certificate; empty without https."""


class Around(msgspec.Struct, frozen=True):
    devices: int
    other_passphrase: bool
    """A device near is in a gallery of this name with another passphrase or invitation."""


class SecurePage(msgspec.Struct, frozen=True):
    """Where the page is over https, for who came over http."""

    page: str


class Flow(msgspec.Struct, frozen=True):
    messages: int
    size_bytes: int


class NodeStatus(StatusView, frozen=True, kw_only=True):
    """The node's state, and what only the gallery knows."""

    in_range: tuple[str, ...]
    """Names of the devices in range, as far as they are known."""
    sent: Flow
    received: Flow
    forwarded: Flow
    dropped: Flow
    library_bytes: int
    free_bytes: int
    radio_joules: float
    """Modelled: what a radio at 54 Mb/s would have spent on these bytes."""
