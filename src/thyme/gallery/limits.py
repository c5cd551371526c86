"""How much the gallery takes, keeps and does at once."""

from __future__ import annotations

import msgspec

from thyme.model.settings.bounds import AtLeastOne, Positive

PIXELS = 120_000_000
"""What a photo may unfold to: 108-megapixel phones exist, decompression bombs are beyond."""
NAME_CHARS = 80
BY_CHARS = 40
THUMB_PX = 480
VIEW_PX = 2_000
ARCHIVED = 500
"""Photos in one archive."""
GUEST_NAME_CHARS = 20
GUEST_UPLOADS_PER_MINUTE = 60
GUEST_SUBSCRIPTIONS = 20


class GalleryOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    photo_bytes: AtLeastOne = 64 * 2**20
    """Of one photo's file: a camera's largest JPEG, and no film."""
    photos: AtLeastOne = 20_000
    """Photos of one gallery that are remembered; the oldest dismissed and available ones make room."""
    downloads: AtLeastOne = 4
    """Downloads under way at once; others wait for their turn."""
    undo_s: Positive = 6.0
    """How long a deletion waits for second thoughts."""
    deletions: AtLeastOne = 1_000
    """Keys of deleted photos that are remembered, in case the notification of one comes late."""
    guests: AtLeastOne = 100
    """Guests that one device serves."""
    guest_bytes: AtLeastOne = 500 * 2**20
    """What a guest's photos and downloads may take on the host's disk."""


DELETED_PHOTO = "deleted_photo"
"""The tag of the notes that tell other devices which photo was deleted."""
EVERY_PHOTO = "photo"
"""A tag of everything that the gallery publishes, for subscriptions to all photos."""
