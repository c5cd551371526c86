"""Operations: what users will ask for, and when. A trace is a list of them in time order.

The pipeline writes traces as Parquet, a person may write one as CSV, and the simulator and a live crowd play
them. Objects and subscriptions are named as in the model, so that the ground truth and the log speak of the
same things. Retrievals and requests for more are reactions to notifications, so a trace only carries the policy
for them (`RetrievalPolicy`), not the operations.
"""

from __future__ import annotations

import msgspec

from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.ids import NodeId, ObjectKey, SubscriptionKey
from thyme.model.records import OperationKind

MAX_TRACE_OPERATIONS = 10_000_000

TRACE_COLUMNS: tuple[tuple[str, str], ...] = (
    ("operation", "int64"),
    ("at_s", "float64"),
    ("node", "int64"),
    ("kind", "string"),
    ("oid", "string"),
    ("tags", "list<string>"),
    ("text", "string"),
    ("size_bytes", "int64"),
    ("summary_bytes", "int64"),
    ("sid", "int64"),
    ("query", "string"),
    ("start_s", "float64"),
    ("end_s", "float64"),
)


class Operation(msgspec.Struct, frozen=True):
    """One operation of a trace.

    `operation` numbers the operations of a trace from 0 in time order. An insert names an object (`oid`) with its
    tags and either its `text` or only a size (the content is then made up from the key); a delete names the same
    `oid`. A subscribe gives its number `sid`, its query and the time frame; an unsubscribe names the same `sid`.
    The `end_s` of an insert is when the object expires.
    """

    operation: int
    at_s: float
    node: NodeId
    kind: OperationKind
    oid: str = ""
    tags: tuple[str, ...] = ()
    text: str = ""
    size_bytes: int = 0
    summary_bytes: int = 0
    sid: int = -1
    query: str = ""
    start_s: float | None = None
    end_s: float | None = None

    @property
    def object_key(self) -> ObjectKey:
        return ObjectKey(self.oid, self.node)

    @property
    def subscription_key(self) -> SubscriptionKey:
        return SubscriptionKey(self.sid, self.node)

    @property
    def frame(self) -> TimeFrame:
        return TimeFrame(self.start_s, self.end_s)

    def content(self) -> bytes:
        """The object's bytes: its text, or `size_bytes` of a pattern that depends on its name."""
        if self.size_bytes <= 0:
            return self.text.encode()
        pattern = (self.text or str(self.object_key)).encode()
        return (pattern * (self.size_bytes // len(pattern) + 1))[: self.size_bytes]

    def summary(self) -> bytes:
        pattern = (self.text or str(self.object_key)).encode()
        return (pattern * (self.summary_bytes // len(pattern) + 1))[: self.summary_bytes]


class RetrievalPolicy(msgspec.Struct, frozen=True):
    """Which notified objects a user fetches, and how long they look at a notification first (FGCS §3.4 leaves it to
    the application; the delay is drawn uniformly)."""

    probability: float = 1.0
    """Share of notified objects that a user retrieves."""
    delay_low_s: float = 0.1
    """A user retrieves after a delay, drawn uniformly from here …"""
    delay_high_s: float = 2.0
    """… to here."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.probability <= 1.0:
            raise InputError(f"retrieval probability is {self.probability}; expected a value from 0 to 1")
        if not 0.0 <= self.delay_low_s <= self.delay_high_s:
            raise InputError(f"retrieval delay is {self.delay_low_s} to {self.delay_high_s} s; expected 0 ≤ low ≤ high")
