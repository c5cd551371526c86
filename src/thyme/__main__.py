"""The `thyme` command as `python -m thyme`, where its folder is not on the path."""

from __future__ import annotations

from thyme.cli.main import run

if __name__ == "__main__":
    run()
