"""The study of docs/guides/python.md, in the Spark session that these tests share."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "python.md").read_text()


def test_the_program_prints_what_the_page_says(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, prints = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)[-1]
    assert "run_study" in program
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "docs/guides/python.md", "exec"), {})
    assert capsys.readouterr().out == prints
    assert (tmp_path / "out" / "report.html").is_file()
