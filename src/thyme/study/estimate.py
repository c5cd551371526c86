"""How long a study will take, before it starts: roughly, from what runs of the default study took.

A run's time grows with people, with operations (each may reach everybody) and with the bytes that are shared. The
constants are fitted to the default study (32 runs, 304 s of processor time); they were not checked on large crowds.
"""

from __future__ import annotations

import os

import msgspec

from thyme.approaches.registry import find_approach
from thyme.study.definition import StudyDefinition
from thyme.study.plan import Plan, PlannedRun, make_plan
from thyme.study.wording import duration

REACHED_S = 6e-5
"""Processor time for one operation to reach one device."""
SHARED_S_PER_MB = 0.15
"""CPU time per shared megabyte, in a crowd of CROWD people."""
CROWD = 36
OPERATIONS_PER_USER = 40
OTHERS_PER_USER = 8
"""Operations of a user, at most and besides posts, in traces of generated posts."""
START_S = 25.0
"""Spark, compilation, metrics and figures."""
LONG_S = 1_800.0
"""Studies that take longer than this are offered smaller."""
MIN_PEOPLE = 20


def estimate_s(plan: Plan, cores: int) -> float:
    """The time until the report, with this number of cores."""
    return START_S + sum(_run_s(plan, run) for run in plan.runs) / cores


def _run_s(plan: Plan, run: PlannedRun) -> float:
    nodes, options = run.scenario.nodes, run.trace.options
    users = nodes if run.trace.file else options.users
    operations = min(OPERATIONS_PER_USER * users, plan.posts.posts + OTHERS_PER_USER * users)
    each = find_approach(run.scenario.approach).entry.relative_cost
    sizes = options.sizes
    shared_mb = 0.0 if sizes.kind == "text" else operations * sizes.share * sizes.size_bytes / 1e6
    return each * nodes * (operations + nodes) * REACHED_S + shared_mb * SHARED_S_PER_MB * nodes / CROWD


def estimate_words(definition: StudyDefinition, cores: int | None = None) -> str:
    """How long a study takes on this machine; of one that takes long, also a smaller one."""
    cores = cores or os.cpu_count() or 1
    took_s = estimate_s(make_plan(definition), cores)
    told = f"This takes about {_rounded(took_s)} on {cores} {'core' if cores == 1 else 'cores'}"
    if took_s <= LONG_S:
        return f"{told}."
    changes = ["variations=[]"]
    smaller = msgspec.structs.replace(definition, variations=())
    while (less_s := estimate_s(make_plan(smaller), cores)) > LONG_S and _people(smaller) > 2 * MIN_PEOPLE:
        people = _people(smaller) // 2
        smaller = msgspec.structs.replace(
            smaller,
            scenario={key: value for key, value in smaller.scenario.items() if key != "venue"} | {"nodes": people},
            grid={key: values for key, values in smaller.grid.items() if key != "nodes"},
        )
        changes = ["variations=[]", f"nodes={people}"]
    options = " ".join(f"--set {change!r}" for change in changes)
    return f"{told}. A smaller study takes about {_rounded(less_s)}: {options}."


def _people(definition: StudyDefinition) -> int:
    return max(run.scenario.nodes for run in make_plan(definition).runs)


def _rounded(seconds: float) -> str:
    minutes = max(1, round(seconds / 60.0))
    return duration(minutes * 60.0).removesuffix(" 0 s") if minutes > 1 else "a minute"
