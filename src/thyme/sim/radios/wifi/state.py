"""The tables of the radio: everything that is known about nodes, frames on the air, packets and events.

All tables are structured arrays by index; times are whole nanoseconds, powers milliwatts. Tables that hold a
changing number of rows (frames, overlaps, packets, events) keep their free rows in a list through `next`; when one
runs short the kernel says so before it begins an event and Python gives it twice the room.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.void]
Row = Any

NEVER = np.iinfo(np.int64).max

# kinds of frames
BROADCAST, UNICAST, ACK, RTS, CTS = 0, 1, 2, 3, 4
KINDS = 5
EVERYBODY = -1

# where a node stands in its quest for the medium
IDLE, REQUESTED, GRANTED = 0, 1, 2
# which answer it waits for
NOTHING, WAIT_ACK, WAIT_CTS = 0, 1, 2

CONFIG = np.dtype(
    [
        *[(name, "f8") for name in ("power_1m_mw", "exponent", "noise_mw", "floor_mw", "preamble_mw", "preamble_snr")],
        *[(name, "f8") for name in ("cca_mw", "hear_mw", "sure_mw", "hear_m", "audible_m")],
        *[
            (name, "i8")
            for name in ("error_model", "broadcast_mode", "sifs", "slot", "difs", "eifs_extra", "detection")
        ],
        *[(name, "i8") for name in ("cw_min", "cw_max", "retry_limit", "rts_bytes", "queue_max", "lifetime")],
        *[(name, "i8") for name in ("together", "max_hearers", "static")],
        ("quiet", "i8"),  # whether nobody wants to be told of what was sent
    ]
)
# scalars that change
DESK = np.dtype(
    [
        *[(name, "i8") for name in ("now", "events", "order", "told", "reported", "grid_until", "next_jump", "active")],
        ("seen_until", "i8"),
        *[(name, "i8") for name in ("free_frame", "free_overlap", "free_packet")],
        *[(name, "i8") for name in ("frames_left", "overlaps_left", "packets_left")],
        *[(name, "i8") for name in ("heads", "due", "ended")],
        *[(name, "i8") for name in ("looks", "listed")],  # how often it was looked where all are, and `near` so far
        ("ended_s", "f8"),  # when what was sent last, of which nobody was told, left the air
    ]
)
# what every hearer of every frame needs, in one cache line: a frame touches no other of most who sense it
NODE = np.dtype(
    [
        *[(name, "i8") for name in ("tx_end", "rx_end", "busy_end", "lock_at", "sensed_ns", "rx_ns")],
        *[(name, "i4") for name in ("lock", "slots", "deaf")],
        *[(name, "i1") for name in ("on", "rx_bad")],
    ],
    align=True,
)
# what a node keeps besides; the first line is what whoever decodes a frame needs
STATION = np.dtype(
    [
        ("stream", "u8"),
        *[(name, "i8") for name in ("received", "failed", "wait", "nav_end", "backoff_from", "wait_end", "access")],
        *[(name, "i8") for name in ("nav_set", "wait_number", "alarm", "alarm_number", "cw", "failures")],
        *[(name, "i8") for name in ("head", "tail", "queued", "off_since", "leg")],
    ],
    align=True,
)
# where a node was when it was last looked for, and the leg it was on, in one cache line
PLACE = np.dtype([(name, "f8") for name in ("x", "y", "until_s", "start_s", "from_x", "from_y", "vx", "vy")])
FRAME = np.dtype(
    [
        *[(name, "f8") for name in ("x", "y")],
        *[(name, "i8") for name in ("token", "start", "length", "late", "nav", "first")],
        *[(name, "i8") for name in ("sender", "to", "packet", "bytes", "hearers", "overlaps", "cell", "next")],
        *[(name, "i8") for name in ("kind", "mode", "cut", "lockers")],
    ],
    align=True,
)
# who may sense a frame: the delay with which it comes, above three bits that say what it is there
HEARER = np.dtype([("node", "i4"), ("said", "i4")])
LOCKS, SENSED, SURE = 1, 2, 4
"""It can be locked on to; it keeps the medium busy alone; where nothing interferes it has no error."""
SAID_BITS = 3
BOUNDS = 256
"""Steps of the ratio of signal to noise, up to where nothing is lost, of which chances are known beforehand: few, so
that they stay in the processor's nearest memory."""
OVERLAP = np.dtype([("x", "f8"), ("y", "f8"), ("start", "i8"), ("end", "i8"), ("next", "i8")], align=True)
PACKET = np.dtype(
    [
        ("token", "i8"),
        ("expires", "i8"),
        ("bytes", "i8"),
        ("to", "i8"),
        ("tries", "i8"),
        ("next", "i8"),
        ("heard", "i8"),
    ],
    align=True,
)
EVENT = np.dtype([("at", "i8"), ("order", "i8"), ("a", "i8"), ("b", "i8"), ("who", "i8"), ("kind", "i8")])
# rows of `told` that follow each other and tell the same of one frame
HEAD = np.dtype([*((name, "i8") for name in ("frame", "peer", "kind", "node", "begin", "end")), ("at_s", "f8")])
# a frame that was sent, of which nobody was told
ENDED = np.dtype([("at_s", "f8"), ("frame", "i8")])
COUNT = np.dtype(
    [
        *[(name, "i8") for name in ("sensed_ns", "rx_ns", "received", "failed", "deaf", "undetected", "duplicates")],
        *[(name, "i8") for name in ("tx_ns", "off_ns", "unanswered_data", "unanswered_rts")],
        *[(name, "i8") for name in ("retransmissions", "given_up_retries", "given_up_lifetime", "refused_queue_full")],
        ("frames", "i8", KINDS),
        ("bytes", "i8", KINDS),
    ]
)
GRID = np.dtype(
    [
        ("x", "f8"),
        ("y", "f8"),
        ("cell_m", "f8"),
        ("across", "i8"),
        ("down", "i8"),
        ("slack_m", "f8"),
        ("drift_m", "f8"),
        ("speed_mps", "f8"),
    ]
)
NEARBY = np.dtype([("looked", "i8"), ("first", "i4"), ("count", "i4")])
SEEN = np.dtype([("x", "f8"), ("y", "f8")])
LEG = np.dtype([(name, "f8") for name in ("start_s", "x", "y", "vx", "vy")])
CHUNK = np.dtype([("at", "i8"), ("change", "f8")])


class Ether(NamedTuple):
    """All tables together."""

    config: Table
    desk: Table
    node: Table
    station: Table
    place: Table
    tally: Table  # what every node counted, besides what stands with the node
    frame: Table
    hearer: Table  # static nodes: everybody's hearers; otherwise `max_hearers` rows per frame
    power: NDArray[np.float64]  # as many: how strong it is there
    hearer_first: NDArray[np.int64]
    locker: NDArray[np.int32]  # `max_hearers` rows per frame: rows of the hearers who locked on to it
    overlap: Table
    packet: Table
    event: Table
    told: Table
    head: Table
    ended: Table
    grid: Table  # row 0 for nodes, row 1 for frames on the air
    name: NDArray[np.int64]  # what others call the nodes, which are numbered here by where they are at first
    number: NDArray[np.int64]  # and the other way round
    cell_first: NDArray[np.int64]  # nodes by cell
    cell_node: NDArray[np.int64]
    seen: Table  # as many rows: where they were seen last, if they move
    near: NDArray[np.int32]  # places in the bins of nodes that may hear others
    nearby: Table  # by node: where those that may hear it are listed there
    air_head: NDArray[np.int64]  # frames on the air by cell
    jump: NDArray[np.int64]
    leg_first: NDArray[np.int64]
    leg: Table
    header_bound: NDArray[np.float64]  # by step, `BOUNDS` + 1: the chance of a header …
    rate_bound: NDArray[np.float64]  # … and the logarithm of a bit's (`error_model.nist_rate`)
    chunk: Table  # scratch: steps of interference


def free_rows(table: Table, start: int) -> None:
    """Chain the rows from `start` on into a list of free rows (the last one ends it)."""
    table["next"][start:] = np.arange(start + 1, len(table) + 1)
    table["next"][-1] = -1
