"""The systemd unit: a node runs within the folders that it may write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

UNIT = (Path(__file__).parents[2] / "deploy" / "thyme.service").read_text()
PATIENCE_S = 120.0
MOUNTS = """
set -e
mount -t tmpfs -o mode=755 tmpfs $ROOT
mount --bind $ROOT $ROOT
cd $ROOT
mkdir -p home run
chmod 700 run
for folder in $WRITABLE; do mkdir -p $folder; mount --bind $folder $folder; done
mount -o remount,bind,ro $ROOT
export HOME=$ROOT/home XDG_RUNTIME_DIR=$ROOT/run XDG_DATA_HOME= XDG_STATE_HOME= TMPDIR=$ROOT/home
"$PYTHON" -c "$PROGRAM" node start --service --id 1 >&2 &
trap "kill $! 2>&1 || true" EXIT
for try in $(seq 300); do
    sleep 0.1
    if [ -S run/thyme/node.sock ]; then "$PYTHON" -c "$PROGRAM" node status; exit 0; fi
    kill -0 $!
done
exit 1
"""
PROGRAM = "from thyme.cli.main import run; run()"


def values_of(name: str) -> list[str]:
    return [line.partition("=")[2] for line in UNIT.splitlines() if line.startswith(f"{name}=")]


def test_a_node_runs_where_only_the_folders_of_its_unit_can_be_written(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("mounts need a namespace")
    assert values_of("ProtectSystem") == ["strict"]
    writable = [path.replace("%h", "home") for path in values_of("ReadWritePaths")]
    writable += [f"run/{name}" for name in values_of("RuntimeDirectory")]
    given = {"ROOT": str(tmp_path), "WRITABLE": " ".join(writable), "PYTHON": sys.executable, "PROGRAM": PROGRAM}
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", MOUNTS],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, **given},
    )
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip("mounts are not allowed here")
    assert done.returncode == 0, done.stderr
    assert "listens on" in done.stdout
