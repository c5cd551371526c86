"""The closed loop of a device's user (Thyme FGCS §10.2): the next operation comes when the last one has ended.

A publisher inserts small objects and deletes some of them; a subscriber subscribes to tags, past and future, retrieves
what it was notified of, and unsubscribes. What can be done next is drawn; between two operations the user looks at the
screen for a moment.
"""

from __future__ import annotations

from random import Random
from typing import Literal

import msgspec

from thyme.approaches.user import User
from thyme.live.emulation.meter import Meter
from thyme.live.node.host import LiveHost
from thyme.model.errors import InputError
from thyme.model.frames import TimeFrame
from thyme.model.objects import Metadata
from thyme.model.queries import parse_query
from thyme.model.records import OperationKind
from thyme.model.settings.bounds import AtLeastOne, NotNegative

Role = Literal["publisher", "subscriber"]
MAX_WAITING = 1_000
"""Notified objects that a subscriber remembers; of more, the oldest are not retrieved."""


class LoopOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    role: Role = "publisher"
    tags: tuple[str, ...] = ("goal",)
    size_bytes: AtLeastOne = 35
    """Of an object, and of the thumbnail in its metadata (§10.2)."""
    pause_s: NotNegative = 1.0
    """Between two operations, from half to one and a half times as long."""
    kept: AtLeastOne = 3
    """Objects, or subscriptions, that a user has before the first is deleted, or ended."""


class ClosedLoop:
    """The user of one device at work, from `begin` to `end`."""

    def __init__(self, user: User, host: LiveHost, meter: Meter, options: LoopOptions, seed: int) -> None:
        self._user = user
        self._host = host
        self._meter = meter
        self._options = options
        self._random = Random(f"{seed}/{user.node}/loop")
        self._going = False
        self._number = 0
        self._objects: list[str] = []
        self._subscriptions: list[int] = []
        self._waiting: list[Metadata] = []

    def begin(self) -> None:
        self._going = True
        self._host.after(self._random.uniform(0.0, self._options.pause_s), self._next)

    def end(self) -> None:
        """After what is under way."""
        self._going = False

    def told(self, metadata: Metadata) -> None:
        """The user was notified."""
        self._waiting = [*self._waiting, metadata][-MAX_WAITING:]

    def _next(self) -> None:
        if not self._going:
            return
        kind = self._random.choice(self._choices())
        try:
            with self._meter.issuing(kind.value):
                self._issue(kind)
        except InputError:  # for example a notification of a subscription that has just ended
            self._ended("")

    def _choices(self) -> list[OperationKind]:
        kept = self._options.kept
        if self._options.role == "publisher":
            return [OperationKind.INSERT, *([OperationKind.DELETE] if len(self._objects) > kept else [])]
        choices = [OperationKind.RETRIEVE] * 2 if self._waiting else []
        if len(self._subscriptions) <= kept:
            choices.append(OperationKind.SUBSCRIBE)
        return [*choices, *([OperationKind.UNSUBSCRIBE] if len(self._subscriptions) > 1 else [])]

    def _issue(self, kind: OperationKind) -> None:
        user, number = self._user, self._user.numbers.take()
        match kind:
            case OperationKind.INSERT:
                name, tag = self._name("photo"), self._random.choice(self._options.tags)
                content = name.encode().ljust(self._options.size_bytes, b".")[: self._options.size_bytes]
                self._objects.append(name)
                user.insert(number, name, content, (tag,), content, self._ended)
            case OperationKind.DELETE:
                user.delete(number, self._objects.pop(0), self._ended)
            case OperationKind.SUBSCRIBE:
                self._number += 1
                self._subscriptions.append(self._number)
                start_s = None if self._random.random() < 0.5 else self._host.now()
                query = parse_query(self._random.choice(self._options.tags))
                user.subscribe(number, query, TimeFrame(start_s, None), self._number, self._ended)
            case OperationKind.UNSUBSCRIBE:
                user.unsubscribe(number, self._subscriptions.pop(0), self._ended)
            case _:
                user.retrieve(number, self._waiting.pop(), self._ended)

    def _ended(self, failure: str) -> None:
        self._meter.under_way = ""
        pause_s = self._options.pause_s * self._random.uniform(0.5, 1.5)
        self._host.after(pause_s, self._next)

    def _name(self, what: str) -> str:
        self._number += 1
        return f"{what}{self._number}"
