"""How the tables of routing lie in memory and what their compiled functions return; modules that need no compiler read
it here."""

from __future__ import annotations

import numpy as np

RECEIVER_COLUMNS = ("nodes", "at_s", "now_s", "draws", "results")
RECEIVERS = np.dtype([*((name, np.int64) for name in (*RECEIVER_COLUMNS, "count")), ("end_s", np.float64)])
"""Addresses of columns with one row per receiver, the number of rows in use, and when the last node in range receives
the frame."""

HEARD_ROW = np.dtype([("node", np.int64), ("at_s", np.float64)])
HEARD = np.dtype([("rows", np.int64), ("used", np.int64)])
"""The address of the rows, and the number in use."""

SEEN_PLACES = 256
"""A power of two."""
SEEN_ROW = np.dtype([("origin", np.int64), ("number", np.int64)])

DIGEST = np.dtype([("own", np.int64), ("handles", np.int64)])
"""The address of a node's own digest, and which digests of neighbours it handles:"""
OFF, IF_DIFFERENT, ALWAYS = 0, 1, 2

NEIGHBOUR_ROW = np.dtype([("node", np.int64), ("quiet", np.int64), ("heard_s", np.float64)])
NEIGHBOURS = np.dtype(
    [
        ("rows", np.int64),
        ("likely", np.int64),
        ("count", np.int64),
        ("max_digest_bytes", np.int64),
        ("own_sum", np.int64),  # the address of the sum of this node's own digest; 0 if it has none
        ("notes", np.int64),  # the address of the notes that are known; 0 if every note is handled
    ]
)
LIKELY = 256
"""A power of two: of the nodes with the same number modulo this, the last one is found at once."""
NEW, NEW_BUT_NOTES = 1, 2
"""Why a receiver has to handle a beacon: it may say something new; with `NEW_BUT_NOTES`, all its notes are known."""
NOTE_ROWS = 64
"""A power of two."""
NOTES_PER_ROW = 4

READY, RESETTLED, SETTLE, TRIGGER, ATTEND = 1, 2, 4, 8, 16
"""What an update of DSDV leaves to be done, any of these together: something can be advertised at once; the next
settling time has changed; the settling timer must be set; the timer for a triggered update must be set; something
besides the table waits for updates."""
MUST = SETTLE | TRIGGER | ATTEND
