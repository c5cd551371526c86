"""Numbers read the same wherever they are told."""

from __future__ import annotations

from math import nan

import pytest

from thyme.study.wording import axis_tick, axis_title, counted, duration, proportion, share, size, span


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.0, "0 ms"), (0.0021, "2.1 ms"), (0.25, "250 ms"), (61.0, "61.0 s"), (3700.0, "1 h 1 min"), (nan, "–")],
)
def test_durations_read_well(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize(
    ("value", "told"), [(1.0, "100%"), (0.99999, ">99.9%"), (0.951, "95.1%"), (0.0, "0.0%"), (nan, "–")]
)
def test_only_all_is_a_hundred_percent(value: float, told: str) -> None:
    assert share(value) == told


@pytest.mark.parametrize(
    ("size_bytes", "told"), [(999.0, "1 kB"), (640_000.0, "640 kB"), (1_250_000.0, "1.2 MB"), (2.5e9, "2,500 MB")]
)
def test_sizes_are_in_kilobytes_or_megabytes(size_bytes: float, told: str) -> None:
    assert size(size_bytes) == told


def test_a_span_of_equals_is_one_and_counts_know_their_plural() -> None:
    assert (span("4 s", "4 s"), span("4 s", "5 s")) == ("4 s", "4 s to 5 s")
    assert [counted(number, "run") for number in (1, 2)] == ["1 run", "2 runs"]
    assert counted(0, "topology", "topologies") == "0 topologies"


@pytest.mark.parametrize(
    ("low", "high", "told"),
    [
        (0.99, 1.01, "about as much"),
        (0.5, 0.8, "20% to 50% less"),
        (1.1, 1.2, "10% to 20% more"),
        (0.67, 2.0, "from 33% less to 2 times as much"),
        (0.97, 1.3, "from 3% less to 30% more"),
        (2.5, 3.0, "2.5 to 3 times as much"),
    ],
)
def test_how_much_something_is_beside_something_else(low: float, high: float, told: str) -> None:
    assert proportion(low, high, 0.02) == told


def test_axes_are_told_in_words_and_shares_in_percent() -> None:
    assert (axis_title("failing"), axis_tick("failing", 0.05)) == ("share of devices that fail", "5%")
    assert (axis_title("speed_mps"), axis_tick("speed_mps", 12.0)) == ("walking speed, m/s", "12")
    assert (axis_title("trace.rates.past_share"), axis_tick("nodes", 1_296)) == ("trace · rates · past share", "1296")
