"""A study so small that it takes moments."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TRACE = """at_s,node,kind,oid,tags,text,sid,query,start_s,end_s
12.0,0,subscribe,,,,0,goal,,
12.5,1,subscribe,,,,0,goal & !replay,now,
14.0,2,insert,a,goal,first #goal,,,,
15.0,3,insert,b,goal;replay,again #goal #replay,,,,
16.0,4,insert,c,goal,third #goal,,,,
17.0,2,delete,a,,,,,,
19.0,5,subscribe,,,,0,goal,,
20.0,1,unsubscribe,,,,0,,,
21.0,3,insert,d,goal,last #goal,,,,
"""
STUDY = """title = "A handful of people"
topologies = 2
variations = []

[trace]
file = "trace.csv"

[scenario]
time = { join_from_s = 1.0, join_to_s = 3.0, until_s = 40.0 }

[[approaches]]
name = "ls"
settings = { routing = "ondemand" }

[[approaches]]
name = "ls"
label = "one at a time"
settings = { routing = "ondemand", past_matches = 1 }

[grid]
nodes = [8, 9]
"""
GENERATED = """title = "Twelve runs"
topologies = 12
variations = []

[posts.generate]
posts = 80

[trace]
compression = { duration_s = 20.0, first_s = 12.0 }

[scenario]
nodes = 8
time = { join_from_s = 1.0, join_to_s = 3.0, until_s = 40.0 }

[[approaches]]
name = "ls"
settings = { routing = "ondemand" }
"""
"""One that makes its posts and its trace by itself."""


class Finished(NamedTuple):
    """A study that was run by the command, where it is defined, where its results are, and what the terminal showed."""

    file: Path
    out: Path
    shown: str


def write_study(folder: Path) -> Path:
    (folder / "trace.csv").write_text(TRACE)
    (folder / "small.toml").write_text(STUDY)
    return folder / "small.toml"


def contents(out: Path, pattern: str) -> dict[str, bytes]:
    """Files by name; drafts, whose names begin with a dot, come and go while a study runs."""
    found = sorted(path for path in out.glob(pattern) if path.is_file() and not path.parent.name.startswith("."))
    return {str(path.relative_to(out)): path.read_bytes() for path in found}
