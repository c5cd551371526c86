"""A node's counters in the text format of Prometheus, at `GET /metrics`.

The interface adds a log to its node's that keeps sums instead of events: operations and how they ended, notifications,
and traffic by type of message. The rest is read from the node when it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import psutil

from thyme.live.node.node import Node
from thyme.live.store.disk import DiskStore
from thyme.live.views import held_views
from thyme.model.ids import NodeId
from thyme.model.records import Counted, LogRecord, Notified, OperationFailed, OperationSucceeded, TrafficKind

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MAX_SERIES = 1_000
"""Sums of one kind that are kept apart: reasons may quote what a peer sent. All others are summed as `other`."""
MAX_LABEL_CHARS = 100

Labels = tuple[tuple[str, str], ...]
Sample = tuple[Labels, float]


class NodeSums:
    """A log that keeps sums."""

    def __init__(self) -> None:
        self.messages: Counter[tuple[str, ...]] = Counter()
        self.bytes: Counter[tuple[str, ...]] = Counter()
        """By kind of traffic, type of message and reason."""
        self.operations: Counter[tuple[str, ...]] = Counter()
        self.seconds: dict[tuple[str, ...], float] = {}
        """By kind of operation, and how it ended."""
        self.notifications = 0
        self.notification_s = 0.0

    def record(self, at_s: float, node: NodeId, event: LogRecord) -> None:
        match event:
            case Counted(traffic, name, count, size_bytes, reason):
                key = (traffic.value, name, reason)
                if key not in self.messages and len(self.messages) >= MAX_SERIES:
                    key = (traffic.value, "other", "other")
                self.messages[key] += count
                self.bytes[key] += size_bytes
            case OperationSucceeded(_, kind, latency_s):
                self._operation(kind.value, "succeeded", latency_s)
            case OperationFailed(_, kind, latency_s, reason):
                self._operation(kind.value, "refused" if reason.startswith("refused") else "failed", latency_s)
            case Notified(_, _, delay_s):
                self.notifications += 1
                self.notification_s += delay_s
            case _:
                pass

    def close(self, at_s: float) -> None:
        """Nothing is kept open."""

    def traffic(self, kind: TrafficKind) -> tuple[int, int]:
        """(messages, bytes)"""
        keys = [key for key in self.messages if key[0] == kind.value]
        return sum(self.messages[key] for key in keys), sum(self.bytes[key] for key in keys)

    def _operation(self, kind: str, ended: str, latency_s: float) -> None:
        self.operations[kind, ended] += 1
        self.seconds[kind, ended] = self.seconds.get((kind, ended), 0.0) + latency_s


def metrics_text(node: Node, sums: NodeSums) -> str:
    """All that there is to monitor of a node."""
    device, process = node.device, psutil.Process()
    offset_s = device.host.time.correction_s
    traffic = ("kind", "message", "reason")
    ended = ("operation", "outcome")
    about = (("node", str(node.id)), ("approach", node.options.approach), ("namespace", node.namespace.name))
    lines = [
        *_metric("info", "gauge", "Identity of the node.", [(about, 1)]),
        *_metric("up_seconds", "gauge", "Time since the node was opened.", [((), node.up_s)]),
        *_metric("joined", "gauge", "1 if the node has joined the crowd.", [((), device.joined.is_set())]),
        *_metric("peers", "gauge", "Nodes in range.", [((), len(device.neighbours()))]),
        *_metric("subscriptions", "gauge", "Subscriptions of this node.", [((), len(node.subscriptions()))]),
        *_metric("known_objects", "gauge", "Objects inserted or notified of.", [((), len(node.known()))]),
        *_metric("time_offset_seconds", "gauge", "Crowd's time minus the device's.", [((), offset_s)]),
        *_metric("operations_total", "counter", "Operations completed.", _samples(ended, sums.operations)),
        *_metric(
            "operation_seconds_total",
            "counter",
            "Total duration of completed operations.",
            _samples(ended, sums.seconds),
        ),
        *_metric("notifications_total", "counter", "Notifications.", [((), sums.notifications)]),
        *_metric("notification_seconds_total", "counter", "Delays of notifications.", [((), sums.notification_s)]),
        *_metric("messages_total", "counter", "Messages by outcome.", _samples(traffic, sums.messages)),
        *_metric("message_bytes_total", "counter", "Bytes of messages by outcome.", _samples(traffic, sums.bytes)),
    ]
    held = held_views(node)
    held_count: list[Sample] = [((("name", each.name),), float(each.count)) for each in held]
    held_bytes: list[Sample] = [((("name", each.name),), float(each.size_bytes)) for each in held]
    lines += _metric("held", "gauge", "Items that the node holds, for itself and for others.", held_count)
    lines += _metric("held_bytes", "gauge", "Bytes of items held.", held_bytes)
    store = device.host.store
    if isinstance(store, DiskStore):
        lines += _metric("store_bytes", "gauge", "Records and contents in the store.", [((), store.room.held_bytes)])
        lines += _metric("disk_free_bytes", "gauge", "Free space on the disk.", [((), store.room.free_bytes)])
    lines += _metric("memory_bytes", "gauge", "Resident memory of the process.", [((), process.memory_info().rss)])
    cpu = process.cpu_times()
    lines += _metric("cpu_seconds_total", "counter", "Processor time of the process.", [((), cpu.user + cpu.system)])
    return "\n".join(lines) + "\n"


def _samples(names: tuple[str, ...], counts: Mapping[tuple[str, ...], float]) -> Iterable[Sample]:
    for key, value in sorted(counts.items()):
        yield tuple(zip(names, key, strict=True)), float(value)


def _metric(name: str, kind: str, about: str, samples: Iterable[Sample]) -> list[str]:
    lines = [f"# HELP thyme_{name} {about}", f"# TYPE thyme_{name} {kind}"]
    for labels, value in samples:
        shown = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        lines.append(f"thyme_{name}{{{shown}}} {value:g}" if shown else f"thyme_{name} {value:.15g}")
    return lines


def _escaped(text: str) -> str:
    return text[:MAX_LABEL_CHARS].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
