"""DSDV of all nodes of a run: who plays its triggered updates without Python (`updates.play`), and owns their memory.

A node's timers that end settling and tell news are alarms here, and what they make it tell is a frame here. Everything
else that a node does is its protocol's, over the same tables. Alarms and the engine's actions are numbered by one
counter, so both happen in the order in which they would have happened in the engine alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, Protocol

import numpy as np

from thyme.compiled import address_book
from thyme.routing.dsdv.duties import SETTLE, TRIGGER
from thyme.routing.dsdv.kernel import SAID
from thyme.routing.dsdv.table import read_together
from thyme.routing.dsdv.writing import ENTRY
from thyme.routing.noting import note_together
from thyme.sim.audience import Audience, Listener
from thyme.sim.engine import Engine
from thyme.sim.radios.radio import Told
from thyme.sim.radios.wifi.building import chained
from thyme.sim.radios.wifi.ether import Wifi
from thyme.sim.radios.wifi.state import free_rows
from thyme.sim.recorder import Tally
from thyme.sim.stops import LATE, ROOM
from thyme.sim.updates.mersenne import state_address
from thyme.sim.updates.play import PIECES, keep_alarm, play
from thyme.sim.updates.state import ALARM, DESK, DUTIES, FRAME, SENT, WAITING, Updates
from thyme.wire.dsdv import TableUpdate
from thyme.wire.signing import Codec

FRAMES = 4 * PIECES
ALARMS_PER_NODE = 4 * DUTIES
"""For so many there is room at first."""


class Machine(Listener, Protocol):
    """What the player has to know of a node's machine."""

    life: int
    codec: Codec

    @property
    def waits(self) -> bool:
        """Whether what it sends must wait for something."""


class Player:
    """The updates of a run."""

    def __init__(self, engine: Engine, radio: Wifi, audience: Audience, machines: Sequence[Machine]) -> None:
        """Only if `playable`."""
        self._engine = engine
        self._radio = radio
        self._audience = audience
        self._machines = machines
        self._updates = self._built()
        self.played = 0
        """Frames that were sent and counted."""
        desk = self._updates.desk
        self._now_s: Any
        self._now_s, self._order, self._head = (desk[name].data for name in ("now_s", "order", "head"))
        self._radio_book, self._actions = desk["radio"].data, desk["actions"].data
        self._together, self._row = desk["together"].data, desk["row"].data
        self._open_book()
        self._head[0] = radio.heads
        audience.lend(lambda node: _NodeAlarms(self, node))

    def _built(self) -> Updates:
        nodes, audience = len(self._machines), self._audience
        entries = audience.most_lent
        frames, alarms = FRAMES, ALARMS_PER_NODE * nodes
        desk = np.zeros(1, DESK)
        desk["header_bytes"], desk["piece_bytes"] = self._radio.header_bytes, ENTRY * entries
        for name in ("out_first", "out_last", "ended_first", "ended_last", "settling"):
            desk[name] = -1
        desk["frames_left"], desk["alarms_left"] = frames, alarms
        self._said = np.zeros(entries, SAID)
        desk["said"] = self._said.ctypes.data
        codec, crowd, desks = self._machines[0].codec, audience.crowd, audience.desks()
        sizes = [len(codec.encode(TableUpdate(bytes(ENTRY * count)))) for count in range(entries + 1)]
        nobody = np.zeros(0, np.int64)
        updates = Updates(
            desk=desk,
            waiting=np.zeros(alarms, WAITING),
            alarm=np.zeros(alarms, ALARM),
            alarm_set=np.full(DUTIES * nodes, -1, np.int64),
            life=np.array([machine.life for machine in self._machines], np.int64),
            frame=np.zeros(frames, FRAME),
            payload=np.zeros(frames * ENTRY * entries, np.uint8),
            message_bytes=np.array(sizes, np.int64),
            sent=np.zeros(nodes, SENT),
            table=desks[read_together],
            heard=desks.get(note_together, nobody),
            random=np.array([state_address(machine.random) for machine in self._machines], np.int64),
            listens=crowd.listens,
            skew_s=crowd.skew_s,
            frames=crowd.frames,
            bytes=crowd.bytes,
        )
        for table in (updates.frame, updates.alarm):
            free_rows(table, 0)
        return updates

    def play(self, until_s: float) -> int:
        """Go on until there is something to do for others: `stops.STEP`, `TELL`, `TELL_ONE` or `END`."""
        engine, done = self._engine, ROOM
        self._together[0] = self._audience.together
        while done == ROOM:
            next_s, next_order = engine.next()
            self._now_s[0], self._order[0], self._radio_book[0] = engine.now_s, engine.order, self._radio.address
            done = play(self._address, next_s, next_order, until_s)
            engine.now_s, engine.order = self._now_s[0], self._order[0]
            if done == ROOM:
                self._enlarge()
        if done == LATE:
            raise AssertionError(f"a frame at {engine.now_s} s, but the radio stands at {self._radio.now_s} s")
        return done

    def told(self) -> Told:
        """What is to be told next to all; after this, what follows it is."""
        self._head[0] += 1
        return self._radio.told_at(self._head[0] - 1)

    def told_one(self) -> Told:
        """The same for the next who hears it alone."""
        head, row = self._radio.told_at(self._head[0]), self._row[0]
        self._row[0] = row + 1
        at_s, _, node, _, _ = head.among.rows[row].item()
        return head._replace(node=node, begin=row, end=row + 1, at_s=at_s)

    def message(self, told: Told) -> tuple[TableUpdate, int]:
        """What a frame of the player's own says, and its size."""
        updates, k = self._updates, -2 - told.frame
        size, begin = int(updates.frame[k]["bytes"]), k * int(updates.desk[0]["piece_bytes"])
        entries = updates.payload[begin : begin + size].tobytes()
        return TableUpdate(entries), int(updates.message_bytes[size // ENTRY])

    def change(self, node: int) -> None:
        """A node's life has begun or ended; what it had set rings for nobody."""
        self._updates.life[node] = self._machines[node].life
        self._updates.alarm_set[DUTIES * node : DUTIES * (node + 1)] = -1

    def keep_alarm(self, node: int, duty: int, at_s: float) -> None:
        if self._updates.desk[0]["alarms_left"] < 1 or self._updates.desk[0]["waiting"] >= len(self._updates.waiting):
            self._enlarge()
        self._order[0] = self._engine.order
        keep_alarm(self._address, node, duty, at_s)
        self._engine.order = self._order[0]

    def now_s(self) -> float:
        return self._engine.now_s

    def count(self, sent: Tally, control: Tally, refused: Tally) -> None:
        """Add what was sent so far, what of it went over the air, and what the radio refused, once."""
        rows = self._updates.sent
        self.played += int(rows["frames"].sum())
        for node in np.flatnonzero(rows["frames"]).tolist():
            frames, size_bytes, lost, lost_bytes = rows[node].tolist()
            sent.add(node, frames, size_bytes)
            if frames > lost:
                header_bytes = (frames - lost) * self._radio.header_bytes
                control.add(node, frames - lost, size_bytes - lost_bytes + header_bytes)
            if lost:
                refused.add(node, lost, lost_bytes)
        rows[:] = np.zeros(1, SENT)
        self._engine.actions += self._actions[0]
        self._actions[0] = 0

    def _enlarge(self) -> None:
        """Have more room wherever there is little."""
        updates, desk = self._updates, self._updates.desk
        if desk[0]["frames_left"] < PIECES:
            payload = np.concatenate((updates.payload, np.zeros_like(updates.payload)))
            updates = updates._replace(frame=chained(updates.frame, desk, "free_frame", "frames_left"), payload=payload)
        most = DUTIES * len(self._machines) + 1
        if desk[0]["alarms_left"] < most:
            updates = updates._replace(alarm=chained(updates.alarm, desk, "free_alarm", "alarms_left"))
        if len(updates.waiting) - desk[0]["waiting"] < most:
            updates = updates._replace(waiting=np.concatenate((updates.waiting, np.zeros_like(updates.waiting))))
        self._updates = updates
        self._radio.enlarge()
        self._open_book()

    def _open_book(self) -> None:
        self._updates.desk["payload"] = self._updates.payload.ctypes.data
        self._book = address_book(self._updates)
        self._address: int = self._book.ctypes.data


def player_of(engine: Engine, radio: object, audience: Audience, machines: Sequence[Machine]) -> Player | None:
    """A player, where the radio is compiled, frames need not wait for disks, and randomness is as expected."""
    if not isinstance(radio, Wifi) or any(machine.waits for machine in machines):
        return None
    if not set(audience.desks()) <= {read_together, note_together} or audience.most_lent == 0:
        return None
    if any(state_address(machine.random) is None for machine in machines):
        return None
    longest = len(machines[0].codec.encode(TableUpdate(bytes(ENTRY * audience.most_lent))))
    if longest + radio.header_bytes > radio.options.psdu_max_bytes:
        return None
    return Player(engine, radio, audience, machines)


class _NodeAlarms:
    """The `Alarms` of one node."""

    __slots__ = ("_node", "_player")

    def __init__(self, player: Player, node: int) -> None:
        self._player = player
        self._node = node

    def set(self, duty: int, delay_s: float) -> None:
        self._player.keep_alarm(self._node, duty, self._player.now_s() + delay_s)

    def cancel(self) -> None:
        for duty in (SETTLE, TRIGGER):
            self._player.keep_alarm(self._node, duty, inf)
