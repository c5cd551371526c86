"""Networks that a test makes for itself: network namespaces of the system, each with its end of one cable."""

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
def cable(*, ipv4: bool = True, ipv6: bool = True) -> Iterator[tuple[str, str]]:
    """Two machines, as it were, on one network."""
    names = [f"thyme-{os.getpid()}-{end}" for end in "ab"]
    ends = [f"ty{os.getpid() % 100_000}{end}" for end in "ab"]
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1])
        for i, (name, end) in enumerate(zip(names, ends, strict=True)):
            _ip("link", "set", end, "netns", name)
            if not ipv6:
                command = ["sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1"]
                subprocess.run(["ip", "netns", "exec", name, *command], check=False, capture_output=True)
            if ipv4:
                _ip("-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", end)
            _ip("-n", name, "link", "set", end, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        for name in names:
            _wait_until_settled(name)
        yield names[0], names[1]
    finally:
        for name in names:
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
