"""`deploy/two-devices`, whose output docs/guides/nodes.md shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from networks import refusal

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "deploy" / "two-devices"
PATIENCE_S = 120.0
WRAPPER = """#!/bin/sh
PYTHONPATH={path} exec {python} -c 'from thyme.cli.main import run; run()' "$@"
"""


def masked(text: str) -> list[str]:
    """Without keys, ports and dates, each of which is another one every time."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "DATE", text)
    text = re.sub(r"\b\d{18,19}\b", "NODE", text)
    return [re.sub(r"(:)\d+\b", r"\1PORT", line) for line in text.strip().splitlines()]


@pytest.mark.long
@pytest.mark.skipif(bool(refusal()) or shutil.which("unshare") is None, reason=refusal() or "there is no unshare")
def test_the_session_of_two_devices_is_what_the_docs_show(tmp_path: Path) -> None:
    thyme = tmp_path / "thyme"
    thyme.write_text(WRAPPER.format(path=os.pathsep.join(filter(None, sys.path)), python=sys.executable))
    thyme.chmod(0o700)
    given = os.environ | {"THYME": str(thyme)}
    said = subprocess.run([SCRIPT], env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert said.returncode == 0, said.stdout + said.stderr
    page = (ROOT / "docs" / "guides" / "nodes.md").read_text()
    shown = re.search(r"This is what it prints:\n\n```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    assert sorted(masked(said.stdout)) == sorted(masked(shown.group(1)))


def test_without_a_thyme_the_session_says_what_is_missing() -> None:
    given = os.environ | {"THYME": "/nowhere/thyme"}
    said = subprocess.run([SCRIPT], env=given, capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert "two-devices: there is no" in said.stderr
