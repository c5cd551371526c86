"""Runs too short for a job of their own: played some at a time, kept as soon as their job ends, retried alone.

A run that fails is tried once more in a job of its own, so that one that takes its whole process along fails alone. How
far things are is told after each job.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

from thyme.pipeline.runs.sweep import MAX_ATTEMPTS, Outcome, SweepProgress

Run = TypeVar("Run", bound=Hashable)
Found = TypeVar("Found")


def play_in_jobs(
    todo: Sequence[Run],
    total: int,
    per_job: Callable[[], int],
    play: Callable[[Sequence[Run]], Iterable[tuple[Run, Found | Outcome]]],
    keep: Callable[[Run, Found], None],
    watch: Callable[[SweepProgress], None],
) -> dict[Run, Outcome]:
    """Play what is to do of `total` runs, and give those that failed. `play` answers for each run of a job with what it
    found, or with a failed outcome; `per_job` is asked only if there is something to do."""
    failed: dict[Run, Outcome] = {}
    reused, started_s = total - len(todo), time.monotonic()

    def tell(left: int) -> None:
        ended = len(todo) - left
        left_s = (time.monotonic() - started_s) / ended * left if ended else None
        share = (reused + ended) / total if total else 1.0
        watch(SweepProgress(total, ended - len(failed), reused, len(failed), min(1, left), left_s, share))

    tell(len(todo))
    left = list(todo)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        size = per_job() if left and attempt == 1 else 1
        for first in range(0, len(left), size):
            for run, answer in play(left[first : first + size]):
                if isinstance(answer, Outcome):
                    failed[run] = Outcome(answer.run, "failed", answer.seconds, attempt, answer.error)
                else:
                    failed.pop(run, None)
                    keep(run, answer)
            tell(max(0, len(left) - first - size))
        left = list(failed)
    return failed
