"""A node without a terminal: it says where it is, and runs until a signal or a program asks it to leave."""

from __future__ import annotations

import asyncio
import signal
import sys

from thyme.live.daemon.doors import Doors, Opened, opened
from thyme.live.node.node import Node


async def serve(node: Node, doors: Doors) -> None:
    """Run a node to its end, with its doors open."""
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        loop.add_signal_handler(number, leave.set)
    try:
        await node.open()
        try:
            async with opened(node, doors, leave.set) as open_doors:
                _say(node, open_doors)
                await node.connect(node.options.peers)
                await _until(leave, node)
        finally:
            await node.close()
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def _until(leave: asyncio.Event, node: Node) -> None:
    """Take part until it is time to leave, which may be before it began."""
    joining = asyncio.ensure_future(node.join())
    leaving = asyncio.ensure_future(leave.wait())
    try:
        await asyncio.wait({joining, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if joining.done():
            joining.result()
            await leaving
    finally:
        joining.cancel()
        leaving.cancel()
        await asyncio.gather(joining, leaving, return_exceptions=True)


def _say(node: Node, doors: Opened | None) -> None:
    lines = [f"node {node.id} ({node.options.approach}) listens on {node.address}"]
    if doors is not None and doors.control:
        lines.append(f"programs of this user reach it at {doors.control}")
    if doors is not None and doors.address:
        lines.append(f"programs with its token reach it at {doors.address}")
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
