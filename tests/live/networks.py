"""Networks that a test makes for itself: network namespaces of the system, each with its cable to a switch."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from time import sleep


def refusal() -> str:
    """Why no networks can be made here; nothing if they can."""
    if shutil.which("ip") is None:
        return "there is no `ip` here"
    name = f"thyme-try-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"network namespaces cannot be made here: {made.stderr.strip()}"
    _ip("netns", "del", name)
    return ""


@contextmanager
def network(machines: int = 2, *, ipv4: bool = True, ipv6: bool = True) -> Iterator[tuple[str, ...]]:
    """Machines, as it were, on one switch; the first has the address 10.77.0.1, the next 10.77.0.2."""
    switch = f"thyme-{os.getpid()}-switch"
    names = tuple(f"thyme-{os.getpid()}-{i + 1}" for i in range(machines))
    try:
        for name in (switch, *names):
            _ip("netns", "add", name)
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge", "mcast_snooping", "0")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for i, name in enumerate(names):
            end, port = f"ty{os.getpid() % 100_000}m{i}", f"port{i}"
            _ip("-n", name, "link", "add", end, "type", "veth", "peer", "name", port, "netns", switch)
            _ip("-n", switch, "link", "set", port, "master", "bridge", "up")
            if not ipv6:
                command = ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]
                subprocess.run(["ip", "netns", "exec", name, *command], check=False, capture_output=True)
            if ipv4:
                _ip("-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        for name in names:
            _wait_until_settled(name)
        yield names
    finally:
        for name in (*names, switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _wait_until_settled(name: str) -> None:
    """An address of IPv6 is of no use until nobody else was found to have it."""
    for _ in range(100):
        shown = subprocess.run(["ip", "-n", name, "-6", "addr"], capture_output=True, text=True, check=False).stdout
        if "tentative" not in shown:
            return
        sleep(0.05)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
