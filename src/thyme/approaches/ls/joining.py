"""Joining Thyme-LS: a node asks its neighbours for the subscriptions it missed (Thyme FGCS §5).

All neighbours receive the request; each answers with a probability, after a random delay, so that the answers neither
flood the neighbourhood nor collide. The probability is the wanted number of answers divided by the number of recent
neighbours. A node that receives no answer in all its tries considers itself alone. Long answers are split over several
frames.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from thyme.host import Host, Timer
from thyme.model.ids import NodeId
from thyme.model.records import Joined
from thyme.model.subscriptions import Subscription
from thyme.routing.broadcasts import BroadcastHandler
from thyme.routing.tables import HeardTable
from thyme.wire.codec import FrameBytes
from thyme.wire.message import Message
from thyme.wire.storage import JoinReply, JoinRequest, Revocation

REPLIES = 3.0
"""Answers wanted: each of N neighbours answers with probability `REPLIES` / N."""
MAX_NEIGHBOURS = 500
"""Remembered as heard."""
MAX_REVOKED = 400
"""Revocations in one frame: where they are signed, each takes a hundred bytes more."""


class JoinOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    wait_s: float = 1.0
    """How long a request waits for an answer; the answers are delayed by up to `delay_s` of it."""
    tries: int = 3
    """How often a joining node asks."""
    delay_s: float = 0.5
    """Longest random delay of an answer."""
    reply_bytes: FrameBytes = 1_200
    """Subscriptions are handed over in frames of about this size."""
    heard_s: float = 300.0
    """A neighbour not heard for this long no longer counts; a network without beacons may be quiet for minutes."""


class Joining:
    """Both sides of joining: asking, and answering others."""

    def __init__(
        self,
        host: Host,
        options: JoinOptions,
        hand_over: Callable[[], tuple[list[Subscription], list[Revocation]]],
        learn: Callable[[tuple[Subscription, ...], tuple[Revocation, ...]], object],
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """`done` is called when this node has joined."""
        self._host = host
        self._options = options
        self._hand_over = hand_over
        self._learn = learn
        self._done = done
        self._heard = HeardTable(MAX_NEIGHBOURS)
        self._request = host.random.getrandbits(40)
        self._tries = 0
        self._started_s = 0.0
        self._timer: Timer | None = None
        self._answers: dict[tuple[NodeId, int], Timer] = {}
        self.joined = False

    def start(self) -> None:
        self._started_s = self._host.now()
        self._ask()

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def heard(self, sender: NodeId) -> None:
        self._heard.note(sender, self._host.now())

    def broadcast_handler(self) -> BroadcastHandler:
        """Note that a frame of a neighbour was received."""
        return BroadcastHandler(self._heard, lambda sender, *_: self.heard(sender))

    def silent_since(self, at_s: float) -> bool:
        """Whether no frame of a neighbour was received since `at_s`."""
        return self._heard.count_since(at_s) == 0

    def receive(self, sender: NodeId, message: Message) -> None:
        match message:
            case JoinRequest(request):
                self._on_request(sender, request)
            case JoinReply():
                self._on_reply(message)
            case _:
                pass

    def _neighbours(self) -> int:
        return self._heard.count_since(self._host.now() - self._options.heard_s)

    def _ask(self) -> None:
        if self._tries >= self._options.tries:
            self._finish()
            return
        self._tries += 1
        self._timer = self._host.after(self._options.wait_s, self._ask)
        self._host.broadcast(JoinRequest(self._request))

    def _finish(self) -> None:
        self.joined = True
        self._done()
        self._host.record(Joined(self._host.now() - self._started_s))

    def _on_request(self, sender: NodeId, request: int) -> None:
        if not self.joined or (sender, request) in self._answers:
            return
        if self._host.random.random() >= REPLIES / max(1, self._neighbours()):
            return
        delay_s = self._host.random.uniform(0.0, self._options.delay_s)
        self._answers[(sender, request)] = self._host.after(delay_s, lambda: self._answer(sender, request))

    def _answer(self, joiner: NodeId, request: int) -> None:
        self._answers.pop((joiner, request), None)
        subscriptions, revoked = self._hand_over()
        batches = in_batches(subscriptions, self._options.reply_bytes)
        count = max(len(batches), -(-len(revoked) // MAX_REVOKED))
        for i in range(count):
            batch = batches[i] if i < len(batches) else ()
            keys = tuple(revoked[i * MAX_REVOKED : (i + 1) * MAX_REVOKED])
            self._host.unicast(joiner, JoinReply(request, batch, count - 1 - i, keys))

    def _on_reply(self, reply: JoinReply) -> None:
        if reply.request != self._request:
            return
        self._learn(reply.subscriptions, reply.revoked)
        if reply.left == 0 and not self.joined:
            if self._timer:
                self._timer.cancel()
            self._finish()


def in_batches(subscriptions: list[Subscription], size_bytes: int) -> list[tuple[Subscription, ...]]:
    batches: list[tuple[Subscription, ...]] = []
    batch: list[Subscription] = []
    room = size_bytes
    for subscription in subscriptions:
        size = len(msgspec.msgpack.encode(subscription))
        if batch and size > room:
            batches.append(tuple(batch))
            batch, room = [], size_bytes
        batch.append(subscription)
        room -= size
    batches.append(tuple(batch))
    return batches
