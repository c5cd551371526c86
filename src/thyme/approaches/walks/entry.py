"""Directional walks in the registry."""

from __future__ import annotations

from thyme.approaches.entry import Entry
from thyme.approaches.walks.options import DirectionalWalksOptions
from thyme.approaches.walks.protocol import DirectionalWalks

ENTRY = Entry(DirectionalWalks.capabilities, DirectionalWalksOptions, DirectionalWalks)
