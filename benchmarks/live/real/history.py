"""A history of real processes: six nodes, a network with faults, and every acknowledged insertion checked against every
standing subscription.

Each node runs in its own network namespace, with default options: it finds the others by multicast. Users insert and
delete all the time; faults are those of `thyme fuzz --live` that can be made from outside a process. Then the network
is whole, and nobody inserts. When `SETTLE_S` have passed, every living object must have been notified to every
subscription that it matches, and be found by every node, and its content must be retrieved.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Thread

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from benchmarks.live.real.device import RETRIEVED, TAGS, Device, Event, Order
from benchmarks.live.real.switch import CALM, Switch, give_address, network, plug
from benchmarks.printing import table_console
from thyme.fuzz.live.faults import Fault, Kill, Move, Partition, Pause, Storm, Unplug
from thyme.fuzz.live.machines import Weather

ROOT = Path(__file__).parents[3]
APPROACHES = ("ls", "dcs")
NODES = 6
FAULT_EVERY_S = 6.0
START_S = 12.0
"""Before the first fault."""
BACK_S = 3.0
"""Who was killed comes back, before users stop."""
SETTLE_S = 60.0
LOOK_S = 120.0
PER_S = 2.0
"""Operations of each user."""
SUBSCRIPTIONS = 2
"""Of each node: one at the beginning, and one while faults happen."""
LASTS_S = (1.0, 5.0, 15.0, 30.0)
KINDS = (Kill, Kill, Pause, Partition, Storm, Storm, Unplug, Move)
SIDE_M = 80.0
SETTINGS = {"dcs": {"grid": {"width_m": SIDE_M, "height_m": 40.0}}}
"""Thyme-DCS has two cells."""


class RealRow(msgspec.Struct, frozen=True):
    approach: str
    seconds: float
    faults: dict[str, int]
    inserted: int
    deleted: int
    failed: int
    """Operations that were not acknowledged."""
    subscriptions: int
    expected: int
    """Notifications of living objects."""
    lost: list[str]
    repeated: int
    """Notified more than once, by a process that was not killed in between."""
    not_found: list[str]
    not_retrieved: list[str]
    off_s: float
    """Largest offset of a node's time."""
    cpu_s: float


class _Process:
    """A device through all its lives."""

    def __init__(self, index: int, name: str, approach: str, folder: Path) -> None:
        self.index, self.name = index, name
        self.moves = self.life = 0
        self.events: list[tuple[int, Event]] = []
        """With the life in which they happened."""
        self.cpu_s = 0.0
        self._approach, self._folder = approach, folder
        self._popen: subprocess.Popen[bytes] | None = None

    @property
    def on(self) -> bool:
        return self._popen is not None

    def start(self) -> None:
        x_m = 10.0 + self.index + (self.index % 2) * SIDE_M / 2
        settings = SETTINGS.get(self._approach, {})
        store = str(self._folder / str(self.index))
        device = Device(self.index, self.life, store, self._approach, (x_m, 20.0), settings, PER_S)
        command = ["ip", "netns", "exec", self.name, sys.executable, "-m", "benchmarks.live.real.device"]
        log = (self._folder / f"{self.index}.log").open("ab")
        self._popen = subprocess.Popen(
            [*command, msgspec.json.encode(device).decode()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=ROOT,
            env={**os.environ, "HOME": store},
        )
        Thread(target=self._read, args=(self._popen, self.life), daemon=True).start()

    def order(self, order: Order) -> None:
        if self._popen is not None and self._popen.stdin is not None:
            with suppress(BrokenPipeError):  # it has ended by itself, and nothing is found by it
                self._popen.stdin.write(msgspec.json.encode(order) + b"\n")
                self._popen.stdin.flush()

    def signal(self, number: int) -> None:
        if self._popen is not None:
            self._popen.send_signal(number)

    def kill(self) -> None:
        popen, self._popen = self._popen, None
        if popen is not None:
            self.cpu_s += _cpu_s(popen.pid)
            popen.kill()
            popen.wait()
            self.life += 1

    def said(self, what: str, life: int | None = None) -> list[Event]:
        return [event for at, event in self.events if event.what == what and life in (None, at)]

    def _read(self, popen: subprocess.Popen[bytes], life: int) -> None:
        for line in popen.stdout or ():
            if line.endswith(b"\n"):
                self.events.append((life, msgspec.json.decode(line, type=Event)))


class _Crowd:
    """The processes, and what is to happen to them at which time."""

    def __init__(self, switch: Switch, approach: str, folder: Path, seed: int) -> None:
        self.devices = [_Process(index, name, approach, folder) for index, name in enumerate(switch.names)]
        self.faults: Counter[str] = Counter()
        self._switch = switch
        self._draw = Random(f"real/{approach}/{seed}")
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = 0

    def play(self, seconds: float) -> None:
        for device in self.devices:
            device.start()
        self._wait_until(lambda: all(device.said("up") for device in self.devices))
        begun_s, last_s = time.monotonic(), START_S + seconds
        for device in self.devices:
            for at_s in (START_S / 2, START_S + self._draw.uniform(0.0, seconds / 2)):
                self._at(begun_s + at_s, lambda device=device: self._subscribe(device))  # type: ignore[misc]
            self._at(begun_s + START_S / 2 + 1.0, lambda device=device: device.order(Order("insert")))  # type: ignore[misc]
        at_s = START_S
        while at_s < last_s - FAULT_EVERY_S:
            kind, node = self._draw.choice(KINDS), self._draw.randrange(NODES)
            lasts_s = min(self._draw.choice(LASTS_S), last_s - at_s)
            fault = Storm(at_s, 0, lasts_s, self._weather()) if kind is Storm else kind(at_s, node, lasts_s)
            self._at(begun_s + at_s, lambda fault=fault: self._begin(fault))  # type: ignore[misc]
            at_s += self._draw.expovariate(1.0 / FAULT_EVERY_S)
        self._run(begun_s + last_s)
        self._switch.weather, self._switch.parts = CALM, {}
        self._run(time.monotonic() + BACK_S)
        for device in self.devices:
            device.order(Order("insert", on=False))
        self._run(time.monotonic() + SETTLE_S)

    def look(self, names: list[str]) -> None:
        for device in self.devices:
            some = self._draw.sample(names, min(RETRIEVED, len(names)))
            device.order(Order("look", names=tuple(some)))
        self._wait_until(lambda: all(device.said("looked") for device in self.devices))

    def _weather(self) -> Weather:
        draw = self._draw
        jitter_s, loss = draw.choice((0.002, 0.05)), draw.choice((0.0, 0.02, 0.1, 0.3))
        return Weather(0.002, jitter_s, loss, draw.choice((0.0, 0.1)), draw.random() < 0.7)

    def _subscribe(self, device: _Process) -> None:
        device.order(Order("subscribe", self._draw.choice((*TAGS, "a & b", "a & !c", "b | c"))))

    def _begin(self, fault: Fault) -> None:
        switch, device = self._switch, self.devices[fault.node]
        match fault:
            case Storm():
                switch.weather = fault.weather
                self._later(fault, lambda: self._calm(fault.weather))
            case Partition():
                switch.parts = parts = dict.fromkeys(range(max(1, fault.node)), 1)
                self._later(fault, lambda: self._merge(parts))
            case _ if not device.on:
                return
            case Kill():
                device.kill()
                self._later(fault, lambda: self._start(device))
            case Pause():
                device.signal(signal.SIGSTOP)
                self._later(fault, lambda: device.signal(signal.SIGCONT))
            case Unplug():
                plug(device.name, up=False)
                self._later(fault, lambda: plug(device.name, up=True))
            case Move():
                device.moves += 1
                give_address(device.name, device.index, device.moves)
        self.faults[type(fault).__name__.lower()] += 1

    def _calm(self, weather: Weather) -> None:
        if self._switch.weather is weather:
            self._switch.weather = CALM

    def _merge(self, parts: dict[int, int]) -> None:
        if self._switch.parts is parts:
            self._switch.parts = {}

    def _start(self, device: _Process) -> None:
        device.start()
        life = device.life
        self._at(time.monotonic() + 2.0, lambda: device.order(Order("insert")) if device.life == life else None)

    def _later(self, fault: Fault, action: Callable[[], None]) -> None:
        self._at(time.monotonic() + fault.lasts_s, action)

    def _at(self, at_s: float, action: Callable[[], None]) -> None:
        self._order += 1
        heappush(self._due, (at_s, self._order, action))

    def _run(self, until_s: float) -> None:
        while self._due and self._due[0][0] <= until_s:
            at_s, _, action = heappop(self._due)
            time.sleep(max(0.0, at_s - time.monotonic()))
            action()
        time.sleep(max(0.0, until_s - time.monotonic()))

    def _wait_until(self, reached: Callable[[], bool]) -> None:
        end_s = time.monotonic() + LOOK_S
        while not reached() and time.monotonic() < end_s:
            time.sleep(0.1)


def play(approach: str, seconds: float, seed: int) -> RealRow:
    with TemporaryDirectory(prefix="thyme-real-") as folder, network(NODES, seed) as switch:
        crowd = _Crowd(switch, approach, Path(folder), seed)
        try:
            crowd.play(seconds)
            crowd.look(_living(crowd))
        finally:
            for device in crowd.devices:
                device.kill()
        return _judge(crowd, approach, seconds)


def _living(crowd: _Crowd) -> list[str]:
    ended = {event.name for device in crowd.devices for event in device.said("deleting")}
    return [event.name for device in crowd.devices for event in device.said("inserted") if event.name not in ended]


def _judge(crowd: _Crowd, approach: str, seconds: float) -> RealRow:
    living = set(_living(crowd))
    inserted = {event.name: event for device in crowd.devices for event in device.said("inserted")}
    lost, not_found, not_retrieved = [], [], []
    expected = repeated = 0
    for device in crowd.devices:
        notified = Counter((life, event.sid, event.name) for life, event in device.events if event.what == "notified")
        repeated += sum(count - 1 for count in notified.values())
        seen = {(sid, name) for _, sid, name in notified}
        for one in device.said("subscribed"):
            due = [name for name in sorted(living) if matches(one.query, inserted[name].tags)]
            expected += len(due)
            lost += [f"{name} at {device.index}, {one.query}" for name in due if (one.sid, name) not in seen]
        found = {name for event in device.said("found") for name in event.names}
        not_found += [f"{name} at {device.index}" for name in sorted(living - found)]
        looked = device.said("looked")
        not_retrieved += [f"{name} at {device.index}" for event in looked for name in event.names]
        not_retrieved += [] if looked else [f"anything at {device.index}"]
    return RealRow(
        approach,
        seconds,
        dict(crowd.faults),
        len(inserted),
        sum(len(device.said("deleted")) for device in crowd.devices),
        sum(len(device.said("failed")) for device in crowd.devices),
        sum(len(device.said("subscribed")) for device in crowd.devices),
        expected,
        lost,
        repeated,
        not_found,
        not_retrieved,
        max((abs(event.value) for device in crowd.devices for event in device.said("looked")), default=0.0),
        sum(device.cpu_s for device in crowd.devices),
    )


def matches(query: str, tags: tuple[str, ...]) -> bool:
    """The few forms of queries that are used here."""
    if "|" in query:
        return any(tag.strip() in tags for tag in query.split("|"))
    wanted = [tag.strip() for tag in query.split("&")]
    return all(tag[1:] not in tags if tag.startswith("!") else tag in tags for tag in wanted)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def render(rows: list[RealRow], console: Console | None = None) -> None:
    table = Table(box=SIMPLE_HEAD)
    columns = ("approach", "seconds", "faults", "inserted", "deleted", "failed", "subscriptions", "expected", "lost")
    for column in (*columns, "repeated", "not found", "not retrieved", "time off", "CPU s"):
        table.add_column(column, justify="left" if column == "approach" else "right")
    shown = console or table_console()
    for row in rows:
        counts = (sum(row.faults.values()), row.inserted, row.deleted, row.failed, row.subscriptions, row.expected)
        wrong = (len(row.lost), row.repeated, len(row.not_found), len(row.not_retrieved))
        numbers = [f"{number:,}" for number in (*counts, *wrong)]
        table.add_row(row.approach, f"{row.seconds:g}", *numbers, f"{row.off_s:.2f} s", f"{row.cpu_s:.0f}")
        shown.print(", ".join(f"{count} {what}" for what, count in sorted(row.faults.items())))
        for what, names in (("lost", row.lost), ("not found", row.not_found), ("not retrieved", row.not_retrieved)):
            if names:
                shown.print(f"{what}: {'; '.join(names[:10])}")
    shown.print(table)
