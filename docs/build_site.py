"""Build the documentation site: `python docs/build_site.py OUT` writes OUT/site (`make docs`).

Pages are copied to OUT/docs, beside the reference pages that are built from the code: the command line, the keys of
scenarios and studies, the settings of approaches, the datasets, the decision map and the Python API, whose docstrings
mkdocstrings fills in. Zensical then builds the site. It stops at a broken link, a missing anchor or a missing page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

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


def settings_page() -> str:
    parts = [
        f'## {one.title}\n\n`approach = "{name}"`: {one.summary}.\n\n{markdown_keys(keys_of(one.settings))}\n'
        for name, one in APPROACHES.items()
    ]
    return "\n".join([SETTINGS_HEAD, *parts])


def command_page() -> str:
    command = typer.main.get_command(whole_app())
    page = get_docs_for_click(obj=command, ctx=typer.Context(command), name="thyme")
    return page.replace("# `thyme`", "# Command line", 1)


def api_page() -> str:
    values = [getattr(thyme, name) for name in sorted(thyme.__all__, key=str.lower)]
    return "\n\n".join([API_HEAD, *(f"::: {one.__module__}.{one.__name__}" for one in values)])


def datasets_page() -> str:
    head = "# Datasets\n\nThe columns of each Parquet dataset, as `thyme.pipeline.schemas` declares them.\n"
    parts = []
    for name in ("POSTS", "TRACE", "EXPECTED", "EVENTS", "METRICS"):
        fields = getattr(schemas, name).fields
        rows = [f"| `{field.name}` | `{field.dataType.simpleString()}` |" for field in fields]
        parts.append("\n".join([f"## {name.capitalize()}\n", "| column | type |", "|---|---|", *rows, ""]))
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


def write_sources(out: Path) -> None:
    """All pages, the generated ones among them, and the site's configuration."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(DOCS, out / "docs", ignore=shutil.ignore_patterns("*.py", "__pycache__", "mkdocs.yml"))
    shutil.copy(DOCS / "mkdocs.yml", out)
    for name, page in GENERATED.items():
        (out / "docs" / "reference" / f"{name}.md").write_text(page(), "utf-8")


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
