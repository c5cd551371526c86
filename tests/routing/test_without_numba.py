"""A device without numba runs the same routing, one frame at a time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
if sys.argv[1] == "without":
    sys.modules["numba"] = None
sys.path.insert(0, sys.argv[2])
from net import Net
from thyme.model.ids import NodeId
from thyme.routing.dsdv.protocol import Dsdv
from thyme.wire.routing import Flooded
net = Net()
arrived = []
routers = []
for node in range(6):
    host = net.add(node, 100.0 * node, 0.0)
    router = Dsdv(host, lambda origin, message: arrived.append((origin, message.number)))
    host.layers.append(router)
    routers.append(router)
    router.start()
net.run(40.0)
routers[0].send(NodeId(5), Flooded(NodeId(0), 7, 0, b""))
net.run(41.0)
net.cut(4, 5)
routers[0].send(NodeId(5), Flooded(NodeId(0), 8, 0, b""))
net.run(90.0)
print(arrived, [router.routes() for router in routers], len(net.frames))
print("numba.core.types" in sys.modules, file=sys.stderr)
"""


@pytest.mark.compiled
def test_dsdv_keeps_the_same_routes_with_numba_and_without() -> None:
    runs = []
    for mode in ("with", "without"):
        command = [sys.executable, "-c", SCRIPT, mode, str(Path(__file__).parent)]
        runs.append(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120))
    assert [run.stderr.strip() for run in runs] == ["True", "False"]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stdout.startswith("[(0, 7)]")
