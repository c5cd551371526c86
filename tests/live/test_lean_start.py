"""A live node starts and works without the packages of the extras, and commands that need them name the extra."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from thyme.extras import EXTRAS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
IMPORTED_AS = {"pillow": "PIL"}
BASE = f"""
import sys
from importlib.machinery import PathFinder
ABSENT = {["llvmlite", *EXTRAS["gallery"], *EXTRAS["study"]]!r}
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *given: None if name.partition(".")[0] in ABSENT else find(name, *given)
"""
APPLICATION = """
import asyncio
import thyme

async def work(approach, settings):
    given = {"store": "memory", "approach": approach, "settings": settings}
    async with thyme.Node(1, **given) as one, thyme.Node(2, peers=[one.address], **given) as two:
        goals = await two.subscribe("goal")
        await one.insert("kick", b"a photo", ["goal"])
        print((await two.retrieve((await anext(goals)).metadata)).decode())

asyncio.run(asyncio.wait_for(work(APPROACH, SETTINGS), 60))
"""
QUICK = {
    "es": {"servers": [1]},
    "ls": {"join": {"wait_s": 0.1}},
    "dcs": {"grid": {"width_m": 40.0, "height_m": 40.0}, "join_wait_s": 0.2, "beacons": {"period_s": 0.1}},
    "drip": {},
    "socialcast": {"period_s": 0.3},
    "walks": {"settle_s": 3.0},
}
COMMAND = """
from thyme.cli.main import run
sys.argv = ["thyme", *GIVEN]
run()
"""


def run_base(program: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """Run a program where no extra is installed."""
    command = [sys.executable, "-c", BASE + program]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("approach", QUICK)
def test_nodes_of_every_approach_store_notify_and_retrieve_without_extras(approach: str) -> None:
    done = run_base(f"APPROACH, SETTINGS = {approach!r}, {QUICK[approach]!r}{APPLICATION}")
    assert done.stdout == "a photo\n", done.stderr


def test_a_node_of_the_command_line_runs_without_extras() -> None:
    given = ["node", "start", "--id", "1", "--store", "memory", "--set", "join.wait_s=0.1"]
    assert run_base(f"GIVEN = {given}{COMMAND}", "put kick --tags goal --text photo\nquit\n").returncode == 0


def test_the_overview_names_the_commands_that_are_there_and_how_to_get_the_others() -> None:
    overview = run_base(f"GIVEN = ['--help']{COMMAND}").stdout
    assert "doctor" in overview
    assert "simulate" not in overview
    assert "pip install 'thyme-crowd[study]'" in overview


@pytest.mark.parametrize(
    ("given", "extra"),
    [
        (["study", "--preset", "quick"], "study"),
        (["posts", "generate", "--out", "x"], "study"),
        (["crowd"], "study"),
        (["gallery"], "gallery"),
        (["node", "start", "--store", "memory", "--log", "x.parquet"], "study"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_command_whose_extra_is_missing_prints_one_line_that_installs_it(given: list[str], extra: str) -> None:
    done = run_base(f"GIVEN = {given}{COMMAND}")
    assert done.returncode == 2
    assert done.stderr.endswith(f"pip install 'thyme-crowd[{extra}]' (in a clone: pip install '.[{extra}]')\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_name_of_the_api_whose_extra_is_missing_says_what_installs_it() -> None:
    assert "pip install 'thyme-crowd[study]'" in run_base("import thyme; thyme.simulate").stderr


def test_extras_are_what_the_project_declares() -> None:
    base = {_package(each) for each in PROJECT["dependencies"]}
    for extra, packages in EXTRAS.items():
        declared = {_package(each) for each in PROJECT["optional-dependencies"][extra]}
        assert set(packages) <= declared
        assert not base & declared


def _package(requirement: str) -> str:
    name = re.split("[<>=]", requirement)[0]
    return IMPORTED_AS.get(name, name)
