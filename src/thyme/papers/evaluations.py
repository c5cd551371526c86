"""The other papers' evaluations, as presets of `thyme study`: DRIP, SocialCast, walks, and the analysis and the
devices of Thyme.

They ask other questions than a study of posts does, on workloads of their own, and each has figures and claims of its
own; what they share is how they are called (a name, a folder, a few settings) and what they leave: `metrics.csv`,
figures and a report (`thyme.papers.evaluated`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from thyme.model.settings import SettingsSource, to_record
from thyme.papers.evaluated import Evaluated, PaperEvaluation, write_evaluated
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.folder import take_folder


class Evaluation(msgspec.Struct, frozen=True):
    title: str
    module: str
    name: str
    """Of its record there (`PaperEvaluation`): only the one that is asked for is imported."""

    def record(self) -> type[PaperEvaluation]:
        found: type[PaperEvaluation] = getattr(import_module(f"thyme.papers.{self.module}"), self.name)
        return found


EVALUATIONS: dict[str, Evaluation] = {
    "drip": Evaluation(
        "DRIP: broker coverage and delivery delay over the number of brokers (Figures 3 and 4)",
        "drip.evaluation",
        "DripEvaluation",
    ),
    "socialcast": Evaluation(
        "SocialCast: delivery, traffic, latency, hops and buffers (Figures 3 to 10)",
        "socialcast.evaluation",
        "SocialCastEvaluation",
    ),
    "walks": Evaluation(
        "Directional and pure random walks: active nodes and depth (Figures 8 to 10)",
        "walks.evaluation",
        "WalksEvaluation",
    ),
    "thyme-analysis": Evaluation(
        "Thyme's analytical study beside message counts measured in simulated crowds (§8)",
        "thyme.evaluation",
        "AnalysisEvaluation",
    ),
    "devices": Evaluation(
        "Thyme on devices, as live nodes: latency, retrieval, modelled energy (Figures 16 to 21)",
        "thyme.devices.evaluation",
        "DevicesEvaluation",
    ),
}


def run_evaluation(
    name: str, out: Path, changes: Mapping[str, Any], master: str, watch: OnProgress, fresh: bool = False
) -> Evaluated:
    """Run one of the evaluations; unknown keys and values of the wrong type are refused. The folder must be new, empty
    or that of a study; `fresh` removes earlier results first."""
    entry = EVALUATIONS[name]
    evaluation = to_record(changes, entry.record(), SettingsSource("--set", changes=frozenset(changes)))
    settings = msgspec.to_builtins(evaluation)
    take_folder(out, {"evaluation": name, "settings": settings}, fresh)
    began_s = time.monotonic()
    evaluated = evaluation.run(out, master, watch)
    write_evaluated(name, entry.title, evaluated, settings, time.monotonic() - began_s, out)
    return evaluated
