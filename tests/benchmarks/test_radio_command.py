"""`python -m benchmarks radio-case CASE` prints one case's figures as JSON; the benchmark measures what it says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.ns3.peer import Ns3Figures
from benchmarks.radio.beside_ns3 import DsdvRow, bench_radio, print_radio
from benchmarks.radio.command import radio_app
from thyme.model.errors import InputError

TOPOLOGY = Path(__file__).parents[1] / "data" / "ns3" / "topology_n16_run1.csv"
CASES = [
    ("reception --distance 100 --payload 1000 --frames 200 --profile p27", "reception_ratio"),
    ("carrier-sense --distance 150 --profile p27", "busy_fraction"),
    ("saturation --senders 2 --seconds 0.5 --rts-threshold 0", "goodput_mbps"),
    ("broadcast --nodes 5 --seconds 2 --arrivals poisson --broadcast-mode dsss1", "reception_ratio"),
    ("hidden --kind broadcast --rate 100 --seconds 2", "delivery"),
    ("chain --hops 3 --hop-length 80 --packets 5", "mean_latency_s"),
    (f"beacons --topology {TOPOLOGY} --seconds 5", "phy_tx_frames"),
]


@pytest.mark.parametrize(("arguments", "figure"), CASES)
def test_a_case_prints_its_figures(arguments: str, figure: str) -> None:
    result = CliRunner().invoke(radio_app, arguments.split(), catch_exceptions=False)
    figures = json.loads(result.stdout)
    assert figures[figure] > 0
    assert figures["cpu_s"] > 0


def test_the_same_seed_gives_the_same_figures() -> None:
    arguments = ["hidden", "--rate", "200", "--seconds", "2", "--seed", "5"]
    first, second = (json.loads(CliRunner().invoke(radio_app, arguments).stdout) for _ in range(2))
    del first["cpu_s"], second["cpu_s"]
    assert first == second


def test_the_link_is_changed_by_settings() -> None:
    arguments = ["saturation", "--senders", "5", "--seconds", "1"]
    wide, narrow = (
        json.loads(CliRunner().invoke(radio_app, [*arguments, "--set", f"cw_min={window}"]).stdout)
        for window in (15, 1)
    )
    assert wide["data_tx"] != narrow["data_tx"]
    with pytest.raises(InputError, match=r"--set: there is no key 'cw_mim'; .*did you mean cw_min"):
        CliRunner().invoke(radio_app, [*arguments, "--set", "cw_mim=3"], catch_exceptions=False)


def test_a_topology_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no topology at"):
        CliRunner().invoke(radio_app, ["beacons", "--topology", str(tmp_path / "none.csv")], catch_exceptions=False)


def test_a_topology_with_wrong_columns_is_said(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="line 1: expected the header node,x_m,y_m"):
        CliRunner().invoke(radio_app, ["beacons", "--topology", str(path)], catch_exceptions=False)


def test_the_benchmark_labels_where_the_other_figures_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bench = bench_radio((36,), (36, 64), (50, 100), seconds=3.0, dsdv_seconds=3.0, frames=200, profiles=("def",))
    (row,) = bench.beacons
    assert row.ns3.source.startswith("reference table (720 s)")
    assert not math.isnan(row.ns3.cpu_s)
    routed, without_reference = bench.dsdv
    assert (routed.ns3.cpu_s, routed.ns3.frames) == (44.653, 69_272)
    assert routed.ns3.source == "reference table (720 s), not this run"
    assert math.isnan(without_reference.ns3.cpu_s)
    assert without_reference.ns3.source == "not measured"
    assert routed.frames > 36
    assert [size.nodes for size in bench.sizes] == [50, 100]
    console = Console(record=True, width=80)
    print_radio(bench, console)
    text = console.export_text()
    assert "36 nodes: reference table (720 s), not this run" in text
    assert "64 nodes: not measured" in text
    assert "69,272" in text
    assert "nan" not in text
    assert "…" not in text


def test_the_ratio_is_of_cpu_time_per_frame() -> None:
    row = DsdvRow(36, 180.0, frames=1_000, cpu_s=0.5, ns3=Ns3Figures(cpu_s=20.0, frames=2_000, source="made up"))
    assert row.ratio == pytest.approx(20.0)


def test_an_interpreter_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no interpreter"):
        bench_radio(beacon_nodes=(), dsdv_nodes=(), sizes=(), ns3_python=tmp_path / "python")
