"""A study in a process of its own, which tells its progress as lines of JSON: `python -m thyme.studio.play FILE DIR`.

A process can be stopped at any time; the next one goes on where it was.
"""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from thyme.approaches.registry import with_plain_names
from thyme.model.errors import InputError
from thyme.pipeline.runs.sweep import SweepProgress
from thyme.study.definition import load_study
from thyme.study.stages import StageReport
from thyme.study.study import run_study


class Answer(msgspec.Struct, frozen=True):
    """What a study found, in words."""

    answer: str
    reasons: tuple[str, ...]
    tips: tuple[str, ...]
    warnings: tuple[str, ...]


class ProgressLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of: a stage's state, the progress of the runs, the answer, what was wrong."""

    stage: StageReport | None = None
    sweep: SweepProgress | None = None
    answer: Answer | None = None
    error: str = ""


class _Teller:
    def stage(self, report: StageReport) -> None:
        tell(ProgressLine(stage=report))

    def sweep(self, progress: SweepProgress) -> None:
        tell(ProgressLine(sweep=progress))


def tell(line: ProgressLine) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


def play(file: Path, out: Path) -> int:
    try:
        result = run_study(load_study(file), out, watcher=_Teller())
    except InputError as error:
        tell(ProgressLine(error=str(error)))
        return 2
    headline = result.headline
    tips = tuple(f"If {tip.variation}: {tip.verdict}; {with_plain_names(tip.told)}" for tip in headline.tips)
    tell(ProgressLine(answer=Answer(headline.answer, headline.reasons, tips, (*result.failures, *result.doubts))))
    return 0


if __name__ == "__main__":
    sys.exit(play(Path(sys.argv[1]), Path(sys.argv[2])))
