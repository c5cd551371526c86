"""Building the radio's tables from a movement, a profile and options, and giving them more room when they run short."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from thyme.borrowed import lined
from thyme.compiled import address_book
from thyme.sim.radios.radio import TOLD
from thyme.sim.radios.wifi.error_model import SURE_SNR
from thyme.sim.radios.wifi.kernel import prepare
from thyme.sim.radios.wifi.profiles import BROADCAST_MODES, ERROR_MODELS, WifiOptions, WifiProfile
from thyme.sim.radios.wifi.state import (
    BOUNDS,
    CHUNK,
    CONFIG,
    COUNT,
    DESK,
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
    SEEN,
    STATION,
    Ether,
    Row,
    Table,
    free_rows,
)
from thyme.sim.radios.wifi.timing import DSSS_ACK_NS, LIGHT_M_PER_NS
from thyme.world.mobility.movement import Movement

BOLTZMANN = 1.3803e-23
BANDWIDTH_HZ = 20e6
Kind = TypeVar("Kind", bound=np.generic)

CELLS_MAX = 1_000_000
SLACK = 0.25  # of the hearing range: how far nodes may stray before they are binned again
DRIFT_M = 2.0  # how far they may stray before it is looked again who may be near
NEAR = 400  # for each node: how many others who may hear it are kept in mind, on average
FRAMES, OVERLAPS, PACKETS, EVENTS = 64, 256, 1024, 1024


def milliwatts(dbm: float) -> float:
    return float(10.0 ** (dbm / 10.0))


def range_m(profile: WifiProfile, power_dbm: float) -> float:
    """How far from its sender a frame falls to `power_dbm`."""
    loss_db = profile.tx_power_dbm - profile.path_loss_1m_db - power_dbm
    return float(max(1.0, 10.0 ** (loss_db / (10.0 * profile.path_loss_exponent))))


def configuration(profile: WifiProfile, options: WifiOptions) -> Table:
    table = np.zeros(1, CONFIG)
    row = table[0]
    sifs, slot = round(options.sifs_us * 1000), round(options.slot_us * 1000)
    # two signals that are each 3 dB too weak to be sensed may be sensed together
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
        "broadcast_mode": BROADCAST_MODES.index(options.broadcast_mode),
        "sifs": sifs,
        "slot": slot,
        "difs": sifs + 2 * slot,
        "eifs_extra": sifs + DSSS_ACK_NS,
        "detection": round(options.detection_us * 1000),
        "cw_min": options.cw_min,
        "cw_max": options.cw_max,
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
    """The least number that, divided by `divisor`, is at least `quotient`, to the last digit."""
    number = float(quotient * divisor)
    while number / divisor >= quotient:
        number = math.nextafter(number, 0.0)
    while number / divisor < quotient:
        number = math.nextafter(number, math.inf)
    return number


def _grid(row: Row, legs: Table, cell_m: float) -> int:
    """Lay a grid over everywhere a leg starts (what strays outside counts to the border cells)."""
    row["x"], row["y"] = legs["x"].min(), legs["y"].min()
    width_m, height_m = float(np.ptp(legs["x"])), float(np.ptp(legs["y"]))
    cell_m = max(cell_m, math.sqrt(width_m * height_m / CELLS_MAX), max(width_m, height_m) / CELLS_MAX)
    row["cell_m"] = cell_m
    row["across"], row["down"] = int(width_m / cell_m) + 1, int(height_m / cell_m) + 1
    return int(row["across"]) * int(row["down"])


def _numbers(movement: Movement, grid: Row) -> NDArray[np.int64]:
    """Numbers for nodes, by name: who stand in one cell come after each other, and so who hears a frame is found in few
    stretches of memory."""
    first = movement.first[:-1]
    columns = np.floor((movement.x_m[first] - grid["x"]) / grid["cell_m"])
    lines = np.floor((movement.y_m[first] - grid["y"]) / grid["cell_m"])
    number = np.empty(movement.nodes, np.int64)
    number[np.lexsort((np.arange(movement.nodes), columns, lines))] = np.arange(movement.nodes)
    return number


def build(movement: Movement, profile: WifiProfile, options: WifiOptions, seed: int) -> Ether:
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
    station["cw"], station["alarm"], station["leg"] = options.cw_min, NEVER, movement.first[:-1][names]
    node["rx_end"] = node["busy_end"] = node["tx_end"] = station["nav_end"] = station["wait_end"] = -(10**9)
    ether = Ether(
        config=config,
        desk=np.zeros(1, DESK),
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
        told=np.zeros(EVENTS + 2 * nodes, TOLD),
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
    desk = ether.desk
    desk["grid_until"] = -1
    desk["frames_left"], desk["overlaps_left"], desk["packets_left"] = FRAMES, OVERLAPS, PACKETS
    for table in (ether.frame, ether.overlap, ether.packet):
        free_rows(table, 0)
    return _meet(ether, seed, static)


def _meet(ether: Ether, seed: int, static: bool) -> Ether:
    """Seed everybody and, if nobody moves, find all hearers once."""
    book = address_book(ether)
    prepare(book.ctypes.data, seed, False)
    if not static:
        return ether
    first = ether.hearer_first
    ether = ether._replace(hearer=np.zeros(int(first[-1]), HEARER), power=np.zeros(int(first[-1])))
    book = address_book(ether)
    prepare(book.ctypes.data, seed, True)
    most = max(1, int(np.diff(first).max()))
    ether.config["max_hearers"] = most
    return ether._replace(locker=np.zeros(FRAMES * most, np.int32))


def _longer(table: NDArray[Kind]) -> NDArray[Kind]:
    longer: NDArray[Kind] = np.zeros(2 * len(table), table.dtype)
    longer[: len(table)] = table
    return longer


def with_more_room(ether: Ether) -> Ether:
    """The same world with twice the rows in every table that is getting short."""
    desk, most = ether.desk[0], int(ether.config[0]["max_hearers"])
    if desk["frames_left"] < 1:
        frame = chained(ether.frame, ether.desk, "free_frame", "frames_left")
        ether = ether._replace(frame=frame, locker=_longer(ether.locker))
        if not ether.config[0]["static"]:
            ether = ether._replace(hearer=_longer(ether.hearer), power=_longer(ether.power))
    if desk["packets_left"] < 1:
        ether = ether._replace(packet=chained(ether.packet, ether.desk, "free_packet", "packets_left"))
    if desk["overlaps_left"] < 2 * desk["active"] + 2:
        overlap = chained(ether.overlap, ether.desk, "free_overlap", "overlaps_left")
        ether = ether._replace(overlap=overlap, chunk=np.zeros(2 * len(overlap), CHUNK))
    if len(ether.event) - desk["events"] < 2 * most + 8:
        ether = ether._replace(event=_longer(ether.event))
    if len(ether.told) - desk["told"] < 2 * most + 1024:
        ether = ether._replace(told=_longer(ether.told), head=_longer(ether.head))
    if len(ether.ended) - desk["ended"] < 2 * most + 1024:
        ether = ether._replace(ended=_longer(ether.ended))
    return ether


def chained(table: Table, desk: Table, free: str, left: str) -> Table:
    """Twice the rows; the new ones are put before whatever was still free."""
    longer = _longer(table)
    free_rows(longer, len(table))
    longer["next"][-1] = desk[0][free]
    desk[free] = len(table)
    desk[left] += len(table)
    return longer
