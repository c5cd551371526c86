"""Monitoring: counters in the text format of Prometheus, a dashboard of them, and logs as JSON."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx

from thyme.live import Node
from thyme.live.http.metrics import MAX_SERIES, NodeSums
from thyme.live.http.server import HttpServer
from thyme.model.ids import NodeId
from thyme.model.records import Counted, TrafficKind

DASHBOARD = Path(__file__).parents[2] / "deploy" / "dashboard.json"
PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
SAMPLE = re.compile(r'^thyme_\w+(?:\{\w+="(?:[^"\\]|\\.)*"(?:,\w+="(?:[^"\\]|\\.)*")*\})? -?[0-9.e+-]+$')


def test_counters_say_what_happened_and_the_dashboard_shows_what_there_is(tmp_path: Path) -> None:
    async def run() -> str:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store=tmp_path / "1", settings=QUICK) as one,
            Node(2, store="memory", peers=[one.address], settings=QUICK) as two,
            HttpServer(one, listen="127.0.0.1:0", folder=tmp_path / "http") as server,
        ):
            await one.device.joined.wait()
            goals = await one.subscribe("goal")
            await two.insert("kick", b"x", ["goal"])
            await one.retrieve(await anext(goals))
            headers = {"authorization": f"Bearer {server.token}"}
            async with httpx.AsyncClient(base_url=server.address) as client:
                assert (await client.get("/metrics")).status_code == 401
                answer = await client.get("/metrics", headers=headers)
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        return answer.text

    text = asyncio.run(run())
    lines = text.splitlines()
    assert all(line.startswith("# ") or SAMPLE.match(line) for line in lines), text
    for line in (
        "thyme_peers 1",
        "thyme_notifications_total 1",
        'thyme_operations_total{operation="retrieve",outcome="succeeded"} 1',
        'thyme_operations_total{operation="subscribe",outcome="succeeded"} 1',
    ):
        assert line in lines, text
    names = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert {"thyme_message_bytes_total", "thyme_disk_free_bytes", "thyme_time_offset_seconds"} <= names
    shown = set(re.findall(r"thyme_\w+", DASHBOARD.read_text()))
    assert len(json.loads(DASHBOARD.read_text())["panels"]) >= 10
    assert shown <= names, shown - names


def test_reasons_that_peers_make_up_do_not_fill_the_memory() -> None:
    sums = NodeSums()
    for i in range(2 * MAX_SERIES):
        sums.record(0.0, NodeId(1), Counted(TrafficKind.DROPPED, "x", size_bytes=2, reason=f'made "up" {i}\n'))
    assert len(sums.messages) == MAX_SERIES + 1
    assert sums.traffic(TrafficKind.DROPPED) == (2 * MAX_SERIES, 4 * MAX_SERIES)


def test_logs_are_json_lines_on_request() -> None:
    program = """
import logging
from thyme.live.loop import log_as_json
log_as_json()
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("thyme.live").exception("node %d failed", 7)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (line["level"], line["logger"], line["message"]) == ("error", "thyme.live", "node 7 failed")
    assert "ZeroDivisionError" in line["trace"]
