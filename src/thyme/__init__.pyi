from thyme.live import (
    Node,
    Notice,
    Notifications,
    OperationError,
    Presence,
    ReaderTooSlow,
    Spaces,
    SyncNode,
    SyncNotifications,
)
from thyme.live.daemon.client import Client
from thyme.live.trust.approach_choice import ExpectedCrowd
from thyme.model.areas import Area
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.objects import Metadata
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.run import Result, simulate
from thyme.sim.scenario import Scenario, load_scenario, scenario_of
from thyme.sim.traces import read_trace
from thyme.study.definition import StudyDefinition as Study
from thyme.study.definition import load_preset, load_study
from thyme.study.study import StudyResult, run_study

__version__: str

__all__ = [
    "Area",
    "Client",
    "ExpectedCrowd",
    "InputError",
    "Metadata",
    "Node",
    "NodeId",
    "Notice",
    "Notifications",
    "ObjectKey",
    "Operation",
    "OperationError",
    "OperationKind",
    "Presence",
    "ReaderTooSlow",
    "Result",
    "Scenario",
    "Spaces",
    "Study",
    "StudyResult",
    "SubscriptionKey",
    "SyncNode",
    "SyncNotifications",
    "TimeFrame",
    "load_preset",
    "load_scenario",
    "load_study",
    "read_trace",
    "run_study",
    "scenario_of",
    "simulate",
]
