"""Laws of the error models and the frame durations."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thyme.compiled import tried
from thyme.sim.radios.wifi.error_model import NIST, TABLE, chunk_success
from thyme.sim.radios.wifi.timing import DSSS1, OFDM6, frame_ns


@tried
def chance(model: int, mode: int, snr: float, length_ns: int) -> float:
    return chunk_success(model, mode, snr, length_ns)


@tried
def duration_ns(mode: int, size_bytes: int) -> int:
    return frame_ns(mode, size_bytes)


MODELS = [(NIST, OFDM6), (TABLE, OFDM6), (NIST, DSSS1)]


@settings(max_examples=100)
@given(st.sampled_from(MODELS), st.floats(0.01, 30.0), st.floats(0.01, 30.0), st.integers(1_000, 3_000_000))
def test_a_better_signal_is_never_decoded_worse(
    model: tuple[int, int], snr: float, other: float, length_ns: int
) -> None:
    low, high = sorted((snr, other))
    assert chance(*model, low, length_ns) <= chance(*model, high, length_ns) + 1e-12


@settings(max_examples=100)
@given(st.sampled_from([NIST]), st.floats(0.5, 5.0), st.integers(1_000, 1_000_000), st.integers(1_000, 1_000_000))
def test_a_frame_is_the_product_of_its_chunks(model: int, snr: float, first_ns: int, second_ns: int) -> None:
    whole = chance(model, OFDM6, snr, first_ns + second_ns)
    parts = chance(model, OFDM6, snr, first_ns) * chance(model, OFDM6, snr, second_ns)
    assert whole == pytest.approx(parts, abs=1e-9)


def test_durations_are_those_of_the_standard() -> None:
    assert duration_ns(OFDM6, 14) == 50_000  # ACK
    assert duration_ns(OFDM6, 20) == 58_000  # RTS
    assert duration_ns(OFDM6, 264) == 382_000
    assert duration_ns(DSSS1, 164) == 192_000 + 1_312_000
