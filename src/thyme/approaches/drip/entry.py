"""DRIP in the registry."""

from __future__ import annotations

from thyme.approaches.drip.options import DripOptions
from thyme.approaches.drip.protocol import Drip
from thyme.approaches.entry import Entry

ENTRY = Entry(Drip.capabilities, DripOptions, Drip)
