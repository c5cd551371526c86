"""The tests that docs name are there, so that whoever reads of a promise can run what holds it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
APPROACHES = ROOT / "tests" / "approaches"
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


def functions_of(file: Path) -> set[str]:
    return {one.name for one in ast.parse(file.read_text()).body if isinstance(one, ast.FunctionDef)}


def test_every_test_that_a_page_names_is_there() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {(page.name, file, test) for page in pages for file, test in NAMED.findall(page.read_text())}
    missing = [one for one in sorted(named) if one[2] not in functions_of(APPROACHES / one[1])]
    assert not missing


def test_each_promise_has_a_test() -> None:
    """Number 11 was about hot tags, which are gone."""
    page = (ROOT / "docs" / "lab" / "fuzz.md").read_text()
    rows = re.findall(r"^\| (\d+) \|.*::test_", page, re.MULTILINE)
    assert rows == [str(number) for number in range(1, 21) if number != 11]
