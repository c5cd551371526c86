"""Recorded contacts from the command line: interests of the communities found, and a run that they are played in."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from thyme.cli.simulate import scenario_app
from thyme.sim.traces import read_trace

SCENARIO = """nodes = 6
approach = "socialcast"

[movement]
model = "contacts"
file = "{file}"

[time]
join_from_s = 0.0
join_to_s = 0.0
until_s = 400.0
"""


def test_interests_of_a_contact_trace_are_written_as_a_trace(tmp_path: Path) -> None:
    rooms = [(a, b) for room in ((0, 1, 2), (3, 4, 5)) for a in room for b in room if a < b]
    contacts = tmp_path / "rooms.txt"
    contacts.write_text("".join(f"{20 * t} {a} {b}\n" for t in range(1, 9) for a, b in rooms) + "200 2 3\n")
    scenario, out = tmp_path / "rooms.toml", tmp_path / "interests.csv"
    scenario.write_text(SCENARIO.format(file=contacts))
    asked = ["interests", str(scenario), "--from", "100", "--to", "160", "--every", "30", "--subscribers", "1.0"]
    answer = CliRunner().invoke(scenario_app, [*asked, "--out", str(out)])
    assert answer.exit_code == 0, answer.output
    assert "2 communities of 3, 3 people" in answer.output
    operations = read_trace(out)
    wants = {int(operation.node): operation.query for operation in operations if operation.query}
    assert [wants[node] for node in range(6)] == ["interest0"] * 3 + ["interest1"] * 3
    assert {operation.tags for operation in operations if operation.tags} <= {("interest0",), ("interest1",)}
    assert f"{len(operations) - 6} messages" in answer.output
