"""The folder of a study, or of a paper's evaluation: what is where in it, and whose it is.

A folder is used if it is new or empty, or if `study.json` says that a study was made there before; then `fresh` removes
what that study computed, and nothing else. Other files are never mixed with a study's, or deleted.
"""

from __future__ import annotations

from typing import Any

import msgspec

from thyme.model.errors import InputError
from thyme.places import Place, has_content, remove, write_file

STUDY_FILE = "study.json"
METRICS_FILE = "metrics.csv"
REPORT_FILE = "report.html"
REPORT_STAMP = ".report"
POSTS, TRACES, EXPECTED, RUNS, METRICS, FIGURES = "posts", "traces", "expected", "runs", "metrics", "figures"
COMPUTED_FOLDERS = (POSTS, TRACES, EXPECTED, RUNS, METRICS, FIGURES)
COMPUTED_FILES = (METRICS_FILE, REPORT_FILE, REPORT_STAMP)


def take_folder(out: Place, what: Any, fresh: bool = False) -> None:
    """Make the folder ours, with `what` is studied there as JSON; forget what was computed before if `fresh`."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: is a file; give a folder for the study")
    if out.is_dir() and has_content(out) and not (out / STUDY_FILE).is_file():
        if fresh:
            raise InputError(
                f"{out}: --fresh would empty it, but no study is there (no {STUDY_FILE}); choose another folder"
            )
        raise InputError(f"{out}: is not empty and contains no study; give an empty or a new folder")
    if fresh:
        _forget(out)
    content = msgspec.json.format(msgspec.json.encode(what), indent=2)
    try:
        write_file(out / STUDY_FILE, content)
    except OSError as error:
        raise InputError(f"{out}: cannot be written to ({error.strerror or error})") from error


def _forget(out: Place) -> None:
    """Remove what a study computed; what a person put beside it stays."""
    for name in COMPUTED_FOLDERS:
        remove(out / name)
    for name in COMPUTED_FILES:
        remove(out / name)
