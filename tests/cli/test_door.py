"""The door: what a person types, and what they are told when it is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import thyme

THYME = [str(Path(sys.executable).with_name("thyme"))]


def test_help_names_the_subcommands() -> None:
    answer = subprocess.run([*THYME, "--help"], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0
    for command in ("study", "simulate", "scenario", "posts", "trace", "node", "watch"):
        assert command in answer.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the PATH")
def test_the_shell_completes_commands_and_options() -> None:
    in_bash = ["bash", "-c", '"$0" --show-completion; exit $?', *THYME]
    assert "complete" in subprocess.run(in_bash, capture_output=True, text=True, timeout=120).stdout
    for typed, completed in {"thyme names": "namespace", "thyme node start --dura": "--durability"}.items():
        asked = {"_THYME_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
        answer = subprocess.run(THYME, env=os.environ | asked, capture_output=True, text=True, timeout=120)
        assert answer.stdout.strip() == completed


def test_the_command_is_a_module_too(tmp_path: Path) -> None:
    called = [sys.executable, "-m", "thyme", "watch", "absent"]
    answer = subprocess.run(called, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (answer.returncode, answer.stderr) == (2, thyme("watch", "absent", folder=tmp_path).stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["simulate"], "Missing argument"),
        (["simulate", "crowd.toml", "--out", "x", "--seed", "many"], "--seed"),
        (["simulate", "absent.toml", "--out", "x"], "absent.toml: there is no such file"),
        (["simulate", "broken.toml", "--out", "x"], "broken.toml: not valid TOML"),
        (["watch", "absent"], "absent: there is no such folder"),
        (["watch", "127.0.0.1:1"], "127.0.0.1:1: no node sends its events there (Connection refused)"),
        (["watch", "fine.toml"], "fine.toml is a file; give the folder that contains it"),
        (["watch", ".", "--slide", "90"], "slide is 90.0 s; expected no more than the window, 60.0 s"),
        (["scenario", "check", "unknown.toml"], "unknown.toml:1: there is no key 'nodez'; it has name, nodes, "),
        (["scenario", "check", "typed.toml"], 'typed.toml:2: radio.range_m is "far"; expected a number'),
        (["scenario", "check", "approach.toml"], "there is no approach 'magic'; expected one of es, ls"),
        (["scenario", "check", "study.toml"], "so it is a study; run it with: thyme study study.toml"),
        (["scenario", "check", "fine.toml", "--set", "nodes"], "expected KEY=VALUE"),
        (["study", "map", "--people", "-3"], "'--people'"),
        (["study", "map", "--people", "60", "--going", "fly"], "--going fly: expected stay, leave or switch"),
        (["study", "map", "--people", "60", "--contents", "films"], "expected texts, photos or 'large photos'"),
        (["walks", "--nodes", "-3"], "'--nodes'"),
        (["gallery", "--port", "99999"], "'--port'"),
        (["scenario", "check", "fine.toml", "--set", "nodes=0"], "--set: nodes is 0; expected a whole number >= 1"),
        (["scenario", "check", "fine.toml", "--set", "settings.pats=3"], "there is no key 'settings.pats'"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_mistakes_end_in_one_line_and_exit_code_2(arguments: list[str], said: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('title = "A festival"\n[scenario]\nnodes = 9\n')
    (tmp_path / "fine.toml").write_text("nodes = 4\n")
    (tmp_path / "broken.toml").write_text("nodes = \n")
    (tmp_path / "unknown.toml").write_text("nodez = 4\n")
    (tmp_path / "typed.toml").write_text('[radio]\nrange_m = "far"\n')
    (tmp_path / "approach.toml").write_text('approach = "magic"\n')
    answer = thyme(*arguments, folder=tmp_path)
    assert answer.returncode == 2
    assert said in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1
    assert "Traceback" not in answer.stderr


def test_a_group_without_a_subcommand_prints_its_help_alone(tmp_path: Path) -> None:
    answer = thyme("world", folder=tmp_path)
    assert (answer.returncode, answer.stderr) == (2, "")
    assert "movement" in answer.stdout


def test_a_new_scenario_runs_as_it_is_written(tmp_path: Path) -> None:
    assert thyme("scenario", "new", "crowd.toml", "--nodes", "9", folder=tmp_path).returncode == 0
    (tmp_path / "trace.csv").write_text(
        "operation,at_s,node,kind,oid,tags,text,sid,query\n"
        "0,70,0,subscribe,,,,0,goal\n"
        "1,80,8,insert,photo,goal;final,what a goal,,\n"
    )
    answer = thyme("simulate", "crowd.toml", "--trace", "trace.csv", "--out", "run", folder=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "notified           1 times" in answer.stdout
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"events.parquet", "summary.json"}
    again = thyme("scenario", "new", "crowd.toml", folder=tmp_path)
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_a_run_can_be_replayed_as_a_page_and_as_pictures(tmp_path: Path) -> None:
    (tmp_path / "crowd.toml").write_text(
        'nodes = 9\n[movement]\nmodel = "waypoint"\n[time]\njoin_from_s = 0.0\njoin_to_s = 2.0\nuntil_s = 20.0\n'
    )
    assert thyme("simulate", "crowd.toml", "--frames", "--out", "run", folder=tmp_path).returncode == 0
    assert thyme("replay", "run", "--step", "4", folder=tmp_path).returncode == 0
    page = (tmp_path / "run" / "replay.html").read_text()
    assert "scenario: Owners (Thyme-LS), 9 people" in page
    assert "http" not in page
    assert thyme("replay", "run", "--step", "10", "--out", "walk.gif", folder=tmp_path).returncode == 0
    assert (tmp_path / "walk.gif").read_bytes().startswith(b"GIF8")
    wrong = thyme("replay", "run", "--out", "walk.mov", folder=tmp_path)
    assert wrong.returncode == 2
    assert ".html, .gif or .png" in wrong.stderr
    absent = thyme("replay", ".", folder=tmp_path)
    assert absent.returncode == 2
    assert "thyme simulate --out" in absent.stderr


def test_movement_and_contacts_are_exported_and_converted(tmp_path: Path) -> None:
    (tmp_path / "crowd.toml").write_text(
        'nodes = 5\n[movement]\nmodel = "waypoint"\n[time]\njoin_from_s = 0.0\njoin_to_s = 2.0\nuntil_s = 60.0\n'
    )
    assert "5 nodes" in thyme("world", "movement", "crowd.toml", "walk.ns2", "--to", "ns2", folder=tmp_path).stdout
    again = thyme("world", "movement", "walk.ns2", "walk.bm", folder=tmp_path)
    assert "5 nodes" in again.stdout, again.stderr
    (tmp_path / "met.tij").write_text("20 1 2\n40 1 2\n40 2 3\n")
    answer = thyme("world", "contacts", "met.tij", "met.conn", "--to", "one", folder=tmp_path)
    assert "3 people, 2 contacts" in answer.stdout, answer.stderr
    assert "CONN" in (tmp_path / "met.conn").read_text()
    wrong = thyme("world", "contacts", "met.tij", "out", "--to", "gpx", folder=tmp_path)
    assert wrong.returncode == 2
    assert "expected one of tij, one, haggle" in wrong.stderr
