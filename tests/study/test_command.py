"""`thyme study` at the terminal: mistakes in one line, presets listed, the headline at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from small_study import Finished

from thyme.cli.main import run


def thyme(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["thyme", *arguments])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as stop:
        run()
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give either a study file or --preset NAME"),
        (["--preset", "slow"], "thyme-transient, drip, socialcast, walks, thyme-analysis"),
        (["gone.toml"], "gone.toml: there is no such file"),
        (["--preset", "quick", "--set", "nodes"], "--set nodes: expected KEY=VALUE"),
        (["--preset", "quick", "--set", "nodez=3"], "--set nodez: a study has no such key"),
        (["--preset", "quick", "--set", 'radio.model="smoke"'], "radio.model"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: list[str],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert thyme(monkeypatch, "study", *arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_presets_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert thyme(monkeypatch, "study", "--preset", "list") == 0
    assert "thyme-static" in capsys.readouterr().out


def test_the_terminal_ends_with_headline_and_report(finished: Finished) -> None:
    assert "✓ runs" in finished.shown
    assert "Phones alone can do it: use" in finished.shown
    assert f"Report:  {finished.out / 'report.html'}" in finished.shown
