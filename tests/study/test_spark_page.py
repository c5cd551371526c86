"""The programs of docs/tutorials/spark.md print what the page says, and the notebook has the same ones. The last one
reads tweets in a session without Thyme's settings; the others share the session of these tests, and the study with the
last program of docs/guides/python.md.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_processes import around_java, run_program

DOCS = Path(__file__).parents[2] / "docs"
BARE = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
"""


def programs_of(page: str) -> list[tuple[str, str]]:
    """Programs, each with what it prints."""
    return re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


PROGRAMS = programs_of("tutorials/spark.md")


def lines_of(printed: str) -> list[str]:
    return [line.rstrip() for line in printed.rstrip().splitlines()]


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_programs_print_what_the_pages_say(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    study = programs_of("guides/python.md")[-1]
    assert "run_study" in study[0]
    for program, prints in (study, *PROGRAMS[:-1]):
        program = program.replace('"out/', f'"{tmp_path}/out/')  # the Java of this session works in another folder
        exec(compile(program, "a program of the docs", "exec"), names)
        assert lines_of(capsys.readouterr().out) == lines_of(prints), program
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.spark
def test_tweets_are_read_from_a_bare_session(tmp_path: Path) -> None:
    program, prints = PROGRAMS[-1]
    assert "thyme_posts" in program
    (tmp_path / "bare.py").write_text(f"from pathlib import Path\n{BARE}\n{program}")
    assert lines_of(run_program(["bare.py"], tmp_path, **around_java())) == lines_of(prints)


def test_the_notebook_has_the_programs_of_the_page() -> None:
    cells = json.loads((DOCS / "tutorials" / "spark.ipynb").read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [program.rstrip("\n") for program, _ in PROGRAMS]
