"""What all tests share: one Spark session, and which tests belong together on one of the processes that run them.

Tests are spread over processes by `pytest-xdist`. All that use `spark` go to the same one, so a session is started
once; all others stay together by file, so what a file has made for itself is made once. Markers follow from fixtures
and folders: `spark` for what needs Java, `compiled` for what runs machine code that may have to be compiled first,
`long` for searches and for processes that are started and killed. `make check` leaves all three out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPILED_ROOMS = ("sim/radios/wifi/", "papers/", "benchmarks/", "test_compiled.py")
LONG_ROOMS = (
    "worlds/",
    "live/test_live_kills.py",
    "live/test_live_processes.py",
    "live/test_live_fuzz.py",
    "gallery/test_gallery_browser.py",
    "studio/test_studio.py",
    "test_wheel.py",
)
ASKS_FOR_SPARK = re.compile(r"spark: SparkSession|(finished|generated): Finished|usefixtures\(.spark.\)")
HERE = Path(__file__).parent
_users, _buckets = count(), count()

# Nothing is timed in a test: how long an example takes depends on what else the machine does.
# The examples are the same in every run, so that a change answers for what it breaks; `make search` draws others.
settings.register_profile("patient", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("THYME_EXAMPLES", "patient"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests of a process: starting one takes seconds. It suits tables of a few rows."""
    from thyme.pipeline.spark.arrow import no_pandas_advice
    from thyme.pipeline.spark.session import JAVA_OPTIONS, brief_work, spark_session

    small = {
        "spark.sql.shuffle.partitions": "2",
        # Compiling each query takes longer than a few rows do; sessions that tests start elsewhere do compile.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.memory": "1g",
        JAVA_OPTIONS: brief_work()[JAVA_OPTIONS],
    }
    with no_pandas_advice():  # an error here, for which PySpark would believe that nobody speaks Spark Connect
        import pyspark.testing.utils  # noqa: F401
    session = spark_session("tests", "local[2]", **small)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def object_store(spark: SparkSession) -> Iterator[str]:
    """An object store on loopback that this process and its Spark have the keys of."""
    server = pytest.importorskip("moto.server", reason="moto is not installed, which plays the object store")
    running = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    running.start()
    address = "http://{}:{}".format(*running.get_host_and_port())
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "somebody",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
            patch.setitem(spark.sparkContext.environment, name, value)
        yield address
    running.stop()


@pytest.fixture
def store(object_store: str) -> str:
    """A new bucket of it, as a URI."""
    name = f"thyme-{next(_buckets)}"
    httpx.put(f"{object_store}/{name}").raise_for_status()
    return f"s3://{name}"


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that are given no store keep theirs among the user's data: each test is another user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path_factory.getbasetemp() / f"data-{next(_users)}"))


@pytest.fixture(autouse=True)
def _spark_is_asked_for(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that starts a session by itself would start one in each process."""
    before = _session_is_up()
    yield
    assert before or not _session_is_up() or "spark" in request.fixturenames, "let this test use the fixture `spark`"


def _session_is_up() -> bool:
    pyspark = sys.modules.get("pyspark")
    return pyspark is not None and pyspark.SparkContext._active_spark_context is not None


def pytest_itemcollected(item: pytest.Item) -> None:
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.spark)
    if item.path.relative_to(HERE).as_posix().startswith(COMPILED_ROOMS):
        item.add_marker(pytest.mark.compiled)
    if item.path.relative_to(HERE).as_posix().startswith(LONG_ROOMS):
        item.add_marker(pytest.mark.long)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long is begun first; what is short fills up the other processes."""
    slow = ("spark", "long", "compiled")
    items.sort(key=lambda item: next((n for n, name in enumerate(slow) if item.get_closest_marker(name)), len(slow)))


class TogetherByNeed(LoadScopeScheduling):  # type: ignore[misc]
    """Files whose tests ask for the session go to one process, each other file to any. (The groups of xdist's own
    `loadgroup` are lost on pytest 9.2, which takes no new name for a test.)"""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return "spark" if _asks_for_spark(file) else file


@cache
def _asks_for_spark(file: str) -> bool:
    return ASKS_FOR_SPARK.search((HERE.parent / file).read_text("utf-8")) is not None


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> TogetherByNeed:
    return TogetherByNeed(config, log)
