"""The code counts in a run's identity as far as the run can reach it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import thyme
from thyme.approaches.registry import APPROACHES, find_approach
from thyme.pipeline.identity import code_identity
from thyme.pipeline.runs.run import SIMULATION
from thyme.sources import Sources


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the package, to be changed."""
    copy = tmp_path / "thyme"
    shutil.copytree(Path(thyme.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def identities(package: Path) -> dict[str, str]:
    sources = Sources(package)
    return {name: code_identity(SIMULATION, approach.module, sources=sources) for name, approach in APPROACHES.items()}


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before if before[name] != after[name]}


def append(file: Path) -> None:
    file.write_text(file.read_text() + "\nCHANGED = True\n")


def test_a_change_in_one_approach_leaves_runs_of_the_others_valid(package: Path) -> None:
    before = identities(package)
    assert len(set(before.values())) == len(APPROACHES)
    append(package / "approaches" / "walks" / "protocol.py")
    assert changed(before, identities(package)) == {"walks"}


def test_a_change_in_what_all_stand_on_concerns_all(package: Path) -> None:
    before = identities(package)
    append(package / "sim" / "engine.py")
    assert changed(before, identities(package)) == set(APPROACHES)


def test_a_change_above_the_run_concerns_none(package: Path) -> None:
    before = identities(package)
    append(package / "study" / "replay.py")
    append(package / "papers" / "walks" / "batch.py")
    assert changed(before, identities(package)) == set()


def test_a_renamed_entry_is_an_error_and_a_renamed_part_changes_the_identity(package: Path) -> None:
    before = code_identity("thyme.papers.walks.batch", sources=Sources(package))
    walks = package / "papers" / "walks"
    (walks / "random_numbers.py").rename(walks / "draws.py")
    assert code_identity("thyme.papers.walks.batch", sources=Sources(package)) != before
    (walks / "batch.py").rename(walks / "batches.py")
    with pytest.raises(LookupError, match=r"no module 'thyme\.papers\.walks\.batch'"):
        code_identity("thyme.papers.walks.batch", sources=Sources(package))


def test_data_files_count_for_the_modules_beside_them(package: Path) -> None:
    before = code_identity("thyme.study.report.report", sources=Sources(package))
    style = package / "study" / "report" / "report.css"
    style.write_text(style.read_text() + "\n")
    assert code_identity("thyme.study.report.report", sources=Sources(package)) != before


@pytest.mark.parametrize("name", APPROACHES)
def test_every_approach_reaches_its_own_protocol_and_no_other(name: str) -> None:
    reached = Sources(Path(thyme.__file__).parent).reach([SIMULATION, find_approach(name).module])
    folders = {module.split(".")[2] for module in reached if module.startswith("thyme.approaches.")}
    assert folders & APPROACHES.keys() == {name}
