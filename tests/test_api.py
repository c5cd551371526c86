"""The front door: light to open, and the programs of docs/guides/python.md print what the page says.

The one about studies needs Spark, and is run by `tests/study/test_spark_page.py`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import thyme

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guides" / "python.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
PATIENCE_S = 300.0
HEAVY = ("numpy", "numba", "pyarrow", "pyspark", "scipy", "pandas", "matplotlib", "msgspec", "asyncio")


def run(program: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_thyme_loads_nothing_else(tmp_path: Path) -> None:
    program = "import sys, thyme\nprint(*(name for name in sys.modules if name.startswith('thyme.')), *sys.modules)"
    loaded = run(program, tmp_path).split()
    assert "thyme" in loaded
    assert not [name for name in loaded if name.startswith("thyme.") or name in HEAVY]


def test_every_name_of_the_door_is_there_typed_and_described() -> None:
    stub = ast.parse((ROOT / "src" / "thyme" / "__init__.pyi").read_text())
    imported = {
        alias.asname or alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == set(thyme.__all__) <= set(dir(thyme))
    for name in thyme.__all__:
        assert getattr(thyme, name) is not None
        assert f"`{name}`" in PAGE, f"docs/guides/python.md does not name {name}"
    assert thyme.Study.__name__ == "StudyDefinition"


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'thyme' has no attribute 'Nodes'"):
        _ = thyme.Nodes  # type: ignore[attr-defined]


def test_the_page_says_what_each_program_prints() -> None:
    assert PAGE.count("```python") == len(PROGRAMS)
    assert ["run_study" in program for program, _ in PROGRAMS] == [False, False, False, False, False, False, True]


@pytest.mark.parametrize(
    ("program", "prints"), PROGRAMS[:-1], ids=["simulation", "mistake", "live", "sensor", "chat", "script"]
)
def test_the_programs_print_what_the_page_says(program: str, prints: str, tmp_path: Path) -> None:
    assert run(program, tmp_path) == prints
