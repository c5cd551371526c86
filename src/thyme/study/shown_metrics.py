"""How a metric of the pipeline is shown to a person: its title, unit, scale and what it means.

A metric that is not listed is in `metrics.csv` all the same; what is listed gets a figure.
"""

from __future__ import annotations

import msgspec

from thyme.study.wording import duration, share

SUCCESS = "all.success"
RECALL = "recall"
NOTIFICATION_LATENCY = "notification.latency_s.p50"
LATE_NOTIFICATION = "notification.latency_s.p95"
AIR_BYTES = "phy_sent.bytes"
ENERGY = "energy.node_joules.mean"
DECIDING = (SUCCESS, RECALL, NOTIFICATION_LATENCY, AIR_BYTES, ENERGY)
"""What the answer rests on."""
OPERATIONS = ("insert", "delete", "subscribe", "unsubscribe", "retrieve")


class Shown(msgspec.Struct, frozen=True):
    metric: str
    title: str
    axis_label: str
    caption: str
    group: str
    short: str = ""
    scale: float = 1.0
    unit: str = ""
    high_is_good: bool = False
    """Whether a percentage is read from the top: its axis ends at 100 %."""

    @property
    def is_share(self) -> bool:
        return is_share(self.metric)

    @property
    def is_time(self) -> bool:
        return self.unit in ("s", "ms")

    def told(self, value: float) -> str:
        """A value of it, as a person reads it."""
        if self.is_share:
            return share(value)
        if self.is_time:
            return duration(value)
        return f"{value * self.scale:,.3g} {self.unit}".strip()

    @property
    def file(self) -> str:
        return self.metric.replace(".", "-").replace("_", "-")


def is_share(metric: str) -> bool:
    """Whether a metric is between 0 and 1 and shown as a percentage."""
    return metric.split(".")[-1] in {"success", "recall", "delivery", "coverage", "share"}


WORKS, FAST, COSTS = "Does it work?", "How fast is it?", "What does it cost?"

SHOWN_METRICS: tuple[Shown, ...] = (
    Shown(SUCCESS, "Operations that succeed", "of all operations", "The share of inserts, deletes, "
            "subscriptions, unsubscriptions and retrieves that succeeded.", WORKS, high_is_good=True),
    Shown(RECALL, "Notifications that arrive", "of expected notifications", "Of the notifications that a perfect, "
            "instant execution of the same operations would give.", WORKS, high_is_good=True),
    Shown(NOTIFICATION_LATENCY, "Time until a notification", "seconds, median", "Half of the notifications "
            "arrive sooner. Counted from publication, subscription or the request for more, whichever is latest.", FAST,
            unit="s"),
    Shown(LATE_NOTIFICATION, "Late notifications", "seconds, 95th percentile", "One notification in twenty takes "
            "longer than this.", FAST, unit="s"),
    Shown("all.latency_s.p50", "Time until an operation is answered", "seconds, median", "From issuing an operation "
            "until it succeeds, over all kinds.", FAST, unit="s"),
    Shown("retrieve.latency_s.p50", "Time to retrieve an object", "seconds, median", "From asking for an object "
            "until its content is complete.", FAST, unit="s"),
    Shown(AIR_BYTES, "Traffic on the air", "MB sent by all radios", "All bytes sent by radios, "
            "including frames that the link repeated.", COSTS, scale=1e-6, unit="MB"),
    Shown("forwarded.bytes", "Traffic for others", "MB forwarded", "Bytes of messages that nodes passed "
            "on for others, without the radio's headers.", COSTS, scale=1e-6, unit="MB"),
    Shown("control.share", "Routing control", "of bytes on the air", "The share of routing's own messages, with "
            "their headers, in all that radios send.", COSTS),
    Shown("retransmitted.frames", "Frames repeated by the link", "frames", "Unicast frames that the radio "
            "had to send again.", COSTS),
    Shown("given_up.frames", "Frames given up by the link", "frames", "Unicast frames that were lost after "
            "all retries.", COSTS),
    Shown(ENERGY, "Energy", "joules per node", "Energy that a radio used in the whole run, "
            "including listening.", COSTS, unit="J"),
    Shown("load.gini", "Uneven load", "0: all alike, 1: one sends all", "How unequally the bytes on the air "
            "fall on devices (Gini's coefficient).", COSTS),
)  # fmt: skip

SUCCESS_PARTS: tuple[Shown, ...] = (
    *(Shown(f"{kind}.success", kind, "succeed", "", WORKS, short=kind, high_is_good=True) for kind in OPERATIONS),
    Shown(RECALL, "notifications", "succeed", "", WORKS, short="notification", high_is_good=True),
)

LATENCY_PARTS: tuple[Shown, ...] = (
    *(Shown(f"{kind}.latency_s.p50", kind, "seconds, median", "", FAST, short=kind, unit="s") for kind in OPERATIONS),
    Shown(NOTIFICATION_LATENCY, "notification", "seconds, median", "", FAST, short="notification", unit="s"),
)
