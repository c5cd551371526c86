"""A replay tells what people did and where it went, of this run and no earlier one."""

from __future__ import annotations

from pathlib import Path

from thyme.model.ids import NodeId
from thyme.model.operations import Operation
from thyme.model.records import OperationKind
from thyme.sim.output import write_result
from thyme.sim.run import Run
from thyme.sim.scenario import scenario_of
from thyme.study.replay import NOTIFIED, activities_of, control_names, load_replay
from thyme.study.replay_page import write_page

GIVEN = {"name": "</script>", "nodes": 6, "time": {"join_from_s": 0.0, "join_to_s": 2.0, "until_s": 40.0}}
OPERATIONS = [
    Operation(0, 10.0, NodeId(0), OperationKind.SUBSCRIBE, sid=0, query="goal"),
    Operation(1, 20.0, NodeId(5), OperationKind.INSERT, oid="photo", tags=("goal",), text="3-3"),
]


def play(folder: Path, frames: bool) -> None:
    run = Run(scenario_of(GIVEN, "test"), OPERATIONS)
    if frames:
        run.world.keep_frames()
    write_result(run.go(), folder, run.world.frames())


def test_activities_are_told_with_who_published(tmp_path: Path) -> None:
    play(tmp_path, frames=True)
    replay = load_replay(tmp_path)
    told = [(activity.node, activity.what, activity.about, activity.owner) for activity in replay.activities]
    assert told == [
        (0, "subscribed to", "query 1", -1),
        (5, "published", "post 1", 5),
        (0, NOTIFIED, "post 1 of person 5", 5),
        (0, "retrieved", "post 1 of person 5", 5),
    ]
    events = Run(scenario_of(GIVEN, "test"), OPERATIONS).go().events
    named = [(activity.what, activity.about) for activity in activities_of(events, OPERATIONS)]
    assert named[:3] == [
        ("subscribed to", "“goal”"),
        ("published", "a text #goal"),
        (NOTIFIED, "a text #goal of person 5"),
    ]
    snapshots = replay.snapshots(0.0, 40.0, 1.0, 113.0)
    assert any(snapshot.messages for snapshot in snapshots)
    write_page(replay, snapshots, tmp_path / "replay.html", 40.0, 113.0)
    page = (tmp_path / "replay.html").read_text("utf-8")
    assert page.count("</script>") == 1, "nothing that is told ends the script"
    assert "&lt;/script&gt;: Owners (Thyme-LS), 6 people" in page


def test_frames_of_an_earlier_run_are_not_mixed_in(tmp_path: Path) -> None:
    play(tmp_path, frames=True)
    play(tmp_path, frames=False)
    assert not any(snapshot.messages for snapshot in load_replay(tmp_path).snapshots(0.0, 40.0, 1.0, 113.0))


def test_beacons_and_routing_are_known_as_such() -> None:
    names = control_names()
    assert {"Beacon", "TableUpdate", "RouteRequest"} <= names
    assert not {"CellPacket", "Carried", "Data"} & names
