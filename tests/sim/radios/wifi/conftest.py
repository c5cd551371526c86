"""What ns-3.44 measured, row by row (tests/data/ns3)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

Rows = list[dict[str, str]]
DATA = Path(__file__).parents[3] / "data" / "ns3"


@pytest.fixture(scope="session")
def ns3() -> Callable[..., Rows]:
    """`ns3("calib_ranges", profile="p27")`: the rows of a reference table in which these columns hold."""

    def rows(name: str, **where: object) -> Rows:
        with (DATA / f"{name}.csv").open(newline="") as file:
            found = [r for r in csv.DictReader(file) if all(r[key] == str(value) for key, value in where.items())]
        assert found, f"{name} has no row with {where}"
        return found

    return rows


@pytest.fixture(scope="session")
def topologies() -> Path:
    return DATA
