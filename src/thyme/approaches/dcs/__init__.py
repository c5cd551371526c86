"""Thyme-DCS: data-centric storage over a cell-based geographic hash table (Thyme FGCS §6)."""
