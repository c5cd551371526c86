"""The tests, modules and packages that docs name exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
APPROACHES = ROOT / "tests" / "approaches"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")
MODULE = re.compile(r"`([\w/]+\.py)`")
OTHERS = {"quiet.py": "the reader's own", "thyme_submit.py": "made by `make spark-archive`"}
"""Modules that pages name and the repository does not have."""


def functions_of(file: Path) -> set[str]:
    return {one.name for one in ast.parse(file.read_text()).body if isinstance(one, ast.FunctionDef)}


def test_every_test_that_a_page_names_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {(page.name, file, test) for page in pages for file, test in NAMED.findall(page.read_text())}
    missing = [one for one in sorted(named) if one[2] not in functions_of(APPROACHES / one[1])]
    assert not missing


def test_every_module_that_a_page_names_is_there() -> None:
    """The lab's pages belong to the code of their time."""
    pages = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "lab" not in page.parts)]
    named = {(page.name, module) for page in pages for module in MODULE.findall(page.read_text())}
    there = [f"/{file}" for folder in ("src", "tests", "benchmarks") for file in (ROOT / folder).rglob("*.py")]
    missing = [one for one in sorted(named) if not any(file.endswith(f"/{one[1]}") for file in there)]
    assert {module for _, module in missing} == set(OTHERS)


def test_the_packages_of_the_architecture_are_there() -> None:
    rows = re.findall(r"^\| `(\w+)/` \|(.*)", (ROOT / "ARCHITECTURE.md").read_text(), re.MULTILINE)
    assert len(rows) > 10
    packages = [(package, inner) for package, row in rows for inner in re.findall(r"`(\w+)/`", row)]
    there = {package: {folder.name for folder in (ROOT / "src/thyme" / package).rglob("*")} for package, _ in rows}
    assert [one for one in packages if one[1] not in there[one[0]]] == []


def test_each_promise_has_a_test() -> None:
    """Number 11 was about hot tags, which are gone."""
    page = (ROOT / "docs" / "lab" / "fuzz.md").read_text()
    rows = re.findall(r"^\| (\d+) \|.*::test_", page, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 21) if number != 11]
