"""Logs of live nodes under watch: what a stream makes of them while they grow, end and go wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from thyme.cli.watch import view, watch
from thyme.live.link.addresses import address_text
from thyme.live.node.logs.log import FileLog
from thyme.live.node.logs.log_server import SharedLog
from thyme.model.errors import InputError
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.records import (
    Counted,
    Joined,
    LogRecord,
    Notified,
    OperationFailed,
    OperationIssued,
    OperationKind,
    OperationSucceeded,
    TrafficKind,
)
from thyme.pipeline.watch.increments import LogFolder
from thyme.pipeline.watch.stream import LogStream, Watched, WatchPlaces, watch_once
from thyme.pipeline.watch.windows import NOTIFICATIONS, TRAFFIC, WatchOptions

GOAL = SubscriptionKey(0, NodeId(2))
PHOTO = ObjectKey("photo", NodeId(1))
OPTIONS = WatchOptions(window_s=20.0, slide_s=10.0, late_s=15.0, every_s=0.1)
ONE: list[tuple[float, LogRecord]] = [
    (101.0, Joined(1.0)),
    (102.0, OperationIssued(0, OperationKind.INSERT, PHOTO)),
    (102.5, OperationSucceeded(0, OperationKind.INSERT, 0.5)),
    (109.0, OperationIssued(1, OperationKind.INSERT)),
    (111.0, OperationFailed(1, OperationKind.INSERT, 2.0, "timeout")),
]
TWO: list[tuple[float, LogRecord]] = [
    (104.0, OperationIssued(0, OperationKind.SUBSCRIBE, None, GOAL)),
    (104.1, OperationSucceeded(0, OperationKind.SUBSCRIBE, 0.1)),
    (104.3, Notified(GOAL, PHOTO, 0.3)),
    (113.0, Counted(TrafficKind.PHY_SENT, "Flooded", 3, 600)),
    (113.0, Counted(TrafficKind.CONTROL, "Beacon", 2, 80)),
]


def write_log(path: Path, node: int, records: list[tuple[float, LogRecord]]) -> None:
    log = FileLog(path)
    for at_s, record in records:
        log.record(at_s, NodeId(node), record)
    log.close(records[-1][0])


def staged(staging: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(staging.glob("*.jsonl")))


def shown(watched: Watched) -> dict[tuple[float, str], tuple[int, int, int]]:
    return {(each.from_s, each.what): (each.issued, each.succeeded, each.failed) for each in watched.windows}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


@pytest.fixture
def staging(tmp_path: Path) -> Path:
    (tmp_path / "staging").mkdir()
    return tmp_path / "staging"


@given(st.lists(st.binary(max_size=6).map(lambda text: text.replace(b"a", b"\n")), max_size=12))
@settings(max_examples=60)
def test_however_a_log_grows_its_whole_lines_are_staged_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    root = tmp_path_factory.mktemp("growing")
    (root / "staging").mkdir()
    (root / "logs").mkdir()
    folder = LogFolder(root / "logs", root / "staging")
    whole = b""
    for piece in pieces:
        with (root / "logs" / "one.jsonl").open("ab") as log:
            log.write(piece)
        whole += piece
        folder.poll()
        assert staged(root / "staging") == whole[: whole.rfind(b"\n") + 1]
        assert folder.torn == (not whole.endswith(b"\n") and whole != b"")


def test_all_that_logs_gained_between_polls_is_one_staged_file(logs: Path, staging: Path) -> None:
    folder = LogFolder(logs, staging)
    (logs / "one.jsonl").write_text("a\n")
    (logs / "deeper").mkdir()
    (logs / "deeper" / "two.jsonl").write_text("b\nhalf")
    assert folder.poll()
    assert not folder.poll()
    assert [path.name for path in staging.iterdir()] == ["000000000.jsonl"]
    assert (folder.logs, folder.torn) == (2, 1)


def test_another_log_of_the_same_name_is_read_from_its_beginning(logs: Path, staging: Path) -> None:
    folder = LogFolder(logs, staging)
    log = logs / "one.jsonl"
    log.write_text("a\nb\n")
    folder.poll()
    log.write_text("c\n")
    folder.poll()
    (logs / "draft").write_text("d\ne\n")
    (logs / "draft").rename(log)
    folder.poll()
    assert staged(staging) == b"a\nb\nc\nd\ne\n"


def test_a_log_replaced_by_a_longer_copy_of_itself_goes_on(logs: Path, staging: Path) -> None:
    folder = LogFolder(logs, staging)
    (logs / "one.jsonl").write_text("a\n" * 5_000)
    folder.poll()
    (logs / "copy").write_text("a\n" * 5_000 + "b\n")
    (logs / "copy").rename(logs / "one.jsonl")
    folder.poll()
    assert staged(staging) == b"a\n" * 5_000 + b"b\n"


def test_a_log_turned_into_parquet_gives_only_what_it_had_not_given(logs: Path, staging: Path) -> None:
    folder = LogFolder(logs, staging)
    log = FileLog(logs / "one.parquet")
    log.record(1.0, NodeId(1), Joined(1.0))
    folder.poll()
    log.record(2.0, NodeId(1), Counted(TrafficKind.SENT, "Flooded", 1, 10))
    log.close(3.0)
    assert not (logs / "one.parquet.jsonl").exists()
    assert folder.poll()
    assert not folder.poll()
    lines = staged(staging).decode().splitlines()
    assert ['"joined"' in lines[0], '"sent"' in lines[1]] == [True, True]
    assert (len(lines), folder.logs) == (2, 1)


def test_parquet_that_is_no_log_is_left_alone(logs: Path, staging: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), logs / "posts.parquet")
    (logs / "broken.parquet").write_bytes(b"PAR1")
    assert not LogFolder(logs, staging).poll()


def test_events_count_in_every_window_that_their_time_falls_into(spark: SparkSession, logs: Path) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    write_log(logs / "two.parquet", 2, TWO)
    watched = watch_once(logs, OPTIONS)
    assert shown(watched) == {
        (90.0, "insert"): (2, 1, 0),
        (90.0, "subscribe"): (1, 1, 0),
        (90.0, NOTIFICATIONS): (0, 0, 0),
        (100.0, "insert"): (2, 1, 1),
        (100.0, "subscribe"): (1, 1, 0),
        (100.0, NOTIFICATIONS): (0, 0, 0),
        (100.0, TRAFFIC): (0, 0, 0),
        (110.0, "insert"): (0, 0, 1),
        (110.0, TRAFFIC): (0, 0, 0),
    }
    found = {(each.from_s, each.what): each for each in watched.windows}
    assert found[100.0, "insert"].to_s == 120.0
    assert found[100.0, "insert"].success == 0.5
    assert found[110.0, "insert"].success == 0.0
    assert found[110.0, "insert"].latency_mean_s is None
    assert found[100.0, NOTIFICATIONS].notified == 1
    assert found[100.0, NOTIFICATIONS].latency_mean_s == pytest.approx(0.3)
    traffic = found[110.0, TRAFFIC]
    assert (traffic.air_frames, traffic.air_bytes) == (3, 600)
    assert (traffic.control_frames, traffic.control_bytes, traffic.dropped_frames) == (2, 80, 0)
    assert (watched.events, watched.malformed, watched.late, watched.logs) == (10, 0, 0, 2)


def test_latency_is_that_of_operations_that_succeeded(spark: SparkSession, logs: Path) -> None:
    records: list[tuple[float, LogRecord]] = [
        (101.0, OperationSucceeded(i, OperationKind.RETRIEVE, i / 100.0)) for i in range(1, 101)
    ]
    write_log(logs / "one.jsonl", 1, [*records, (101.0, OperationFailed(0, OperationKind.RETRIEVE, 50.0, "timeout"))])
    first = watch_once(logs, WatchOptions(window_s=20.0, slide_s=20.0)).windows[0]
    assert first.latency_mean_s == pytest.approx(0.505)
    assert first.latency_p95_s == pytest.approx(0.95)
    assert first.success == pytest.approx(100 / 101)


def test_malformed_lines_are_counted_and_do_no_harm(spark: SparkSession, logs: Path) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    bad = ["rubbish", "", "5", "[]", "null", "{}", '{"at_s": 1.0}', '{"at_s": "noon", "node": 1, "kind": "issued"}',
           '{"at_s": NaN, "node": 1, "kind": "issued"}', '{"at_s": 1e300, "node": 1, "kind": "issued"}',
           '{"at_s": 1.0, "node": 1, "kind"']  # fmt: skip
    (logs / "bad.jsonl").write_bytes("\n".join(bad).encode() + b"\n\xff\xfe\n" + b'{"torn')
    watched = watch_once(logs, OPTIONS)
    assert (watched.events, watched.malformed, watched.torn) == (len(ONE), len(bad) + 1, 1)
    assert shown(watched)[100.0, "insert"] == (2, 1, 1)


def test_figures_that_cannot_be_added_up_are_malformed(spark: SparkSession, logs: Path) -> None:
    write_log(logs / "one.jsonl", 1, [(101.0, OperationSucceeded(0, OperationKind.INSERT, 0.25))])
    line = (logs / "one.jsonl").read_text()
    changes = {'"value":0.25': ['"value":NaN', '"value":1e300', '"value":null'],
               '"size_bytes":0': ['"size_bytes":9223372036854775807', '"size_bytes":-9223372036854775808'],
               '"name":"insert"': ['"name":"[/red]"', '"name":null']}  # fmt: skip
    bad = [line.replace(old, new) for old, news in changes.items() for new in news]
    assert line not in bad
    (logs / "bad.jsonl").write_text("".join(bad * 2))
    watched = watch_once(logs, WatchOptions(window_s=20.0, slide_s=20.0))
    assert [(each.what, each.succeeded, each.latency_mean_s) for each in watched.windows] == [("insert", 1, 0.25)]
    assert (watched.events, watched.malformed) == (1, 2 * len(bad))


def settle(watch: LogStream, query: StreamingQuery) -> Watched:
    watch.poll()
    query.processAllAvailable()
    watch.count(query)
    return watch.watched()


def test_what_logs_gain_is_seen_and_what_comes_too_late_is_counted(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    (tmp_path / "work").mkdir()
    watch = LogStream(spark, logs, tmp_path / "work", OPTIONS)
    watch.poll()
    query = watch.begin()
    try:
        assert shown(settle(watch, query))[110.0, "insert"] == (0, 0, 1)
        write_log(logs / "one.jsonl", 1, [(112.0, OperationSucceeded(2, OperationKind.INSERT, 0.5))])
        write_log(logs / "new.jsonl", 3, [(163.0, OperationSucceeded(0, OperationKind.DELETE, 0.5))])
        grown = settle(watch, query)
        assert shown(grown)[110.0, "insert"] == (0, 1, 1)
        assert shown(grown)[160.0, "delete"] == (0, 1, 0)
        assert (grown.events, grown.late, grown.logs) == (len(ONE) + 2, 0, 2)
        write_log(logs / "one.jsonl", 1, [(113.0, OperationFailed(3, OperationKind.INSERT, 0.5, "timeout"))])
        after = settle(watch, query)
        assert shown(after)[110.0, "insert"] == (0, 1, 1)
        assert after.late > 0
    finally:
        query.stop()


def test_a_watch_with_a_checkpoint_goes_on_where_it_stopped_and_keeps_its_windows(
    spark: SparkSession, logs: Path, tmp_path: Path
) -> None:
    places = WatchPlaces(tmp_path / "windows", tmp_path / "checkpoint")
    write_log(logs / "one.jsonl", 1, ONE)
    first = watch_once(logs, OPTIONS, places=places)
    write_log(logs / "one.jsonl", 1, [(112.0, OperationSucceeded(2, OperationKind.INSERT, 0.5))])
    second = watch_once(logs, OPTIONS, places=places)
    assert (first.events, second.events) == (len(ONE), 1)
    assert shown(second)[110.0, "insert"] == (0, 1, 1), "what was counted before the restart counts"
    rows = spark.read.parquet(str(places.sink)).where("from_s = 110 and what = 'insert'").orderBy("batch").collect()
    assert [(row.succeeded, row.failed) for row in rows] == [(0, 1), (1, 1)]
    with pytest.raises(InputError, match="is the checkpoint of another watch"):
        watch_once(logs, WatchOptions(window_s=20.0, slide_s=20.0), places=places)


def test_an_increment_that_was_not_named_yet_is_staged_after_a_restart(logs: Path, staging: Path) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    LogFolder(logs, staging).poll()
    (whole,) = staging.glob("*.jsonl")
    whole.rename(staging / ".000000000.draft")
    (staging / ".000000001.draft").write_text("half a line")
    again = LogFolder(logs, staging)
    assert [path.name for path in staging.iterdir()] == ["000000000.jsonl"]
    assert not again.poll()


def test_only_the_newest_windows_are_kept(spark: SparkSession, logs: Path) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    few = WatchOptions(window_s=20.0, slide_s=10.0, max_windows=2)
    assert sorted({each.from_s for each in watch_once(logs, few).windows}) == [100.0, 110.0]


def test_the_view_tells_figures_and_what_went_wrong(spark: SparkSession, logs: Path) -> None:
    write_log(logs / "one.jsonl", 1, ONE)
    write_log(logs / "two.jsonl", 2, TWO)
    with (logs / "two.jsonl").open("a") as log:
        log.write("rubbish\n")
    console = Console(width=80, file=StringIO())
    console.print(view(watch_once(logs, OPTIONS), last=2))
    assert isinstance(console.file, StringIO)
    lines = [line.split() for line in console.file.getvalue().splitlines()]
    assert ["100–120", "s", "insert", "2", "50.0%", "500", "ms", "500", "ms"] in lines
    assert ["on", "the", "air", "3", "600"] in lines
    assert not [line for line in lines if line[:1] == ["90–110"]]
    told = "10 events of 2 logs · 1 earlier window not shown · 1 malformed line left out"
    assert " ".join(lines[-1]) == told


@contextmanager
def telling(*logs: list[tuple[float, LogRecord]]) -> Iterator[tuple[list[str], Callable[[], None]]]:
    """Nodes that tell what is given, in a thread of their own: where, and how to let them leave."""
    ready: Future[list[str]] = Future()
    leave = threading.Event()

    async def live() -> None:
        tellers = [SharedLog(number) for number in range(len(logs))]
        for number, (teller, records) in enumerate(zip(tellers, logs, strict=True)):
            await teller.open("127.0.0.1:0")
            for at_s, record in records:
                teller.record(at_s, NodeId(number), record)
            teller.close(records[-1][0])
        ready.set_result([address_text(teller.address) for teller in tellers])
        await asyncio.to_thread(leave.wait, 300.0)
        for teller in tellers:
            await teller.end()

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    try:
        yield ready.result(60.0), leave.set
    finally:
        leave.set()
        thread.join()


def test_nodes_that_tell_are_watched_like_their_logs(
    spark: SparkSession, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_log(logs / "one.jsonl", 0, ONE)
    write_log(logs / "two.jsonl", 1, TWO)
    spans: dict[str, Any] = {
        "window_s": 20.0,
        "slide_s": 10.0,
        "late_s": 15.0,
        "every_s": 0.1,
        "last": 5,
        "master": "local[2]",
    }
    watch([str(logs)], once=True, **spans)
    expected = capsys.readouterr().out
    with telling(ONE, TWO) as (addresses, _):
        watch(addresses, once=True, **spans)
        assert capsys.readouterr().out == expected


def test_a_watch_ends_when_all_nodes_have_left(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    spans: dict[str, Any] = {
        "window_s": 20.0,
        "slide_s": 10.0,
        "late_s": 15.0,
        "every_s": 0.1,
        "last": 5,
        "master": "local[2]",
    }
    with telling(ONE, TWO) as (addresses, leave):
        threading.Timer(1.0, leave).start()
        watch(addresses, once=False, **spans)
    told = capsys.readouterr().out
    assert "10 events of 2 logs" in told
    assert [f"{address}: left" in told for address in addresses] == [True, True]


def test_places_that_make_no_sense_are_refused(logs: Path) -> None:
    (logs / "one.jsonl").touch()
    for where, said in (
        ([str(logs), "127.0.0.1:9"], "is a folder among 2 places"),
        ([str(logs / "one.jsonl")], "is a file"),
        (["nowhere"], "no such folder, and it is no HOST:PORT"),
    ):
        with pytest.raises(InputError, match=said):
            watch(where)


def test_a_folder_without_events_is_refused(spark: SparkSession, logs: Path) -> None:
    with pytest.raises(InputError, match="contains no events"):
        watch_once(logs, OPTIONS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slide_s": 61.0}, "slide is 61.0 s; expected no more than the window, 60.0 s"),
        ({"window_s": 2_000.0, "slide_s": 1.0}, "expected at least 2.0 s"),
        ({"window_s": float("nan")}, "window is nan s"),
        ({"late_s": -1.0}, "late is -1.0 s"),
        ({"every_s": 0.0}, "every is 0.0 s"),
    ],
)
def test_spans_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        WatchOptions(**options)
