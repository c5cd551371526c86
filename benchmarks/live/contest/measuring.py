"""What a contender is measured by, the same for all: between two processes, with payloads that carry their time.

Both processes read the machine's clock, so the receiver knows the latency of each payload. CPU time is that of both
ends and of the server between them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import psutil

from benchmarks.live.contest.contender import PAYLOAD_BYTES, Ability, Contender, OnPayload, Server
from benchmarks.live.processes import in_process
from thyme.live.loop import run

GAP_S = 0.002
"""Between two payloads whose latency counts: none waits for another."""
SILENCE_S = 15.0
"""After this time without another payload, the rest is lost."""
PASSED_ON_S = 2.0
"""What a publisher has acknowledged to its own user may still be on its way to others when it dies; after that it is
not."""
WARM_UP = 50
Find = Callable[[], Contender]


class Plan(msgspec.Struct, frozen=True):
    """How much is measured."""

    single: int = 500
    many: int = 10_000
    past: int = 50_000
    idle_s: float = 5.0


class Figures(msgspec.Struct):
    """What was found; nothing where a contender cannot do it."""

    name: str
    missing: str = ""
    p50_s: float | None = None
    p99_s: float | None = None
    per_s: float | None = None
    cpu_s: float | None = None
    """For each of many payloads, of all processes."""
    lost: int = 0
    idle: float | None = None
    """Of a core, by the busier end."""
    kept_per_s: float | None = None
    synced: bool = False
    past_s: float | None = None
    past_lost: int = 0
    p50_times: float | None = None
    """To Zenoh's, of the same round, as all that follow are to others of the same round."""
    past_times: float | None = None
    """To JetStream's."""
    signing_s: float | None = None
    """How much longer a single notification takes than without signatures."""


class _Heard(msgspec.Struct):
    took_s: list[float]
    last_s: float = 0.0
    cpu_s: float = 0.0


def measure(contender: Contender, find: Find, plan: Plan) -> Figures:
    """`find` makes the contender in another process."""
    figures = Figures(contender.name, contender.missing())
    if figures.missing:
        return figures
    try:
        if Ability.TELL in contender.abilities:
            _measure_telling(contender, find, plan, figures)
        if Ability.PAST in contender.abilities:
            _measure_past(contender, find, plan, figures)
    except EOFError:
        figures.missing = "one of its processes has failed, as it said above"
    return figures


def _measure_telling(contender: Contender, find: Find, plan: Plan, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        contender.serve(Path(folder)) as server,
        in_process(_speak, find, server, "") as speaker,
        in_process(_listen, find, speaker.recv()) as listener,
    ):
        listener.recv()
        for number, batch, gap_s in ((WARM_UP, 1, GAP_S), (plan.single, 1, GAP_S), (plan.many, contender.batch, 0.0)):
            listener.send(number)
            before_s = _cpu_s(server)
            speaker.send((number, batch, gap_s))
            began_s, cpu_s = speaker.recv()
            heard: _Heard = listener.recv()
            if gap_s:
                figures.p50_s, figures.p99_s = _share(heard.took_s, 0.5), _share(heard.took_s, 0.99)
            else:
                figures.lost = number - len(heard.took_s)
                figures.per_s = len(heard.took_s) / (heard.last_s - began_s)
                figures.cpu_s = (cpu_s + heard.cpu_s + _cpu_s(server) - before_s) / number
        figures.idle = _idle(speaker, listener, plan.idle_s)
        speaker.send(None)
        listener.send(0)


def _measure_past(contender: Contender, find: Find, plan: Plan, figures: Figures) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        contender.serve(Path(folder)) as server,
        in_process(_speak, find, server, folder) as speaker,
    ):
        address = speaker.recv()
        speaker.send((plan.past, contender.batch, 0.0))
        began_s, _ = speaker.recv()
        if contender.dies:
            time.sleep(PASSED_ON_S)
            speaker.send("die")
        else:
            figures.kept_per_s = plan.past / (time.monotonic() - began_s)
            figures.synced = Ability.DISK in contender.abilities
        with in_process(_search, find, address, plan.past) as searcher:
            began_s, heard = searcher.recv()
        figures.past_s = heard.last_s - began_s if heard.took_s else None
        figures.past_lost = plan.past - len(heard.took_s)
        if not contender.dies:
            speaker.send(None)


def _idle(speaker: Connection, listener: Connection, idle_s: float) -> float:
    time.sleep(0.5)
    speaker.send(idle_s)
    listener.send(-idle_s)
    spoke, heard = speaker.recv(), listener.recv()
    return float(max(spoke[1], heard.cpu_s)) / idle_s


def _cpu_s(server: Server) -> float:
    if not server.pid:
        return 0.0
    times = psutil.Process(server.pid).cpu_times()
    return float(times.user + times.system)


def _share(took_s: list[float], share: float) -> float | None:
    return sorted(took_s)[min(len(took_s) - 1, int(share * len(took_s)))] if took_s else None


def _speak(pipe: Connection, find: Find, server: Server, folder: str) -> None:
    """A process that publishes on request."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        async with find().publishing(server, Path(folder) if folder else None) as publisher:
            pipe.send(publisher.address)
            while order := await loop.run_in_executor(None, pipe.recv):
                if order == "die":
                    os.kill(os.getpid(), signal.SIGKILL)
                began_s, cpu_s = time.monotonic(), time.process_time()
                if isinstance(order, float):
                    await asyncio.sleep(order)
                else:
                    number, batch, gap_s = order
                    for first in range(0, number, batch):
                        await publisher.publish([_payload() for _ in range(min(batch, number - first))])
                        if gap_s:
                            await asyncio.sleep(gap_s)
                pipe.send((began_s, time.process_time() - cpu_s))

    run(serve())


def _payload() -> bytes:
    return b"%.9f" % time.monotonic() + bytes(PAYLOAD_BYTES - 30)


def _listen(pipe: Connection, find: Find, address: str) -> None:
    """A process that subscribes, and reports after each round what it received."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        ear = _Ear(loop)
        async with find().listening(address, ear.told):
            pipe.send("listening")
            while number := await loop.run_in_executor(None, pipe.recv):
                cpu_s = time.process_time()
                if number < 0:
                    await asyncio.sleep(-number)
                    heard = _Heard([])
                else:
                    heard = await ear.hear(int(number))
                heard.cpu_s = time.process_time() - cpu_s
                pipe.send(heard)

    run(serve())


def _search(pipe: Connection, find: Find, address: str, number: int) -> None:
    """A process that comes late."""

    async def serve() -> None:
        ear = _Ear(asyncio.get_running_loop())
        began_s = 0.0

        def begins() -> None:
            nonlocal began_s
            began_s = time.monotonic()

        async with find().searching(address, ear.told, begins):
            pipe.send((began_s, await ear.hear(number)))

    run(serve())


class _Ear:
    """Counts received payloads, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heard = _Heard([])
        self._wanted = 0
        self._enough = asyncio.Event()
        self.told: OnPayload = self._told

    def _told(self, payload: bytes) -> None:
        now_s, heard = time.monotonic(), self._heard
        heard.last_s = now_s
        heard.took_s.append(now_s - float(payload.rstrip(b"\0")))
        if len(heard.took_s) == self._wanted:
            self._loop.call_soon_threadsafe(self._enough.set)

    async def hear(self, number: int) -> _Heard:
        """The payloads received until there are enough, or no more come."""
        self._wanted = number
        count = -1
        while count < len(self._heard.took_s) < number:
            count = len(self._heard.took_s)
            try:
                await asyncio.wait_for(self._enough.wait(), SILENCE_S)
            except TimeoutError:
                continue
        heard, self._heard, self._wanted = self._heard, _Heard([]), 0
        self._enough.clear()
        return heard
