"""What Spark was told before Thyme came: by `spark-submit`, by `spark-defaults.conf`, and by `--conf`.

All of it goes before Thyme's own settings, which are defaults. The one exception are settings that decide results
(`RESULTS`): a study gives the same figures on every cluster, so these are Thyme's, whatever a cluster prefers.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext

from thyme.model.errors import InputError

MASTER = "spark.master"
REMOTE = "spark.remote"
"""The same of Spark Connect; in the environment as `SPARK_REMOTE`."""
LOCAL = "local[*]"
RESULTS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "false",
    "spark.hadoop.parquet.page.write-checksum.enabled": "true",
    "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
}
"""What may not differ between two machines that compute the same."""
REMOTE_VARIABLE = "SPARK_REMOTE"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set by `spark-submit`, which has started Java before it started this process."""
_OPTIONS = {
    "--master": MASTER,
    "--remote": REMOTE,
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--num-executors": "spark.executor.instances",
    "--total-executor-cores": "spark.cores.max",
}
_asked: dict[str, str] = {}


def ask(pairs: Iterable[str] | None) -> None:
    """Have the session of this process, of which there is one, started with these settings (`KEY=VALUE`)."""
    _asked.clear()
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key.startswith("spark."):
            raise InputError(f"--conf {pair}: expected a setting of Spark, such as spark.executor.memory=4g")
        if value != RESULTS.get(key, value):
            raise InputError(f"--conf {pair}: results depend on {key}, so it stays {RESULTS[key]}")
        _asked[key] = value


def given_settings() -> dict[str, str]:
    """Every setting that somebody else has made, by Spark's name."""
    if _SUBMITTED in os.environ:
        SparkContext._ensure_initialized()
        found = dict(SparkConf().getAll())
    else:
        found = _defaults() | _submit_arguments(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
        if REMOTE_VARIABLE in os.environ:
            found[REMOTE] = os.environ[REMOTE_VARIABLE]
    return found | asked_settings()


def asked_settings() -> dict[str, str]:
    """What was said by `--conf`, and what results depend on."""
    return _asked | RESULTS


def is_submitted() -> bool:
    """Whether Java was started by `spark-submit`."""
    return _SUBMITTED in os.environ


def chosen_master(master: str, given: Mapping[str, str]) -> str:
    """Where Spark runs: as said here, else as given, else on all cores of this machine."""
    return master or given.get(REMOTE) or given.get(MASTER, LOCAL)


def _defaults() -> dict[str, str]:
    """The settings of `spark-defaults.conf`, found where `spark-submit` finds it."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    try:
        return dict(_properties(file.read_text("utf-8").splitlines()))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({error}); Spark would start without its settings") from error


def _properties(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Lines of `key value`, `key=value` or `key: value`; those of other programs, and comments, are left out."""
    for line in lines:
        key, _, value = line.strip().replace("\t", " ").partition(" ")
        for sign in "=:":
            if sign in key:
                key, _, rest = key.partition(sign)
                value = f"{rest} {value}"
                break
        if key.startswith("spark."):
            yield key, value.strip().lstrip("=:").strip()


def _submit_arguments(text: str) -> dict[str, str]:
    """The settings among the arguments that PySpark is told to start Java with."""
    found: dict[str, str] = {}
    words = iter(shlex.split(text))
    for word in words:
        option, equals, value = word.partition("=")
        if option in ("--conf", "-c"):
            key, _, setting = (value if equals else next(words, "")).partition("=")
            found[key] = setting
        elif option in _OPTIONS:
            found[_OPTIONS[option]] = value if equals else next(words, "")
    return found
