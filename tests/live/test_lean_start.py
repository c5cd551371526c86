"""A live node starts and works without what only studies need."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

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


ROOT = Path(__file__).parents[2]
ABSENT = """
import importlib.abc
class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Absent())
"""
HELP = """
from thyme.cli.main import run
sys.argv = ["thyme", *GIVEN]
run()
"""


def not_on_devices() -> set[str]:
    """What pyproject.toml asks for and a device does not have."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    device = (ROOT / "deploy" / "device-requirements.txt").read_text().splitlines()
    return {re.split("[<>=]", each)[0] for each in needed} - {each for each in device if not each.startswith("#")}


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


def test_a_device_needs_no_more_than_its_list_of_requirements() -> None:
    absent = f"ABSENT = {not_on_devices() | {'llvmlite'}!r}" + ABSENT
    assert "numba" in absent
    assert loaded(absent + COMMAND, "insert kick --tags goal photo\nquit\n") == "loaded: []"
    assert loaded(absent + "GIVEN = ['--help']" + HELP) == "loaded: []"


def test_what_a_device_cannot_do_is_said_in_one_line() -> None:
    program = f"{REPORT}ABSENT = {not_on_devices()!r}{ABSENT}GIVEN = ['posts', 'generate', '--out', 'x']{HELP}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert re.match(r"thyme: this needs \w+, which is not installed here", done.stderr), done.stderr
