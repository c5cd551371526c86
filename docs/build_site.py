"""Build the documentation site: `python docs/build_site.py OUT` writes OUT/site (`make docs`).

Pages are copied to OUT/docs, beside the reference pages that are built from the code: the command line, the keys of
scenarios and studies, the settings of approaches, the datasets, the decision map and the Python API, whose docstrings
mkdocstrings fills in. Zensical then builds the site. It stops at a broken link, a missing anchor or a missing page.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.cli import get_docs_for_click

import thyme
from thyme.approaches.registry import APPROACHES
from thyme.cli.main import whole_app
from thyme.model.settings import keys_of
from thyme.model.settings.writing import markdown_keys
from thyme.pipeline import schemas
from thyme.sim.scenario_reference import scenario_page
from thyme.study.decision_page import decision_page
from thyme.study.study_reference import study_page

DOCS = Path(__file__).parent

SETTINGS_HEAD = """\
# Settings of each approach

These keys go under `[settings]` of a scenario, or under `settings` of one of a study's `[[approaches]]`. This page is
built from the option records of the code.
"""
API_HEAD = """\
# Python API

The names that `import thyme` offers. [Thyme from Python](../guides/python.md) shows them in use. This page is built
from the docstrings of the code.
"""


DATASETS: dict[str, tuple[str, dict[str, str]]] = {
    "POSTS": (
        "One row per post, in folders by day.",
        {
            "id": "the post's identifier; posts with the same one are merged",
            "author": "who wrote it",
            "at": "when, in UTC",
            "text": "its text",
            "tags": "its hashtags, in lower case, without `#`",
        },
    ),
    "TRACE": (
        "One row per operation of a user, in order of time.",
        {
            "operation": "number of the operation, from 0",
            "at_s": "seconds since the run began",
            "node": "the user's node",
            "kind": "`insert`, `delete`, `subscribe`, `unsubscribe`, `retrieve` or `more`",
            "oid": "the object's name (insert, delete)",
            "tags": "the object's tags",
            "text": "the object's content, if it is a text",
            "size_bytes": "the content's size, if it is made up; 0 with a text",
            "summary_bytes": "size of the summary that travels with notifications",
            "sid": "the subscription's number; -1 without one",
            "query": "the subscription's query",
            "start_s": "start of the subscription's time frame; null: since ever",
            "end_s": "its end, or when an object expires; null: never",
        },
    ),
    "EXPECTED": (
        "One row per subscription of a trace: the ground truth without churn.",
        {
            "trace": "the trace",
            "subscription": "the subscription, as `number@node`",
            "expected": "notifications that a perfect execution sends",
        },
    ),
    "EVENTS": (
        "One row per event of a run. Traffic is summed per node, kind, name and reason.",
        {
            "run": "the run; not in the log of a live node",
            "at_s": "seconds since the run began; of a live node, the crowd's time",
            "node": "where it happened",
            "kind": "`issued`, `succeeded`, `failed`, `notified`, `stored`, `copied`, `moved`, `joined`, `left`, "
            "`energy`, `sampled`, or of traffic: `sent`, `received`, `forwarded`, `control`, `dropped`, `phy …`, "
            "`retransmitted`, `given up`",
            "name": "the operation's kind, the message, the radio state or the figure",
            "operation": "the operation's number; -1 without one",
            "object": "the object, as `name@node`",
            "subscription": "the subscription, as `number@node`",
            "peer": "another node, or the new cell of `moved`; -1 without one",
            "count": "frames, stored items, a notification's hops, milliseconds of `energy`, or `moved`'s old cell",
            "size_bytes": "bytes of all of these",
            "value": "latency or delay in seconds, joules, or the sampled figure",
            "reason": "why an operation failed, a frame was dropped or a node left",
        },
    ),
    "METRICS": (
        "One row per run and metric. `thyme study` writes them per point, with mean and range, as `metrics.csv`, too.",
        {"run": "the run", "metric": "name of the metric", "value": "its value"},
    ),
}
"""Of each dataset, what a row is and what its columns mean."""


def settings_page() -> str:
    parts = [
        f'## {one.title}\n\n`approach = "{name}"`: {one.summary}.\n\n{markdown_keys(keys_of(one.settings))}\n'
        for name, one in APPROACHES.items()
    ]
    return "\n".join([SETTINGS_HEAD, *parts])


def describe_whole(command: Any) -> None:
    """Give every command its first sentence as the text in lists, where it would be cut off after 45 characters."""
    for one in getattr(command, "commands", {}).values():
        one.short_help = " ".join((one.help or "").split("\n\n")[0].split())
        describe_whole(one)


def command_page() -> str:
    command = typer.main.get_command(whole_app())
    describe_whole(command)
    page = get_docs_for_click(obj=command, ctx=typer.Context(command), name="thyme")
    return page.replace("# `thyme`", "# Command line", 1)


def api_page() -> str:
    values = [getattr(thyme, name) for name in sorted(thyme.__all__, key=str.lower)]
    return "\n\n".join([API_HEAD, *(f"::: {one.__module__}.{one.__name__}" for one in values)])


def datasets_page() -> str:
    head = "# Datasets\n\nThe columns of each Parquet dataset, as `thyme.pipeline.schemas` declares them.\n"
    parts = []
    for name, (about, meanings) in DATASETS.items():
        fields = getattr(schemas, name).fields
        rows = [f"| `{field.name}` | `{field.dataType.simpleString()}` | {meanings[field.name]} |" for field in fields]
        parts.append(
            "\n".join(
                [f"## {name.capitalize()}\n", about, "", "| column | type | meaning |", "|---|---|---|", *rows, ""]
            )
        )
    return "\n".join([head, *parts])


GENERATED: dict[str, Callable[[], str]] = {
    "commands": command_page,
    "datasets": datasets_page,
    "decision": decision_page,
    "python": api_page,
    "scenarios": scenario_page,
    "settings": settings_page,
    "studies": study_page,
}
"""Pages of the reference that are built from the code."""
KEYS = re.compile(r"^\| key \| default \| type \| meaning \|\n(?:\|.*\n?)+", re.MULTILINE)


def marked_keys(page: str) -> str:
    """The page with its tables of keys in a class of their own: a phone shows a key above its meaning (site.css)."""
    return KEYS.sub(lambda table: f'<div class="keys" markdown>\n\n{table.group().rstrip()}\n\n</div>\n', page)


def write_sources(out: Path) -> None:
    """All pages, the generated ones among them, and the site's configuration."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(DOCS, out / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__", "mkdocs.yml"))
    shutil.copy(DOCS / "mkdocs.yml", out)
    for name, page in GENERATED.items():
        (out / "docs" / "reference" / f"{name}.md").write_text(marked_keys(page()), "utf-8")


def run_zensical(out: Path) -> str:
    """Build OUT/site from OUT/docs; what was wrong, or nothing."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def main() -> None:
    out = Path(sys.argv[1])
    write_sources(out)
    if wrong := run_zensical(out):
        sys.exit(wrong)
    print(f"written to {out / 'site' / 'index.html'}")  # noqa: T201


if __name__ == "__main__":
    main()
