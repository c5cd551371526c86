"""Thyme: time-aware reactive storage for crowds of devices with no infrastructure.

The front door: the few names that people import (docs/guides/python.md). Each is fetched from its room when it is
first used, so that `import thyme` alone loads nothing else. `__init__.pyi` says the same to type checkers.
"""

from __future__ import annotations

__version__ = "0.2.0"

_ROOMS = {
    "InputError": "model.errors",
    "TimeFrame": "model.frames",
    "NodeId": "model.ids",
    "ObjectKey": "model.ids",
    "SubscriptionKey": "model.ids",
    "Metadata": "model.objects",
    "Operation": "model.operations",
    "OperationKind": "model.records",
    "Scenario": "sim.scenario",
    "load_scenario": "sim.scenario",
    "scenario_of": "sim.scenario",
    "Result": "sim.run",
    "simulate": "sim.run",
    "read_trace": "sim.traces",
    "Node": "live",
    "Notice": "live",
    "Notifications": "live",
    "OperationError": "live",
    "Presence": "live",
    "ReaderTooSlow": "live",
    "Spaces": "live",
    "Area": "model.areas",
    "ExpectedCrowd": "live.trust.approach_choice",
    "Client": "live.daemon.client",
    "SyncNode": "live",
    "SyncNotifications": "live",
    "Study": "study.definition",
    "load_preset": "study.definition",
    "load_study": "study.definition",
    "StudyResult": "study.study",
    "run_study": "study.study",
}
_INSIDE = {"Study": "StudyDefinition"}
"""What a name of the door is called inside, where that differs."""

__all__ = list(_ROOMS)


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module 'thyme' has no attribute {name!r}")
    from importlib import import_module

    try:
        value = getattr(import_module(f"thyme.{_ROOMS[name]}"), _INSIDE.get(name, name))
    except ModuleNotFoundError as error:
        from thyme.extras import install_command

        error.add_note(f"thyme.{name} needs optional packages; install them: {install_command('study')}")
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
