"""The other papers' evaluations, as presets of `thyme study`: DRIP, SocialCast, walks, and the analysis and the
devices of Thyme.

They ask other questions than a study of posts does, on workloads of their own, and each has figures and claims of its
own; what they share is how they are called (a name, a folder, a few settings) and what they leave: `metrics.csv`,
figures and a report (`thyme.papers.evaluated`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from thyme.model.errors import InputError
from thyme.papers.evaluated import Evaluated, write_evaluated
from thyme.pipeline.runs.sweep import OnProgress
from thyme.study.folder import RUNS, take_folder

MIN_ANALYSED = 4
"""Nodes of the smallest crowd whose messages are counted."""


SOCIAL_READING = {
    "memory_ids": 100,
    "ttl_hops": 10,
    "drift": 0.0003,
    "error_bound": 0.5,
    "handover": "link",
    "identifiers": "message",
    "networks": "each",
}
"""What the paper leaves open, as the default reading has it; a key that is given goes before a named reading's."""


class Evaluation(msgspec.Struct, frozen=True):
    """`settings` are its keys for `--set`, with their defaults."""

    title: str
    settings: dict[str, Any]
    run: Callable[[Path, dict[str, Any], str, OnProgress], Evaluated]


def _drip(out: Path, settings: dict[str, Any], master: str, watch: OnProgress) -> Evaluated:
    from thyme.papers.drip.evaluation import run_evaluation

    return run_evaluation(
        out, settings["repetitions"], settings["figures"], float(settings["duration_s"]), master, watch,
        settings["passing"], settings["radio"], float(settings["detectors"]),
        float(settings["events_per_ability"]),
    )  # fmt: skip


def _socialcast(out: Path, settings: dict[str, Any], master: str, watch: OnProgress) -> Evaluated:
    from thyme.papers.socialcast.evaluation import run_evaluation
    from thyme.papers.socialcast.points import READINGS

    named = settings["reading"]
    if named not in READINGS:
        raise InputError(f"reading is {named!r}; expected one of {', '.join(READINGS)}")
    changed = {key: settings[key] for key in SOCIAL_READING if settings[key] != SOCIAL_READING[key]}
    for key, expected in (("identifiers", ("message", "copy")), ("networks", ("each", "one"))):
        if settings[key] not in expected:
            raise InputError(f"{key} is {settings[key]!r}; expected one of {', '.join(expected)}")
    reading = msgspec.structs.replace(READINGS[named], **changed)
    return run_evaluation(
        out, settings["repetitions"], settings["figures"], reading, master, settings["first_seed"], watch
    )  # fmt: skip


def _walks(out: Path, settings: dict[str, Any], master: str, watch: OnProgress) -> Evaluated:
    from thyme.papers.walks.batch import PAPER_INITIATORS, BatchOptions, Columns
    from thyme.papers.walks.evaluation import compare_readings, compared_counts, write_evaluation, write_readings
    from thyme.papers.walks.readings import WalkOptions, parse_reading
    from thyme.papers.walks.sweep import sweep_walks
    from thyme.pipeline.spark.lazy_session import LazySession

    sizes, networks, draws = settings["sizes"], settings["networks"], settings["draws"]
    wrong = [size for size in sizes if size not in PAPER_INITIATORS]
    if wrong or not sizes:
        raise InputError(
            f"sizes has {wrong[0] if wrong else 'nothing'}; expected some of {', '.join(map(str, PAPER_INITIATORS))}"
        )
    walk = WalkOptions(method=settings["method"], branches=settings["branches"])
    batch = BatchOptions(seed=settings["seed"], walk=walk, reading=parse_reading(settings["reading"]))
    runs = out / RUNS
    if not settings["compare"]:
        counts = {nodes: PAPER_INITIATORS[nodes] for nodes in sizes}
        return write_evaluation(sweep_walks(networks, draws, runs, counts, batch, master, watch), out)
    if batch != BatchOptions(seed=batch.seed):
        raise InputError(
            "compare=true tries every reading and method by itself: leave out reading, method and branches"
        )

    def play(variant: BatchOptions) -> Columns:
        swept = sweep_walks(networks, draws, runs, compared_counts(sizes), variant, master, watch)
        if swept.failed:
            raise InputError(f"a network failed: {swept.failed[0][1].error}")
        return swept.columns

    session = LazySession("thyme walks", master, brief=True)
    try:
        session.need()
        compared = list(compare_readings(play, batch.seed))
    finally:
        session.close()
    write_readings(compared, out)
    claims = [
        msgspec.structs.replace(claim, id=f"{variant.name}: {claim.id}")
        for variant, claims in compared
        for claim in claims
    ]
    overlays = 2 * networks * draws * sum(map(len, compared_counts(sizes).values())) * len(compared)
    return Evaluated(tuple(claims), (), (), overlays)


def _analysis(out: Path, settings: dict[str, Any], master: str, watch: OnProgress) -> Evaluated:
    from thyme.papers.thyme.evaluation import thyme_analysis

    wrong = [size for size in settings["sizes"] if not isinstance(size, int) or size < MIN_ANALYSED]
    if wrong or not settings["sizes"]:
        given = repr(wrong[0]) if wrong else "nothing"
        raise InputError(f"sizes has {given}; expected numbers of nodes from {MIN_ANALYSED}")
    return thyme_analysis(out, tuple(settings["sizes"]), settings["topologies"], master, watch)


def _devices(out: Path, settings: dict[str, Any], master: str, watch: OnProgress) -> Evaluated:
    from thyme.papers.thyme.devices.evaluation import run_evaluation

    return run_evaluation(
        out, settings["nodes"], float(settings["seconds"]), settings["sizes"], float(settings["pause_s"]),
        settings["repetitions"], watch,
    )  # fmt: skip


EVALUATIONS: dict[str, Evaluation] = {
    "drip": Evaluation(
        "DRIP: broker coverage and delivery delay over the number of brokers (Figures 3 and 4)",
        # The paper reports averages and does not say of how many runs.
        {
            "repetitions": 10,
            "figures": ["3a", "3b", "4"],
            "duration_s": 500.0,
            "passing": "interested",
            "radio": "disc",
            "detectors": 1.0,
            "events_per_ability": 0.0,
        },
        _drip,
    ),
    "socialcast": Evaluation(
        "SocialCast: delivery, traffic, latency, hops and buffers (Figures 3 to 10)",
        {
            "repetitions": 20,
            "figures": ["3", "4", "5", "6", "7", "8", "9", "10"],
            "first_seed": 1,
            "reading": "default",
            **SOCIAL_READING,
        },
        _socialcast,
    ),
    "walks": Evaluation(
        "Directional and pure random walks: active nodes and depth (Figures 8 to 10)",
        {
            "networks": 100,
            "draws": 10,
            "sizes": [1000, 2000, 3000],
            "seed": 1,
            "reading": "default",
            "method": "neighbourhood",
            "branches": 1,
            "compare": False,
        },
        _walks,
    ),
    "thyme-analysis": Evaluation(
        "Thyme's analytical study beside message counts measured in simulated crowds (§8)",
        # The paper's crowds (§9.2), two nodes per cell.
        {"sizes": [16, 36, 64, 100, 144, 196], "topologies": 3},
        _analysis,
    ),
    "devices": Evaluation(
        "Thyme on devices, as live nodes: latency, retrieval, modelled energy (Figures 16 to 21)",
        # The paper has five runs of each; one takes under a minute, and all cores.
        {
            "nodes": [2, 4, 8, 16, 32],
            "seconds": 20.0,
            "sizes": [35, 1_000, 10_000, 100_000, 1_000_000, 5_000_000],
            "pause_s": 1.0,
            "repetitions": 1,
        },
        _devices,
    ),
}


def run_evaluation(
    name: str, out: Path, changes: Mapping[str, Any], master: str, watch: OnProgress, fresh: bool = False
) -> Evaluated:
    """Run one of the evaluations; unknown keys and values of the wrong type are refused. The folder must be new, empty
    or that of a study; `fresh` removes earlier results first."""
    evaluation = EVALUATIONS[name]
    settings = dict(evaluation.settings)
    for key, value in changes.items():
        if key not in settings:
            raise InputError(f"preset {name} has no key {key!r}; expected one of {', '.join(settings)}")
        wanted = float if isinstance(settings[key], float) else type(settings[key])
        if not isinstance(value, wanted) and not (wanted is float and isinstance(value, int)):
            raise InputError(f"--set {key}={value}: expected a value like {settings[key]!r}")
        settings[key] = value
    for key in ("repetitions", "networks", "draws", "topologies"):
        if key in settings and settings[key] < 1:
            raise InputError(f"--set {key}={settings[key]}: expected at least 1")
    take_folder(out, {"evaluation": name, "settings": settings}, fresh)
    began_s = time.monotonic()
    evaluated = evaluation.run(out, settings, master, watch)
    write_evaluated(name, evaluation.title, evaluated, settings, time.monotonic() - began_s, out)
    return evaluated
