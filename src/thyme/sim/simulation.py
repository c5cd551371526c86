"""A simulation: nodes on an engine, with a radio between them.

Every frame is charged its true encoded size, and the radio is given a number for it; what the radio tells is handed to
the machines of the nodes (`sim.machine`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa

from thyme.model.ids import NodeId
from thyme.model.records import TrafficKind
from thyme.routing.hearing import Hearing
from thyme.sim.audience import Audience
from thyme.sim.collecting import seldom_collecting
from thyme.sim.engine import Engine
from thyme.sim.faults import Pass, Rule, verdict
from thyme.sim.machine import Failed, SimulatedHost
from thyme.sim.paging import large_pages
from thyme.sim.radios.radio import Happening, Radio, Told
from thyme.sim.recorder import Recorder
from thyme.sim.stops import END, STEP, TELL, TELL_ONE
from thyme.wire.dsdv import TableUpdate
from thyme.wire.message import Message
from thyme.wire.signing import CHARGING, PLAIN
from thyme.world.mobility.movement import Movement

if TYPE_CHECKING:
    from thyme.sim.updates.player import Player

MAX_KEPT_FRAMES = 2_000_000
FRAME_MEMORY_S = 0.01
"""How long a frame is remembered after its sender is done: the farthest hearer is told a little later."""
FORGET_AFTER = 1 << 10
"""After so many frames those are forgotten that were sent meanwhile and nobody was told of."""
FRAME_SCHEMA = pa.schema(
    [
        ("at_s", pa.float64()),
        ("sender", pa.int64()),
        ("to", pa.int64()),
        ("message", pa.string()),
        ("size_bytes", pa.int64()),
    ]
)


_RECEIVED, _SENT, _GIVEN_UP = int(Happening.RECEIVED), int(Happening.SENT), int(Happening.GIVEN_UP)


class _Kind:
    """A class of messages: its name, where its frames are counted, and who takes them in together."""

    __slots__ = ("air_control", "audience", "forwarded", "name", "received", "sent")

    def __init__(self, kind: type[Message], simulation: Simulation) -> None:
        recorder = simulation.recorder
        self.name = kind.__name__
        self.sent = recorder.tally(TrafficKind.SENT, self.name)
        self.received = recorder.tally(TrafficKind.RECEIVED, self.name)
        if kind.control:
            recorder.count_as(TrafficKind.CONTROL, self.name, self.sent)
        self.air_control = recorder.tally(TrafficKind.PHY_CONTROL, self.name) if kind.control else None
        passes_on = kind.forwarded_by is not Message.forwarded_by
        self.forwarded = recorder.tally(TrafficKind.FORWARDED, self.name) if passes_on else None
        self.audience = simulation.audience(kind)
        for tally in (self.sent, self.received, self.air_control, self.forwarded):
            if tally is not None:
                tally.make_room(len(simulation.hosts))


class Frame:
    """A frame on its way: what is in it, who sent it in which of their lives, and whom to tell if it fails."""

    __slots__ = ("failed", "kind", "life", "message", "refused", "sender", "size_bytes")

    def __init__(self, message: Message, kind: _Kind, sender: int, life: int, size_bytes: int, failed: Failed) -> None:
        self.message = message
        self.kind = kind
        self.sender = sender
        self.life = life
        self.size_bytes = size_bytes
        self.failed = failed
        self.refused = False


class Simulation:
    """The world of one run."""

    def __init__(
        self,
        movement: Movement,
        radio: Radio,
        seed: int,
        rules: Sequence[Rule] = (),
        recorder: Recorder | None = None,
        *,
        signed: bool = False,
    ) -> None:
        """`signed`: statements carry the proofs that they carry on live nodes, as far as their size goes."""
        self.engine = Engine()
        self.recorder = recorder or Recorder()
        self.movement = movement
        self.radio = radio
        self.rules = tuple(rules)
        self.fault_random = Random(f"{seed}/faults")
        codec = CHARGING if signed else PLAIN
        self.hosts = [SimulatedHost(self, NodeId(i), seed, codec) for i in range(movement.nodes)]
        self._frames: dict[int, Frame] = {}
        self._ended: deque[tuple[float, int]] = deque()
        self._tokens = 0
        self._kinds: dict[type[Message], _Kind] = {}
        self._hearing = Hearing(movement.nodes)
        self._player: Player | None = None
        self._frame_log: list[tuple[float, int, int, str, int]] | None = None
        if not self.rules:
            radio.be_quiet()

    @property
    def played_updates(self) -> int:
        """How many frames were sent without Python, in all runs that have ended."""
        return 0 if self._player is None else self._player.played

    def keep_frames(self) -> None:
        """Remember every frame that is sent (the first `MAX_KEPT_FRAMES`), for a replay."""
        self._frame_log = []

    def frames(self) -> pa.Table | None:
        if self._frame_log is None:
            return None
        columns = list(zip(*self._frame_log, strict=True)) or [(), (), (), (), ()]
        return pa.table(list(map(list, columns)), schema=FRAME_SCHEMA)

    def run(self, until_s: float, progress: Callable[[float], None] | None = None) -> None:
        """Let everything happen up to `until_s`."""
        with seldom_collecting(), large_pages():
            self._run(until_s, progress)
        for kind in self._kinds.values():
            kind.audience.count(kind.received)
        if self._player is not None:
            kind = self._kinds[TableUpdate]
            refused = self.recorder.tally(TrafficKind.DROPPED, kind.name, "radio queue full")
            assert kind.air_control is not None, "updates are control"
            self._player.count(kind.sent, kind.air_control, refused)

    def _run(self, until_s: float, progress: Callable[[float], None] | None) -> None:
        engine = self.engine
        told_s = engine.now_s
        while self._go_on(until_s) if self._player is None else self._play_on(until_s, self._player):
            if progress and engine.now_s - told_s >= 1.0:
                told_s = engine.now_s
                progress(told_s)
        engine.now_s = until_s

    def _go_on(self, until_s: float) -> bool:
        """Let the next thing happen; whether there was one."""
        next_s, _ = self.engine.next()
        if self.radio.advance(next_s if next_s < until_s else until_s):
            self._tell(self.radio.told())
        elif next_s > until_s:
            return False
        else:
            self._step()
        return True

    def _step(self) -> None:
        """The engine's next action, which is not earlier than what the radio had to say before it."""
        self.engine.now_s = max(self.engine.now_s, self.radio.ended_s)
        self.engine.step()

    def _play_on(self, until_s: float, player: Player) -> bool:
        """The same where updates are played without us."""
        done = player.play(until_s)
        if done == TELL:
            self._tell([player.told()])
        elif done == TELL_ONE:
            self._tell([player.told_one()])
        elif done == STEP:
            self._step()
        return done != END

    def send(self, sender: int, to: int, message: Message, failed: Failed) -> None:
        host = self.hosts[sender]
        size_bytes = len(host.codec.encode(message))
        kind = self._kinds.get(type(message))
        if kind is None:
            kind = self._meet(type(message))
        kind.sent.counts[sender] += 1
        kind.sent.sizes[sender] += size_bytes
        if kind.forwarded is not None and message.forwarded_by(sender):
            kind.forwarded.counts[sender] += 1
            kind.forwarded.sizes[sender] += size_bytes
        if self._frame_log is not None and len(self._frame_log) < MAX_KEPT_FRAMES:
            self._frame_log.append((self.engine.now_s, sender, to, kind.name, size_bytes))
        self._tokens += 1
        token = self._tokens
        if token % FORGET_AFTER == 0:
            for sent in self.radio.take_ended(self.engine.now_s - FRAME_MEMORY_S):
                del self._frames[sent]
        frame = self._frames[token] = Frame(message, kind, sender, host.life, size_bytes, failed)
        now_s = max(self.engine.now_s, self.radio.now_s)
        if to < 0:
            accepted = self.radio.broadcast(now_s, sender, token, size_bytes)
        else:
            accepted = self.radio.unicast(now_s, sender, to, token, size_bytes)
        if not accepted:
            del self._frames[token]
            self.recorder.count(sender, TrafficKind.DROPPED, kind.name, 1, size_bytes, "radio queue full")
            if frame.failed is not None:
                host.after(0.0, frame.failed)
        elif kind.air_control is not None:
            kind.air_control.add(sender, 1, size_bytes + self.radio.header_bytes)

    def _meet(self, kind: type[Message]) -> _Kind:
        """Messages of a kind are sent for the first time."""
        met = self._kinds[kind] = _Kind(kind, self)
        if kind is TableUpdate and met.audience.most_lent and not self.rules and self._frame_log is None:
            from thyme.sim.updates.player import player_of

            self._player = player_of(self.engine, self.radio, met.audience, self.hosts)
        return met

    def audience(self, kind: type[Message]) -> Audience:
        """Those who are there to hear messages of a kind together."""
        return Audience(kind, self.engine, self.hosts, self._hearing)

    def changed(self, node: NodeId) -> None:
        """A node's life has begun or ended."""
        if self._player is not None:
            self._player.change(node)
        for kind in self._kinds.values():
            kind.audience.change(node)

    def _tell(self, happenings: list[Told]) -> None:
        engine, frames, hosts, rules = self.engine, self._frames, self.hosts, self.rules
        for told in happenings:
            frame = frames[told.frame] if told.frame >= 0 else self._played(told)
            if told.what != _RECEIVED:
                self._end(told, frame)
            elif rules:
                for at_s, _, node, peer, _ in told.among.rows[told.begin : told.end].tolist():
                    engine.now_s = max(engine.now_s, at_s)
                    self._receive(node, peer, frame)
            elif frame.kind.audience.together:
                frame.kind.audience.hear(told, frame.message, frame.size_bytes)
            elif told.end - told.begin == 1:
                engine.now_s = max(engine.now_s, told.at_s)
                hosts[told.node].hear(told.peer, frame)
            else:
                for at_s, _, node, peer, _ in told.among.rows[told.begin : told.end].tolist():
                    engine.now_s = max(engine.now_s, at_s)
                    hosts[node].hear(peer, frame)
        while self._ended and self._ended[0][0] < engine.now_s:
            del self._frames[self._ended.popleft()[1]]

    def _played(self, told: Told) -> Frame:
        """A frame that the player has sent."""
        assert self._player is not None
        message, size_bytes = self._player.message(told)
        return Frame(message, self._kinds[TableUpdate], told.peer, -1, size_bytes, None)

    def _end(self, told: Told, frame: Frame) -> None:
        """The sender is done with a frame."""
        self.engine.now_s = max(self.engine.now_s, told.at_s)
        self._ended.append((told.at_s + FRAME_MEMORY_S, told.frame))
        failed = told.what == _GIVEN_UP or (told.what == _SENT and frame.refused)
        if failed and frame.failed and self.hosts[frame.sender].life == frame.life:
            frame.failed()

    def _receive(self, node: int, sender: int, frame: Frame) -> None:
        """What the scenario's faults let through."""
        host = self.hosts[node]
        answer = verdict(self.rules, self, sender, node, frame.message)
        if isinstance(answer, Pass):
            host.hear(sender, frame)
        elif answer.delay_s is None:
            frame.refused = True
            self.recorder.count(node, TrafficKind.DROPPED, frame.kind.name, 1, frame.size_bytes, "fault")
        else:
            frame.refused = False
            host.after(answer.delay_s, lambda: host.hear(sender, frame))
