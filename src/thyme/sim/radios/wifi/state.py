"""The radio's tables: the state of nodes, frames on the air, packets and events.

All tables are structured arrays; times are whole nanoseconds, powers milliwatts. Tables with a varying number of rows
(frames, overlaps, packets, events) link their free rows through `next`. When one runs short, the kernel returns before
it starts an event, and Python doubles the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import opener
from thyme.sim.radios.radio import REPORT

Table = NDArray[np.void]
Row = Any

NEVER = np.iinfo(np.int64).max

# kinds of frames
BROADCAST, UNICAST, ACK, RTS, CTS = 0, 1, 2, 3, 4
KINDS = 5
EVERYBODY = -1

# state of a node's access to the medium
IDLE, REQUESTED, GRANTED = 0, 1, 2
# the response it waits for
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
        ("quiet", "i8"),  # whether no one subscribes to sent frames
    ]
)
# scalars that change
SCALARS = np.dtype(
    [
        *[
            (name, "i8")
            for name in ("now", "events", "order", "reports", "reported", "grid_until", "next_jump", "active")
        ],
        ("seen_until", "i8"),
        *[(name, "i8") for name in ("free_frame", "free_overlap", "free_packet")],
        *[(name, "i8") for name in ("frames_left", "overlaps_left", "packets_left")],
        *[(name, "i8") for name in ("heads", "due", "ended")],
        *[(name, "i8") for name in ("looks", "listed")],  # counts the scans of all positions; rows of `near` in use
        ("ended_s", "f8"),  # when the last unreported transmission ended
    ]
)
# what every receiver of every frame needs, in one cache line; most receivers that sense a frame need nothing else
NODE = np.dtype(
    [
        *[(name, "i8") for name in ("tx_end", "rx_end", "busy_end", "lock_at", "sensed_ns", "rx_ns")],
        *[(name, "i4") for name in ("lock", "slots", "deaf")],
        *[(name, "i1") for name in ("on", "rx_bad")],
    ],
    align=True,
)
# the rest of a node's state; a node that decodes a frame needs the first line
STATION = np.dtype(
    [
        ("stream", "u8"),
        *[(name, "i8") for name in ("received", "failed", "wait", "nav_end", "backoff_from", "wait_end", "access")],
        *[(name, "i8") for name in ("nav_set", "wait_number", "alarm", "alarm_number", "cw", "failures")],
        *[(name, "i8") for name in ("head", "tail", "last_urgent", "queued", "off_since", "leg")],
    ],
    align=True,
)
# a node's last known position and its current leg, in one cache line
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
# a possible receiver of a frame: the propagation delay, above three bits that describe the signal there
HEARER = np.dtype([("node", "i4"), ("said", "i4")])
LOCKS, SENSED, SURE = 1, 2, 4
"""The receiver can lock on to it; it alone keeps the medium busy; without interference it has no errors."""
SAID_BITS = 3
BOUNDS = 256
"""Steps of the signal-to-noise ratio, up to the lossless one, with precomputed probabilities: few, to stay in the L1
cache."""
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
# consecutive reports about one frame
HEAD = np.dtype([*((name, "i8") for name in ("frame", "peer", "kind", "node", "begin", "end")), ("at_s", "f8")])
# a transmission that was not reported
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


class WifiTables(NamedTuple):
    """The radio's tables."""

    config: Table
    scalars: Table
    node: Table
    station: Table
    place: Table
    tally: Table  # counters of every node that are not in its row
    frame: Table
    hearer: Table  # static nodes: the receivers of every node; otherwise `max_hearers` rows per frame
    power: NDArray[np.float64]  # one row for each of those: the received power
    hearer_first: NDArray[np.int64]
    locker: NDArray[np.int32]  # `max_hearers` rows per frame: the receivers locked on to it
    overlap: Table
    packet: Table
    event: Table
    report: Table
    head: Table
    ended: Table
    grid: Table  # row 0 for nodes, row 1 for frames on the air
    name: NDArray[np.int64]  # public node numbers; the tables number nodes by their first position
    number: NDArray[np.int64]  # the inverse
    cell_first: NDArray[np.int64]  # nodes by cell
    cell_node: NDArray[np.int64]
    seen: Table  # one row for each of those: the last known position, if nodes move
    near: NDArray[np.int32]  # candidate receivers, as positions in the bins
    nearby: Table  # by node: its range of candidate receivers
    air_head: NDArray[np.int64]  # frames on the air by cell
    jump: NDArray[np.int64]
    leg_first: NDArray[np.int64]
    leg: Table
    header_bound: NDArray[np.float64]  # by step, `BOUNDS` + 1: the probability of receiving a header …
    rate_bound: NDArray[np.float64]  # … and the logarithm of a bit's (`error_model.nist_rate`)
    chunk: Table  # scratch: steps of interference


_NUMBER, _SHORT, _POWER = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.float64)

_ROWS = (
    *(CONFIG, SCALARS, NODE, STATION, PLACE, COUNT, FRAME, HEARER, _POWER, _NUMBER, _SHORT),
    *(OVERLAP, PACKET, EVENT, REPORT, HEAD, ENDED, GRID),
    *(_NUMBER, _NUMBER, _NUMBER, _NUMBER, SEEN, _SHORT, NEARBY, _NUMBER, _NUMBER, _NUMBER, LEG, _POWER, _POWER, CHUNK),
)

opened: Callable[[int], WifiTables] = opener(dict(zip(WifiTables._fields, _ROWS, strict=True)))
"""In compiled code: the tables at the addresses of an `address_book`. Passing twenty arrays in every call would cost
more than most calls do."""


def free_rows(table: Table, start: int) -> None:
    """Link the rows from `start` on into a free list."""
    table["next"][start:] = np.arange(start + 1, len(table) + 1)
    table["next"][-1] = -1
