"""Builds the radio's tables from a movement, a profile and options, and enlarges them when they run short."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thyme.compiled import address_book, lined
from thyme.sim.radios.radio import REPORT
from thyme.sim.radios.wifi.error_model import SURE_SNR
from thyme.sim.radios.wifi.kernel import prepare
from thyme.sim.radios.wifi.profiles import (
    BROADCAST_MODES,
    CW_MAX,
    DETECTION_US,
    ERROR_MODELS,
    SIFS_US,
    SLOT_US,
    WifiOptions,
    WifiProfile,
)
from thyme.sim.radios.wifi.state import (
    BOUNDS,
    CHUNK,
    CONFIG,
    COUNT,
    ENDED,
    EVENT,
    FRAME,
    GRID,
    HEAD,
    HEARER,
    LEG,
    NEARBY,
    NEVER,
    NODE,
    OVERLAP,
    PACKET,
    PLACE,
    SCALARS,
    SEEN,
    STATION,
    Row,
    Table,
    WifiTables,
    free_rows,
)
from thyme.sim.radios.wifi.timing import DSSS_ACK_NS, LIGHT_M_PER_NS
from thyme.world.movement import Movement

BOLTZMANN = 1.3803e-23
BANDWIDTH_HZ = 20e6
Kind = TypeVar("Kind", bound=np.generic)

CELLS_MAX = 1_000_000
SLACK = 0.25  # share of the reception range that nodes may move before they are binned again
DRIFT_M = 2.0  # how far they may move before positions are scanned again
NEAR = 400  # average number of candidate receivers stored per node
FRAMES, OVERLAPS, PACKETS, EVENTS = 64, 256, 1024, 1024


def milliwatts(dbm: float) -> float:
    return float(10.0 ** (dbm / 10.0))


def range_m(profile: WifiProfile, power_dbm: float) -> float:
    """The distance at which a frame's power falls to `power_dbm`."""
    loss_db = profile.tx_power_dbm - profile.path_loss_1m_db - power_dbm
    return float(max(1.0, 10.0 ** (loss_db / (10.0 * profile.path_loss_exponent))))


def configuration(profile: WifiProfile, options: WifiOptions) -> Table:
    table = np.zeros(1, CONFIG)
    row = table[0]
    sifs, slot = round(SIFS_US * 1000), round(SLOT_US * 1000)
    # two signals, each 3 dB below the sensing threshold, may be sensed together
    hear_dbm = max(profile.rx_sensitivity_dbm, min(profile.preamble_min_dbm, profile.cca_dbm - 3.0))
    snr_db = profile.preamble_min_snr_db
    values = {
        "power_1m_mw": milliwatts(profile.tx_power_dbm - profile.path_loss_1m_db),
        "exponent": profile.path_loss_exponent,
        "noise_mw": 1000.0 * BOLTZMANN * 290.0 * BANDWIDTH_HZ * milliwatts(profile.noise_figure_db),
        "floor_mw": milliwatts(profile.rx_sensitivity_dbm),
        "preamble_mw": milliwatts(profile.preamble_min_dbm),
        "preamble_snr": 0.0 if snr_db is None else milliwatts(snr_db),
        "cca_mw": milliwatts(profile.cca_dbm),
        "hear_mw": milliwatts(hear_dbm),
        "hear_m": range_m(profile, hear_dbm),
        "audible_m": range_m(profile, profile.rx_sensitivity_dbm),
        "error_model": ERROR_MODELS.index(profile.error_model),
        "broadcast_mode": BROADCAST_MODES.index(profile.broadcast_mode or options.broadcast_mode),
        "sifs": sifs,
        "slot": slot,
        "difs": sifs + 2 * slot,
        "eifs_extra": sifs + DSSS_ACK_NS,
        "detection": round(DETECTION_US * 1000),
        "cw_min": options.cw_min,
        "cw_max": CW_MAX,
        "retry_limit": options.retry_limit,
        "rts_bytes": options.rts_threshold_bytes,
        "queue_max": options.queue_max,
        "lifetime": round(options.lifetime_s * 1e9),
    }
    for name, value in values.items():
        row[name] = value
    row["sure_mw"] = _least(row["noise_mw"], SURE_SNR)
    row["together"] = math.ceil(row["hear_m"] / LIGHT_M_PER_NS) + 1
    return table


def _least(divisor: float, quotient: float) -> float:
    """The smallest number that, divided by `divisor`, is exactly at least `quotient`."""
    number = float(quotient * divisor)
    while number / divisor >= quotient:
        number = math.nextafter(number, 0.0)
    while number / divisor < quotient:
        number = math.nextafter(number, math.inf)
    return number


def _grid(row: Row, legs: Table, cell_m: float) -> int:
    """Lay a grid over all start positions of legs; positions outside count towards the border cells."""
    row["x"], row["y"] = legs["x"].min(), legs["y"].min()
    width_m, height_m = float(np.ptp(legs["x"])), float(np.ptp(legs["y"]))
    cell_m = max(cell_m, math.sqrt(width_m * height_m / CELLS_MAX), max(width_m, height_m) / CELLS_MAX)
    row["cell_m"] = cell_m
    row["across"], row["down"] = int(width_m / cell_m) + 1, int(height_m / cell_m) + 1
    return int(row["across"]) * int(row["down"])


def _numbers(movement: Movement, grid: Row) -> NDArray[np.int64]:
    """Table indices of nodes: nodes of one cell are consecutive, so that the receivers of a frame are in few ranges of
    memory."""
    first = movement.first[:-1]
    columns = np.floor((movement.x_m[first] - grid["x"]) / grid["cell_m"])
    lines = np.floor((movement.y_m[first] - grid["y"]) / grid["cell_m"])
    number = np.empty(movement.nodes, np.int64)
    number[np.lexsort((np.arange(movement.nodes), columns, lines))] = np.arange(movement.nodes)
    return number


def build(movement: Movement, profile: WifiProfile, options: WifiOptions, seed: int) -> WifiTables:
    """All tables, with every node on, idle and backed off, as nodes are when they join."""
    nodes = movement.nodes
    legs = np.zeros(len(movement.start_s), LEG)
    for name in ("start_s", "x", "y", "vx", "vy"):
        legs[name] = getattr(movement, {"start_s": name}.get(name, name + ("_mps" if name[0] == "v" else "_m")))
    config = configuration(profile, options)
    speed = float(np.hypot(legs["vx"], legs["vy"]).max())
    jumps = np.ceil(movement.jumps_s() * 1e9).astype(np.int64)
    static = speed == 0.0 and len(jumps) == 0
    config["static"] = int(static)
    config["max_hearers"] = nodes
    hear_m, audible_m = float(config[0]["hear_m"]), float(config[0]["audible_m"])
    grid = np.zeros(2, GRID)
    cells = _grid(grid[0], legs, hear_m * (1.0 if static else 1.0 + SLACK))
    air_cells = _grid(grid[1], legs, hear_m + audible_m)
    grid["slack_m"], grid["drift_m"], grid["speed_mps"] = SLACK * hear_m, DRIFT_M, speed
    number = _numbers(movement, grid[0])
    names = np.argsort(number).astype(np.int64)
    node, station, place = lined(nodes, NODE), lined(nodes, STATION), lined(nodes, PLACE)
    node["lock"], node["on"], station["head"], station["tail"] = -1, 1, -1, -1
    station["last_urgent"] = -1
    station["cw"], station["alarm"], station["leg"] = options.cw_min, NEVER, movement.first[:-1][names]
    node["rx_end"] = node["busy_end"] = node["tx_end"] = station["nav_end"] = station["wait_end"] = -(10**9)
    tables = WifiTables(
        config=config,
        scalars=np.zeros(1, SCALARS),
        node=node,
        station=station,
        place=place,
        tally=np.zeros(nodes, COUNT),
        frame=np.zeros(FRAMES, FRAME),
        hearer=np.zeros(0 if static else FRAMES * nodes, HEARER),
        power=np.zeros(0 if static else FRAMES * nodes),
        hearer_first=np.zeros(nodes + 1, np.int64),
        locker=np.zeros(0 if static else FRAMES * nodes, np.int32),
        overlap=np.zeros(OVERLAPS, OVERLAP),
        packet=np.zeros(PACKETS, PACKET),
        event=np.zeros(EVENTS + 2 * nodes, EVENT),
        report=np.zeros(EVENTS + 2 * nodes, REPORT),
        head=np.zeros(EVENTS + 2 * nodes, HEAD),
        ended=np.zeros(EVENTS + 2 * nodes, ENDED),
        grid=grid,
        name=names,
        number=number,
        cell_first=np.zeros(cells + 1, np.int64),
        cell_node=np.zeros(nodes, np.int64),
        seen=np.zeros(nodes, SEEN),
        near=np.zeros(NEAR * nodes + 1, np.int32),
        nearby=np.zeros(nodes, NEARBY),
        air_head=np.full(air_cells, -1, np.int64),
        jump=jumps,
        leg_first=np.ascontiguousarray(movement.first, dtype=np.int64),
        leg=legs,
        header_bound=np.zeros(BOUNDS + 1),
        rate_bound=np.zeros(BOUNDS + 1),
        chunk=np.zeros(2 * OVERLAPS, CHUNK),
    )
    scalars = tables.scalars
    scalars["grid_until"] = -1
    scalars["frames_left"], scalars["overlaps_left"], scalars["packets_left"] = FRAMES, OVERLAPS, PACKETS
    for table in (tables.frame, tables.overlap, tables.packet):
        free_rows(table, 0)
    return _meet(tables, seed, static)


def _meet(tables: WifiTables, seed: int, static: bool) -> WifiTables:
    """Seed all nodes and, if none moves, find all receivers once."""
    addresses = address_book(tables)
    prepare(addresses.ctypes.data, seed, False)
    if not static:
        return tables
    first = tables.hearer_first
    tables = tables._replace(hearer=np.zeros(int(first[-1]), HEARER), power=np.zeros(int(first[-1])))
    addresses = address_book(tables)
    prepare(addresses.ctypes.data, seed, True)
    most = max(1, int(np.diff(first).max()))
    tables.config["max_hearers"] = most
    return tables._replace(locker=np.zeros(FRAMES * most, np.int32))


def _longer(table: NDArray[Kind]) -> NDArray[Kind]:
    longer: NDArray[Kind] = np.zeros(2 * len(table), table.dtype)
    longer[: len(table)] = table
    return longer


def with_more_room(tables: WifiTables) -> WifiTables:
    """The same tables, with twice the rows where they run short."""
    scalars, most = tables.scalars[0], int(tables.config[0]["max_hearers"])
    if scalars["frames_left"] < 1:
        frame = chained(tables.frame, tables.scalars, "free_frame", "frames_left")
        tables = tables._replace(frame=frame, locker=_longer(tables.locker))
        if not tables.config[0]["static"]:
            tables = tables._replace(hearer=_longer(tables.hearer), power=_longer(tables.power))
    if scalars["packets_left"] < 1:
        tables = tables._replace(packet=chained(tables.packet, tables.scalars, "free_packet", "packets_left"))
    if scalars["overlaps_left"] < 2 * scalars["active"] + 2:
        overlap = chained(tables.overlap, tables.scalars, "free_overlap", "overlaps_left")
        tables = tables._replace(overlap=overlap, chunk=np.zeros(2 * len(overlap), CHUNK))
    if len(tables.event) - scalars["events"] < 2 * most + 8:
        tables = tables._replace(event=_longer(tables.event))
    if len(tables.report) - scalars["reports"] < 2 * most + 1024:
        tables = tables._replace(report=_longer(tables.report), head=_longer(tables.head))
    if len(tables.ended) - scalars["ended"] < 2 * most + 1024:
        tables = tables._replace(ended=_longer(tables.ended))
    return tables


def chained(table: Table, scalars: Table, free: str, left: str) -> Table:
    """Twice the rows; the new ones precede the free rows in the free list."""
    longer = _longer(table)
    free_rows(longer, len(table))
    longer["next"][-1] = scalars[0][free]
    scalars[free] = len(table)
    scalars[left] += len(table)
    return longer
