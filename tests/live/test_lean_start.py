"""A live node starts without what it does not need."""

from __future__ import annotations

import subprocess
import sys

START = """
import asyncio, sys
from thyme.live.node.device import Device, DeviceOptions
async def start():
    grid = {"width_m": 80.0, "height_m": 80.0}
    Device(DeviceOptions(node=1, approach="dcs", settings={"grid": grid}))
asyncio.run(start())
print([name for name in ("numba", "pyspark", "matplotlib", "thyme.approaches.ls.protocol") if name in sys.modules])
"""


def test_a_node_of_thyme_dcs_starts_without_the_compiler_and_other_approaches() -> None:
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
