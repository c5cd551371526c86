"""A live node starts and works without what only studies need."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numba", "llvmlite", "scipy", "pyarrow", "pandas", "pyspark", "matplotlib", "networkx")
REPORT = f"""
import atexit, sys
def report():
    print("loaded:", [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
atexit.register(report)
"""

APPLICATION = """
import asyncio
import thyme

async def work(approach, settings, other):
    given = {"store": "memory", "approach": approach, "settings": settings}
    async with thyme.Node(1, **given) as one, thyme.Node(2, peers=[one.address], **given) as two:
        goals = await two.subscribe("goal")
        await one.insert("kick", b"a photo", ["goal"])
        await two.retrieve((await anext(goals)).metadata)
    assert other not in sys.modules

quick = {"join": {"wait_s": 0.1}}
hasty = {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.2, "beacons": {"period_s": 0.1}}
asyncio.run(asyncio.wait_for(work("dcs", hasty, "thyme.approaches.ls"), 60))
asyncio.run(asyncio.wait_for(work("ls", quick, "thyme.approaches.es"), 60))
"""

COMMAND = """
from thyme.cli.main import run
sys.argv = ["thyme", "node", "start", "--id", "1", "--store", "memory", "--set", "join.wait_s=0.1"]
run()
"""


def loaded(program: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-c", REPORT + program], input=given, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_nodes_of_an_application_store_notify_and_retrieve_without_what_studies_need() -> None:
    assert loaded(APPLICATION) == "loaded: []"


def test_a_node_of_the_command_line_runs_without_what_studies_need() -> None:
    assert loaded(COMMAND, "insert kick --tags goal photo\nquit\n") == "loaded: []"
