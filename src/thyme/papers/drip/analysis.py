"""The delay of multi-copy-multi-destination, as DRIP §V-C derives it and as it follows from its own Eq. (1).

The regions of two brokers meet after an exponential time of mean 1/λ. A destination is found by the first of m
copies, so after an exponential time of rate λm, and all l destinations after the largest of l such times: Eq. (1).
Its exact expectation is H_l / (λm), with the harmonic number H_l. The paper expands (1 − e^(−λmt))^l to second order
in e^(−λmt), whose complement integrates to l/(λm) − l(l − 1)/(4λm) = (5l − l²) / (4mλ); printed is (l² + 3l) / (4mλ),
with the sign of the second term lost. The three agree for l = 1; the series is exact for l = 2 too, where the printed
formula is not, and becomes negative from l = 6 on.
"""

from __future__ import annotations

from math import log, pi, sqrt

import msgspec

from thyme.model.errors import InputError


class Delays(msgspec.Struct, frozen=True):
    """The expected delay by each of the three formulas, in the unit of 1/λ."""

    printed: float
    exact: float
    series: float


def printed_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """(l² + 3l) / (4mλ), as the paper prints it."""
    _check(meeting_rate, copies, destinations)
    return (destinations**2 + 3 * destinations) / (4.0 * copies * meeting_rate)


def exact_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """H_l / (λm): the expectation of Eq. (1)."""
    _check(meeting_rate, copies, destinations)
    return sum(1.0 / i for i in range(1, destinations + 1)) / (meeting_rate * copies)


def series_delay(meeting_rate: float, copies: int, destinations: int) -> float:
    """(5l − l²) / (4mλ): what the second-order series integrates to."""
    _check(meeting_rate, copies, destinations)
    return (5 * destinations - destinations**2) / (4.0 * copies * meeting_rate)


def delays(meeting_rate: float, copies: int, destinations: int) -> Delays:
    given = (meeting_rate, copies, destinations)
    return Delays(printed_delay(*given), exact_delay(*given), series_delay(*given))


def meeting_time(grid_nodes: float, brokers: int) -> float:
    """1/λ of §V-C: 0.5 N (0.34 log N − 2 + α / (2α − 1)) steps on a √N × √N grid, with α = 2 √(N / (πk))."""
    if grid_nodes <= 1.0 or brokers < 1:
        raise InputError(f"N is {grid_nodes:g} and k is {brokers}; expected N > 1 and k of at least 1")
    alpha = 2.0 * sqrt(grid_nodes / (pi * brokers))
    if alpha <= 0.5:
        raise InputError(f"α is {alpha:g} with N = {grid_nodes:g} and k = {brokers}; expected α > 1/2: fewer brokers")
    return 0.5 * grid_nodes * (0.34 * log(grid_nodes) - 2.0 + alpha / (2.0 * alpha - 1.0))


def equation_2(grid_nodes: float, brokers: int, copies: int, destinations: int) -> float:
    """Eq. (2) as printed: (l² + 3l) / (8m) · N (0.34 log N − 2 + α / (2α − 1)), in steps of the grid."""
    return printed_delay(1.0 / meeting_time(grid_nodes, brokers), copies, destinations)


def _check(meeting_rate: float, copies: int, destinations: int) -> None:
    if meeting_rate <= 0.0:
        raise InputError(f"λ is {meeting_rate:g}; expected a positive rate of meetings")
    if copies < 1 or destinations < 1:
        raise InputError(f"m is {copies} and l is {destinations}; expected at least 1 of each")
