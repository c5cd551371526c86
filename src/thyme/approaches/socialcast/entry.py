"""SocialCast in the registry."""

from __future__ import annotations

from thyme.approaches.entry import Entry
from thyme.approaches.socialcast.options import SocialCastOptions
from thyme.approaches.socialcast.protocol import SocialCast

ENTRY = Entry(SocialCast.capabilities, SocialCastOptions, SocialCast)
