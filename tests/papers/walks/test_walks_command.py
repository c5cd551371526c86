"""`thyme walks` prints a summary; `python -m benchmarks walks` measures every size and kind."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from benchmarks.walks import bench_walks, render
from thyme.cli.walks import walks
from thyme.model.errors import InputError
from thyme.papers.walks.batch import run_point

app = typer.Typer()
app.command()(walks)


def test_the_summary_is_json_with_mean_and_deviation_of_each_measure() -> None:
    done = CliRunner().invoke(app, ["--nodes", "1000", "--initiators", "5", "--networks", "3", "--seed", "4"])
    assert done.exit_code == 0
    printed = json.loads(done.stdout)
    columns = run_point(1000, 5, False, networks=3, draws=1, seed=4)
    for measure in ("active_nodes", "visited_nodes", "hops", "depth"):
        assert printed[measure]["mean"] == pytest.approx(columns[measure].mean())
        assert printed[measure]["deviation"] == pytest.approx(columns[measure].std())


def test_options_reach_the_walks() -> None:
    arguments = ["--networks", "2", "--reading", "looks-around,each-meets", "--set", "walk.method=second"]
    printed = json.loads(CliRunner().invoke(app, [*arguments, "--set", "walk.branches=2"]).stdout)
    assert printed["reading"] == "each-meets,looks-around"
    assert printed["method"] == "second"
    assert printed["branches"] == 2
    pure = json.loads(CliRunner().invoke(app, ["--networks", "2", "--pure"]).stdout)
    assert pure["active_nodes"]["mean"] > printed["active_nodes"]["mean"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reading", "upside-down"], "no answer called 'upside-down'"),
        (["--set", "walk.method=fastest"], 'walk.method is "fastest"'),
        (["--seed", "-1"], "seed is -1"),
        (["--set", "walk.alfa=2"], "there is no key 'walk.alfa'"),
        (
            ["--nodes", "50", "--set", "max_graph_draws=20"],
            "radius 0.05 cannot connect 50 nodes: none of 20",
        ),
    ],
)
def test_a_broken_bound_is_named(arguments: list[str], said: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)


def test_the_benchmark_covers_all_sizes_and_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    rows = bench_walks(networks=1)
    assert [(row.nodes, row.kind) for row in rows] == [(n, k) for n in (1000, 2000, 3000) for k in ("DRW", "PRW")]
    assert all(row.networks_per_s > 0 and row.walks_per_s > row.overlays_per_s > 0 for row in rows)
    render(rows)
    assert "126,000 overlays" in capsys.readouterr().out
