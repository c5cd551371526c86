"""How sure a number is that several runs gave: an interval between two of the runs themselves.

Runs are few and their numbers are skewed, so an interval by Student's quantile can reach below zero seconds or beyond
the end of a run. This one cannot: it goes from the k-th smallest run to the k-th largest, with the largest k for which
it still holds the median of all such runs with CONFIDENCE, whatever their distribution (the sign test turned round).
With fewer than MIN_SURE_RUNS even the whole span is not that sure, and the span is what is told.
"""

from __future__ import annotations

from functools import cache
from math import comb

CONFIDENCE = 0.95
MIN_SURE_RUNS = 6
"""The fewest runs whose whole span holds the median with CONFIDENCE."""
MAX_TABLED_RUNS = 200
"""From here on the share of runs that is left out on each side stays as it is."""


@cache
def rank_of(runs: int) -> int:
    """The k of the interval, from 1."""
    tabled = min(runs, MAX_TABLED_RUNS)
    below, k = 1, 1  # below: how many of the 2**n ways have fewer than k runs under the median
    while k <= tabled // 2 and below + comb(tabled, k) <= (1.0 - CONFIDENCE) / 2.0 * 2**tabled:
        below += comb(tabled, k)
        k += 1
    return k if runs == tabled else max(1, k * runs // tabled)
