"""DRIP in the registry."""

from __future__ import annotations

from thyme.approaches.drip.options import DripOptions, advice
from thyme.approaches.drip.protocol import Drip
from thyme.approaches.entry import Entry

ENTRY = Entry(Drip.capabilities, DripOptions, Drip, relative_cost=3, advice=advice)
