"""Compiled code follows its sources: a change in any compiled file is seen, whichever file uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.caching import NullCache

import thyme
from thyme.numba_code import MAX_KEPT, compiled_modules, forget_old
from thyme.sources import own_sources

PACKAGE = Path(thyme.__file__).parent
DRAW = "from thyme.papers.walks.graph import draw_graph; print(draw_graph(20, 0, 1, 0.9).x.tolist())"
"""Placement is compiled in graph.py; its chances are compiled in random_numbers.py."""
THROW = "import numpy; from thyme.papers.walks.random_numbers import unit; print(unit(numpy.zeros(1, numpy.uint64)))"


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """A folder with a copy of what drawing a network needs, and a cache of its own."""
    sources = own_sources()
    for module in ("thyme", *sources.reach(["thyme.papers.walks.graph"])):
        here = sources.file(module).relative_to(PACKAGE.parent)
        (tmp_path / here).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE.parent / here, tmp_path / here)
    return tmp_path


def drawn(workshop: Path, program: str = DRAW) -> str:
    paths = {"PYTHONPATH": str(workshop), "XDG_CACHE_HOME": str(workshop / "cache")}
    command = [sys.executable, "-B", "-c", program]
    done = subprocess.run(command, env=os.environ | paths, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept(workshop: Path) -> list[Path]:
    return sorted((workshop / "cache" / "thyme" / "compiled").glob("*/*.nbc"))


def test_a_change_in_one_compiled_file_is_seen_by_code_compiled_in_another(workshop: Path) -> None:
    before = drawn(workshop)
    files = {file: file.stat().st_mtime_ns for file in kept(workshop)}
    assert files
    assert drawn(workshop) == before
    assert {file: file.stat().st_mtime_ns for file in kept(workshop)} == files, "the second process compiled again"

    numbers = workshop / "thyme" / "papers" / "walks" / "random_numbers.py"
    text = numbers.read_text()
    changed = text.replace("0x9E3779B97F4A7C15", "0x9E3779B97F4A7C17")
    assert changed != text
    numbers.write_text(changed)
    after = drawn(workshop)
    assert after != before
    assert drawn(workshop) == after

    numbers.write_text(text)
    assert drawn(workshop) == before


def test_without_a_folder_to_write_functions_are_compiled_all_the_same(workshop: Path) -> None:
    for name in ("cache", "thyme/__pycache__"):
        (workshop / name).write_text("a file where a folder is wanted")
    assert drawn(workshop, THROW).startswith("0.")


def test_every_module_with_compiled_functions_counts_and_so_do_those_that_it_uses() -> None:
    counted = compiled_modules()
    assert {"thyme.compiled", "thyme.sim.radios.wifi.state", "thyme.papers.walks.costs"} <= set(counted)
    for module in own_sources().modules:
        if "from thyme.compiled import" in own_sources().file(module).read_text():
            assert module in counted


def test_code_not_used_for_longest_is_forgotten(tmp_path: Path) -> None:
    for number in range(MAX_KEPT + 3):
        folder = tmp_path / f"digest{number}"
        folder.mkdir()
        (folder / "code.nbc").write_bytes(b"code")
        os.utime(folder, (1000 + number, 1000 + number))
    forget_old(tmp_path)
    assert {folder.name for folder in tmp_path.iterdir()} == {f"digest{number}" for number in range(3, MAX_KEPT + 3)}


@pytest.mark.compiled
def test_a_part_of_compiled_functions_is_made_once_for_all_constants_and_refuses_python() -> None:
    from thyme.compiled import entry, inner

    @inner
    def doubled(value: int) -> int:
        return 2 * value

    @entry
    def added(value: int) -> int:
        return doubled(1) + doubled(2) + doubled(value)

    added._cache = NullCache()  # type: ignore[attr-defined]
    assert added(3) == 12
    assert len(doubled.signatures) == 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="doubled is a part of compiled functions"):
        doubled(1)


@pytest.mark.compiled
def test_tables_behind_one_pointer_are_read_and_written_in_place() -> None:
    from thyme.compiled import entry, inner, opener

    numbers, rows = np.arange(3), np.zeros(2, np.dtype([("small", "i1"), ("price", "f8")]))
    opened = opener({"number": numbers.dtype, "row": rows.dtype})

    @inner
    def put(tables: Any, at: int) -> None:
        tables.row[at].price = 0.5 * tables.number[2]
        tables.row[0] = tables.row[at]
        tables.number[0] = len(tables.number)

    @entry
    def fill(book: int) -> int:
        tables = opened(book)
        put(tables, 1)
        return len(tables.row) + len(tables.number)

    fill._cache = NullCache()  # type: ignore[attr-defined]
    book = np.array([[table.ctypes.data, len(table)] for table in (numbers, rows)])
    assert fill(book.ctypes.data) == 5
    assert rows["price"].tolist() == [1.0, 1.0]
    assert numbers.tolist() == [3, 1, 2]


def test_the_tables_of_a_radio_have_a_short_name_in_compiled_code() -> None:
    """It is part of the name of every function that is given them, and LLVM reads it at every call."""
    from numba import types

    from thyme.compiled import opener

    rows = {f"table{i}": np.dtype([(f"column{k}", np.int64) for k in range(20)]) for i in range(20)}
    others = {**rows, "table3": np.dtype([("another", np.int64)])}
    names = [str(opener(tables)._defn(None, types.int64)[0].return_type) for tables in (rows, rows, others)]
    assert names[0] == names[1] != names[2]
    assert len(names[0]) < 40
