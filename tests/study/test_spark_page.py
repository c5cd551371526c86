"""The programs of docs/tutorials/spark.md print what the page says, one after the other in a session of their own; the
notebook has the same programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spark_processes import QUICK_JAVA, run_program

DOCS = Path(__file__).parents[2] / "docs" / "tutorials"
PROGRAMS = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (DOCS / "spark.md").read_text(), re.DOTALL)
END = "--- end of a program ---"


@pytest.mark.spark
def test_the_programs_print_what_the_page_says(tmp_path: Path) -> None:
    (tmp_path / "page.py").write_text("\n".join(f"{program}\nprint({END!r})" for program, _ in PROGRAMS))
    told = run_program(["page.py"], tmp_path, JDK_JAVA_OPTIONS=QUICK_JAVA)
    for (program, prints), printed in zip(PROGRAMS, told.split(f"{END}\n"), strict=False):
        lines = [line.rstrip() for line in printed.rstrip().splitlines()]
        assert lines == prints.rstrip().splitlines(), program


def test_the_notebook_has_the_programs_of_the_page() -> None:
    cells = json.loads((DOCS / "spark.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [program.rstrip("\n") for program, _ in PROGRAMS]
