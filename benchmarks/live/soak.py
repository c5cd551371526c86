"""A soak: live nodes that insert, delete and are notified for minutes while others come and go, and what it does to the
memory of their process.

Per approach one process with three nodes on disk that stay and a visitor that joins, subscribes and leaves again and
again. What a node remembers by design (used names, notifications, deletions) has named maxima; the soak sets them so
low that they are reached in the first minutes, and whatever grows afterwards is a leak.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from thyme.approaches import user
from thyme.approaches.dcs import notifier
from thyme.live import Node, OperationError
from thyme.live.link.link import LinkOptions
from thyme.live.node import known
from thyme.live.trust import authenticator

ROOT = Path(__file__).parents[2]
APPROACHES = ("ls", "dcs")
TAG = "goal"
LIVE_OBJECTS = 20
"""Objects of each node that are there at once; older ones are deleted."""
CONTENT = b"x" * 500
SAMPLE_S = 2.0
VISIT_S = 5.0
MEMORY = 1_000
"""Names, notifications, deletions and objects that each node remembers."""
PLACES = [(10.0, 20.0), (20.0, 20.0), (60.0, 20.0), (70.0, 20.0)]


class Sample(msgspec.Struct, frozen=True):
    """The memory of a process after some time."""

    at_s: float
    rss_mb: float
    operations: int
    visits: int


class Soaked(msgspec.Struct, frozen=True):
    approach: str
    samples: list[Sample]
    notified: int

    def slope_kb_per_minute(self) -> float:
        """Of the straight line through the second half."""
        from numpy import polyfit

        half = self.samples[len(self.samples) // 2 :]
        slope, _ = polyfit([sample.at_s for sample in half], [sample.rss_mb for sample in half], 1)
        return float(slope) * 60.0 * 1_000.0


def soak(approaches: tuple[str, ...], minutes: float, per_s: float) -> list[Soaked]:
    """Each approach in a process of its own, all at once."""
    command = [sys.executable, "-m", "benchmarks.live.soak"]
    running = [
        subprocess.Popen([*command, approach, str(minutes), str(per_s)], stdout=subprocess.PIPE, cwd=ROOT)
        for approach in approaches
    ]
    return [msgspec.json.decode(process.communicate()[0], type=Soaked) for process in running]


async def play(approach: str, minutes: float, per_s: float) -> Soaked:
    end_s = time.monotonic() + 60.0 * minutes
    state = _State(approach)
    # Not settings: an application has no reason to change them.
    user.MAX_SEEN = known.MAX_KNOWN_OBJECTS = authenticator.MAX_VERIFIED = notifier.SENT_MEMORY = MEMORY
    authenticator.MAX_KEPT = 2 * MEMORY  # deletions, and as many others
    with TemporaryDirectory() as folder:
        nodes: list[Node] = []
        for index in range(3):
            peers = [node.address for node in nodes]
            node = Node(index + 1, store=str(Path(folder) / str(index)), peers=peers, **_options(approach, index))
            nodes.append(await node.__aenter__())
            await node.device.joined.wait()
            node.on_notice = state.note
        streams = [await node.subscribe(TAG) for node in nodes]
        work = [asyncio.ensure_future(_churn(node, state, per_s / 3.0, end_s)) for node in nodes]
        work.append(asyncio.ensure_future(_visit(nodes, state, end_s)))
        work += [asyncio.ensure_future(_drain(stream)) for stream in streams]
        began_s = time.monotonic()
        while time.monotonic() < end_s:
            state.samples.append(Sample(time.monotonic() - began_s, _rss_mb(), state.operations, state.visits))
            await asyncio.sleep(SAMPLE_S)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        for node in nodes:
            await node.close()
    return Soaked(approach, state.samples, state.notified)


class _State:
    def __init__(self, approach: str) -> None:
        self.approach = approach
        self.samples: list[Sample] = []
        self.operations = self.visits = self.notified = 0

    def note(self, notice: object) -> None:
        self.notified += 1


async def _drain(stream: Any) -> None:
    async for _ in stream:
        pass


async def _churn(node: Node, state: _State, per_s: float, end_s: float) -> None:
    number = 0
    while time.monotonic() < end_s:
        with suppress(OperationError):
            await node.insert(f"o{number}", CONTENT, [TAG, f"t{number % 50}"], b"summary")
            if number >= LIVE_OBJECTS:
                await node.delete(f"o{number - LIVE_OBJECTS}")
        state.operations += 2
        number += 1
        await asyncio.sleep(1.0 / per_s)


async def _visit(nodes: list[Node], state: _State, end_s: float) -> None:
    """A new node joins, subscribes and leaves."""
    while time.monotonic() < end_s:
        peers = [node.address for node in nodes]
        options = _options(state.approach, 3)
        async with Node(1_000 + state.visits, store="memory", peers=peers, **options) as visitor:
            await visitor.device.joined.wait()
            with suppress(OperationError):
                stream = await visitor.subscribe(TAG)
                await asyncio.sleep(VISIT_S)
                await visitor.unsubscribe(stream.key.sid)
        state.visits += 1


def _options(approach: str, index: int) -> dict[str, Any]:
    link = LinkOptions(heard=MEMORY)
    limits = {"limits": {"notified_memory": MEMORY, "used_names": MEMORY, "deletions": MEMORY}}
    if approach == "dcs":
        area = {"grid": {"width_m": 80.0, "height_m": 40.0}, "join_wait_s": 0.3, "settle_s": 0.2}
        return {"approach": "dcs", "settings": {**area, **limits}, "position": PLACES[index], "link": link}
    return {"approach": approach, "link": link, "settings": {"join": {"wait_s": 0.1, "delay_s": 0.02}, **limits}}


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4_096 / 1e6


def draw(found: list[Soaked], path: Path) -> None:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from thyme.approaches.registry import APPROACHES
    from thyme.study.figures.pictures import APPROACH_COLOURS, STYLE, save_picture, to_picture

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.0, 3.6), layout="constrained")
        axes = figure.subplots()
        for soaked in found:
            last, title = soaked.samples[-1], APPROACHES[soaked.approach].title
            label = f"{title}: {last.operations:,} operations, {last.visits} visitors"
            minutes = [sample.at_s / 60.0 for sample in soaked.samples]
            memory = [sample.rss_mb for sample in soaked.samples]
            axes.plot(minutes, memory, label=label, color=APPROACH_COLOURS[title])
        axes.set(xlabel="minutes", ylabel="memory of the process (MB)", ylim=(0.0, None))
        axes.legend()
        save_picture(to_picture(figure, path.stem, "Soak", "Memory of three live nodes in one process"), path)


def render(found: list[Soaked]) -> None:
    for soaked in found:
        first, half, last = soaked.samples[0], soaked.samples[len(soaked.samples) // 2], soaked.samples[-1]
        print(
            f"{soaked.approach}: {last.operations:,} operations, {last.visits} visitors, {soaked.notified:,} "
            f"notifications in {last.at_s / 60.0:.1f} min; {first.rss_mb:.1f} MB at first, {half.rss_mb:.1f} at half "
            f"time, {last.rss_mb:.1f} at the end; {soaked.slope_kb_per_minute():+.0f} kB a minute in the second half"
        )


if __name__ == "__main__":
    from thyme.live.loop import run

    given = sys.argv[1:]
    sys.stdout.buffer.write(msgspec.json.encode(run(play(given[0], float(given[1]), float(given[2])))))
