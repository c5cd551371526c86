"""The other papers' evaluations behind `thyme study --preset`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from thyme.approaches.walks.batch import BatchOptions, run_network
from thyme.model.errors import InputError
from thyme.pipeline.sweep import SweepProgress
from thyme.pipeline.walk_sweep import sweep_walks
from thyme.study.evaluations import EVALUATIONS, run_evaluation


def unwatched(progress: SweepProgress) -> None:
    """Nobody looks."""


def test_walks_swept_on_spark_are_those_of_a_plain_loop() -> None:
    table = sweep_walks(networks=2, draws=1, sizes=[1000])
    assert len(table["depth"]) == 2 * 2 * 20
    plain = run_network(1000, 1, [10], 1, BatchOptions())
    chosen = (table["network"] == 1) & (table["initiators"] == 10) & ~table["pure"]
    assert table["active_nodes"][chosen].tolist() == np.asarray(plain["active_nodes"]).tolist()
    assert table["depth"][chosen].tolist() == np.asarray(plain["depth"]).tolist()


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("walks", {"initiators": 3}, "no key 'initiators'; expected one of networks, draws"),
        ("walks", {"networks": "many"}, "expected a value like 100"),
        ("walks", {"networks": 0}, "expected at least 1"),
        ("walks", {"sizes": [7]}, "sizes has 7; expected some of 1000"),
        ("drip", {"repetitions": 0}, "expected at least 1"),
    ],
)
def test_wrong_settings_are_named(name: str, changes: dict[str, object], said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=said):
        run_evaluation(name, tmp_path, changes, "local[1]", unwatched)


def test_every_paper_has_its_evaluation() -> None:
    assert set(EVALUATIONS) == {"drip", "socialcast", "walks", "thyme-analysis"}
