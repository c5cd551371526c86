"""A study from a few answers is a study that can be played, and two played studies can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_study import Finished

from thyme.cli.study_new import new
from thyme.model.errors import InputError
from thyme.study.comparing import compare_studies
from thyme.study.definition import load_study
from thyme.study.plan import make_plan
from thyme.study.questions import (
    GOINGS,
    MOVEMENTS,
    QUESTIONS,
    SIZES_BYTES,
    CrowdDescription,
    approaches_for,
    parse_venue,
    study_text,
)


@pytest.mark.parametrize("movement", MOVEMENTS)
@pytest.mark.parametrize("going", GOINGS)
def test_every_answer_gives_a_study(movement: str, going: str, tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    choices: dict[str, Any] = {"movement": movement, "going": going}
    crowd = CrowdDescription(people=20, width_m=90.0, height_m=60.0, **choices)
    file.write_text(study_text(crowd))
    plan = make_plan(load_study(file))
    scenario = plan.runs[0].scenario
    assert (scenario.nodes, scenario.area().width_m) == (20, 90.0)
    assert len({point.variation for point in plan.points}) > 2


@pytest.mark.parametrize("contents", SIZES_BYTES)
def test_what_people_share_is_what_is_played(contents: str, tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(study_text(CrowdDescription(contents=contents)))  # type: ignore[arg-type]
    sizes = make_plan(load_study(file)).runs[0].trace.options.sizes
    assert sizes.kind == ("text" if contents == "messages" else "photos")
    assert contents == "messages" or (sizes.size_bytes, sizes.share < 1.0) == (SIZES_BYTES[contents], True)  # type: ignore[index]
    with pytest.raises(InputError, match="--size"):
        CrowdDescription(contents="messages", size_bytes=5)


def test_every_study_is_played_with_photos_too(tmp_path: Path) -> None:
    file = tmp_path / "crowd.toml"
    file.write_text(study_text(CrowdDescription(contents="messages")))
    assert "every post is a photo of 100 kB" in {point.variation for point in make_plan(load_study(file)).points}


def test_without_a_server_nobody_needs_one() -> None:
    assert "es" in approaches_for(CrowdDescription())
    assert "es" not in approaches_for(CrowdDescription(server=False))


def test_wrong_answers_are_refused() -> None:
    assert parse_venue("200x100") == parse_venue("200 m × 100 m") == (200.0, 100.0)
    with pytest.raises(InputError, match="such as 200x100"):
        parse_venue("large")
    with pytest.raises(InputError, match="--people 1"):
        CrowdDescription(people=1)
    with pytest.raises(InputError, match="both sides"):
        CrowdDescription(width_m=3.0)


def test_a_study_compared_with_itself_does_not_differ(finished: Finished, tmp_path: Path) -> None:
    same = compare_studies(finished.out, finished.out)
    assert same.rows
    assert not any(row.apart or not row.equal for row in same.rows)
    lines = (finished.out / "metrics.csv").read_text().splitlines()
    worse = [line if ",recall," not in line else ",".join([*line.split(",")[:3], "0.1,0,0.1,0.1,2"]) for line in lines]
    (tmp_path / "metrics.csv").write_text("\n".join(worse) + "\n")
    found = compare_studies(finished.out, tmp_path)
    assert {row.metric for row in found.rows if row.apart} == {"Notifications that arrive"}
    with pytest.raises(InputError, match=r"there is no metrics\.csv"):
        compare_studies(finished.out, tmp_path / "gone")


def test_an_answer_that_cannot_be_is_told_at_once_and_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(
        [
            "songs",
            "photos",
            "big",
            "200kB",
            "many",
            "60",
            "300x",
            "300x200",
            "fly",
            "walk",
            "stay",
            "n",
            "delay",
            "nowhere",
            "",
        ]
    )
    asked: list[str] = []

    def prompt(question: str, **_: object) -> str:
        asked.append(question)
        return next(answers)

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    new(tmp_path / "mine.toml")
    assert [asked.count(question) for question, _ in QUESTIONS.values()] == [2, 2, 2, 2, 2, 1, 1, 1, 2]
    definition = load_study(tmp_path / "mine.toml")
    assert (definition.scenario["nodes"], definition.priority) == (60, "delay")
    assert definition.trace["sizes"]["size_bytes"] == 200_000
    assert "es" not in [approach.name for approach in definition.approaches]
    assert "expected two sides in metres" in capsys.readouterr().out
