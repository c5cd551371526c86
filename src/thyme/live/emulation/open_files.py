"""How many files a process may have open: a crowd has two sockets for each pair of nodes, more than usually allowed."""

from __future__ import annotations

import sys

from thyme.model.errors import InputError

PER_MEMBER = 4
"""Pipes to and from a member, and what it is started with."""
SPARE = 100
"""For everything else: the map, the event loop, libraries."""


def allow_crowd(nodes: int) -> None:
    """Let this process have the files of a crowd; InputError if the system does not."""
    allow_open_files(nodes * (nodes - 1) + PER_MEMBER * nodes + SPARE)


def allow_open_files(wanted: int) -> None:
    if sys.platform == "win32":  # where there is no such limit
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise InputError(f"{wanted:,} open files are needed and {hard:,} allowed (ulimit -Hn); start fewer nodes")
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
