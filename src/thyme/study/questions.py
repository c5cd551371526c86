"""A new study from a few questions: what is shared, how many people, where, how they move and go, what matters most.

The answers become a study file with comments, which says in its own words what can be changed and how. A file that
this writes is a complete example of the format (`thyme study keys`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, Literal

import msgspec

from thyme.approaches.deciding import Priority
from thyme.approaches.registry import APPROACHES
from thyme.model.errors import InputError
from thyme.model.objects import MAX_TRACE_BYTES
from thyme.model.quantities import bytes_of
from thyme.model.settings import to_record
from thyme.places import place_of

Contents = Literal["messages", "photos", "videos"]
Movement = Literal["stand", "some", "walk"]
Going = Literal["stay", "leave", "switch"]
MAX_PEOPLE = 100_000
SIZES_BYTES: dict[Contents, int] = {"messages": 0, "photos": 100_000, "videos": 2_000_000}
"""Default size of contents."""
SHARES: dict[Contents, float] = {"photos": 0.2, "videos": 0.05}
"""How many of the posts are a photo or a video; the others are messages."""
MOVEMENTS: dict[Movement, str] = {
    "stand": 'movement = { model = "static" }',
    "some": 'movement = { model = "waypoint", min_speed_mps = 0.5, max_speed_mps = 1.5, mobile_fraction = 0.5 }',
    "walk": 'movement = { model = "waypoint", min_speed_mps = 0.5, max_speed_mps = 1.5 }',
}
GOINGS: dict[Going, str] = {
    "stay": 'churn = { model = "none" }',
    "leave": 'churn = { model = "leave", fraction = 0.1, from_s = 200.0, to_s = 300.0 }',
    "switch": 'churn = { model = "alternate", fraction = 0.2, on_s = 120.0, off_s = 60.0 }',
}


class CrowdDescription(msgspec.Struct, frozen=True):
    """A person's description of their crowd."""

    name: str = "crowd"
    contents: Contents = "photos"
    size_bytes: int = 0
    """How large a photo or a video is; 0 takes the usual size."""
    people: int = 36
    width_m: float | None = None
    height_m: float | None = None
    movement: Movement = "stand"
    going: Going = "stay"
    server: bool = True
    priority: Priority = "traffic"
    quick: bool = False
    """Run this crowd only, without variations."""
    posts: str = ""
    """The folder of a dataset of posts; generated ones if empty."""

    def __post_init__(self) -> None:
        if self.size_bytes and self.contents == "messages":
            raise InputError("--size: messages have the length of the posts; leave it out, or share photos or videos")
        if not 0 <= self.size_bytes <= MAX_TRACE_BYTES:
            raise InputError(f"--size {self.size_bytes}: expected at most {MAX_TRACE_BYTES:,} bytes")
        if not 2 <= self.people <= MAX_PEOPLE:
            raise InputError(f"--people {self.people}: expected from 2 to {MAX_PEOPLE:,}")
        if (self.width_m is None) != (self.height_m is None):
            raise InputError("--venue: expected both sides, such as 200x100")
        sides = [side for side in (self.width_m, self.height_m) if side is not None]
        if not all(0.0 < side < inf for side in sides):
            raise InputError(f"--venue {self.width_m:g}x{self.height_m:g}: both sides must be positive")


QUESTIONS = {
    "contents": ("What do people share: messages, photos or videos?", "photos"),
    "size": ("How large is a photo or a video? (such as 100kB or 2MB; empty: the usual size)", ""),
    "people": ("How many people?", "36"),
    "venue": (
        "How large is the venue, in metres? (such as 200x100; empty: as dense as the crowd in front of a stage)",
        "",
    ),
    "movement": ("Do they stand, do some walk, or do all walk? [stand/some/walk]", "stand"),
    "going": ("Do they stay, does a tenth leave, or do some switch off and on? [stay/leave/switch]", "stay"),
    "server": ("Can somebody bring a server? [y/n]", "y"),
    "priority": ("What matters most: delivery, delay, battery or traffic?", "traffic"),
    "posts": ("A folder of posts that `thyme posts ingest` wrote? (empty: generated ones)", ""),
}


def description_of(given: Mapping[str, Any], file: Path) -> CrowdDescription:
    """Answers to the questions as a record, for a study that is written to `file`; InputError names the answer that is
    not valid."""
    answers = {key: value for key, value in given.items() if value is not None}
    size = answers.pop("size", "")
    if size:
        answers["size_bytes"] = bytes_of(size, "--size")
    sides = answers.pop("venue", "")
    if sides:
        answers["width_m"], answers["height_m"] = parse_venue(sides)
    posts = answers.get("posts", "")
    if posts:
        folder = place_of(posts)
        if isinstance(folder, Path) and not (file.parent / folder).is_dir():
            raise InputError(f"--posts {posts}: there is no such folder beside the study; see `thyme posts ingest`")
    return to_record(answers | {"name": file.stem}, CrowdDescription, "thyme study new")


def parse_venue(text: str) -> tuple[float, float]:
    """`200x100` in metres."""
    width, _, height = text.lower().replace("×", "x").replace("m", "").partition("x")
    try:
        return float(width), float(height)
    except ValueError:
        raise InputError(f"--venue {text}: expected two sides in metres, such as 200x100") from None


def approaches_for(asked: CrowdDescription) -> list[str]:
    """The approaches that can run the described workload: those with servers only if there is a server."""
    fitting = [name for name, one in APPROACHES.items() if asked.server or not one.capabilities.needs_server]
    return [name for name in fitting if APPROACHES[name].capabilities.answers_past]


def study_text(asked: CrowdDescription) -> str:
    """The study file."""
    if asked.width_m is None or asked.height_m is None:
        venue = "# venue = { width_m = 200.0, height_m = 100.0 }   # without it, about two people per 40 m × 40 m"
    else:
        venue = f"venue = {{ width_m = {asked.width_m:.1f}, height_m = {asked.height_m:.1f} }}"
    if asked.posts:
        posts = (
            f"dataset = {json.dumps(asked.posts)}   # a folder that `thyme posts ingest` wrote, relative to this file"
        )
    else:
        posts = 'generate = { posts = 4000 }   # or: dataset = "FOLDER", which `thyme posts ingest` writes'
    variations = "\nvariations = []" if asked.quick else ""
    approaches = "\n\n".join(_approach(name) for name in approaches_for(asked))
    return f"""\
# A study: which approach fits this crowd? Run it with `thyme study {asked.name}.toml`.
name = {json.dumps(asked.name)}
title = "Which way of sharing fits {asked.people} people?"

# Number of random placements that every approach is run on; fewer than three show only large differences.
topologies = 3
repetitions = 1

# What decides among dependable approaches: "delivery" (notifications that arrive), "delay" (time until they do),
# "battery" (energy) or "traffic" (bytes sent).
priority = "{asked.priority}"

# A few variations of this crowd are run too (walking, leaving, twice the people, other contents, …), and the report
# says in which of them the answer changes. `variations = []` leaves them out; [[variations]] names others:
# [[variations]]
# name = "half the frames lost"
# scenario.faults = [{{ kind = "loss", probability = 0.5 }}]{variations}

# What people share.
{_contents(asked)}

[posts]
{posts}

# Everything about the crowd; `thyme scenario models` lists the keys.
[scenario]
nodes = {asked.people}
{venue}
{MOVEMENTS[asked.movement]}
{GOINGS[asked.going]}
radio = {{ model = "disc" }}   # ideal, and quick to simulate; "wifi" is 802.11g with collisions

{approaches}

# Several values of a key give a line in the report's figures, such as
# [grid]
# nodes = [16, 36, 64]
"""


def _contents(asked: CrowdDescription) -> str:
    if asked.contents == "messages":
        return '[trace.sizes]\nkind = "text"   # or "photos", with size_bytes and share: how many posts are one'
    size_bytes = asked.size_bytes or SIZES_BYTES[asked.contents]
    return f"""\
[trace.sizes]
kind = "photos"   # large contents, alone or among texts; "text" shares texts only
size_bytes = {size_bytes:_}
largest_bytes = {min(MAX_TRACE_BYTES, 10 * size_bytes):_}
share = {SHARES[asked.contents]}   # of the posts; the others are texts"""


def _approach(name: str) -> str:
    approach = APPROACHES[name]
    return f'[[approaches]] # {approach.title}: {approach.summary}\nname = "{name}"'
