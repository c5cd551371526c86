"""What Spark did, by the stages of the pipeline, read from an event log that is kept for a while."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession


class StageUse(msgspec.Struct):
    """Jobs, tasks and bytes of one stage of the pipeline."""

    jobs: int = 0
    tasks: int = 0
    read_bytes: int = 0
    shuffled_bytes: int = 0
    texts: tuple[str, ...] = ()


@contextmanager
def event_log(spark: SparkSession, folder: Path) -> Iterator[None]:
    """Spark's own event log of what happens in here."""
    context, java = spark.sparkContext._jsc.sc(), spark.sparkContext._jvm
    assert java is not None
    settings = context.conf().clone().set("spark.eventLog.compress", "false")
    none, place, hadoop = java.scala.Option.empty(), java.java.net.URI(folder.as_uri()), context.hadoopConfiguration()
    log = java.org.apache.spark.scheduler.EventLoggingListener("log", none, place, settings, hadoop)
    log.start()
    context.addSparkListener(log)
    try:
        yield
        context.listenerBus().waitUntilEmpty()
    finally:
        context.removeSparkListener(log)
        log.stop()


def uses_of(folder: Path) -> dict[str, StageUse]:
    """By the job groups that the pipeline sets; jobs of no group are not its."""
    lines = (line for log in sorted(folder.rglob("events_*")) for line in log.read_text().splitlines())
    return {group: use for group, use in _uses(json.loads(line) for line in lines).items() if group}


def _uses(events: Iterable[dict[str, Any]]) -> dict[str, StageUse]:
    uses: dict[str, StageUse] = {}
    groups: dict[int, str] = {}
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            properties = event.get("Properties") or {}
            group = properties.get("spark.jobGroup.id", "")
            use = uses.setdefault(group, StageUse())
            use.jobs += 1
            use.texts = (*use.texts, properties.get("spark.job.description", ""))
            groups |= dict.fromkeys(event["Stage IDs"], group)
        elif event["Event"] == "SparkListenerTaskEnd":
            use = uses[groups[event["Stage ID"]]]
            metrics = event.get("Task Metrics") or {}
            use.tasks += 1
            use.read_bytes += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
            use.shuffled_bytes += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return uses
