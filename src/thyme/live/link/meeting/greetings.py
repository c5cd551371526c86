"""Greetings: who greets, proved by its key and by its answer to a question that was put to this very address.

A greeting holds the sender's public key, the number of its session, a question (`asks`) and the answer to one
(`answers`), the life of its store, what time it goes by (`crowd_time`) and its approach, and is signed. The question is
a number that follows from a secret of the asker, the address asked and the time, so nothing is kept for those who never
answer, and neither an old greeting nor one from another address has the right answer.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from math import isfinite
from secrets import token_bytes

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.crowd_time import Reading
from thyme.live.link.frames import Frame
from thyme.live.link.sealing import FrameError
from thyme.live.trust.identity import Identity, belongs
from thyme.live.trust.sodium import PUBLIC_BYTES, SIGNATURE_BYTES, is_signed

_GREETER = struct.Struct(f"!{PUBLIC_BYTES}sQQQQddQddd")
LIFE_BITS = 64
SESSION_BITS = 64
MAX_APPROACH_CHARS = 32
QUESTION_S = 10.0
"""How often questions change; the one before still counts."""
_CONTEXT = b"thyme greeting 1\0"


class Introduction(msgspec.Struct, frozen=True):
    """Who greets."""

    life: int
    """Drawn once for a store: a device that lost its store, or another one with the same id, has another."""
    approach: str
    time: Reading = Reading(0.0, 0.0, 0)
    public: bytes = bytes(PUBLIC_BYTES)
    session: int = 0
    """Drawn whenever a link is opened."""
    asks: int = 0
    answers: int = 0
    signature: bytes = bytes(SIGNATURE_BYTES)

    def content(self) -> bytes:
        time = self.time
        who = (self.public, self.session, self.asks, self.answers, self.life)
        numbers = (time.now_s, time.age_s, time.lineage, time.correction_s, time.asked_s, time.echo_s)
        return _GREETER.pack(*who, *numbers) + self.approach.encode()

    def pack(self) -> bytes:
        return self.content() + self.signature


def read_introduction(body: bytes) -> Introduction:
    try:
        public, session, asks, answers, life, *time = _GREETER.unpack_from(body)
        if not all(map(isfinite, time)):
            raise FrameError("no introduction")
        approach = body[_GREETER.size : -SIGNATURE_BYTES].decode()
    except (struct.error, UnicodeDecodeError) as error:
        raise FrameError("no introduction") from error
    if len(body) < _GREETER.size + SIGNATURE_BYTES or len(approach) > MAX_APPROACH_CHARS:
        raise FrameError("no introduction")
    return Introduction(life, approach, Reading(*time), public, session, asks, answers, body[-SIGNATURE_BYTES:])


def signed(frame: Frame, introduction: Introduction, identity: Identity) -> Frame:
    """A greeting with this introduction, by this node."""
    mine = msgspec.structs.replace(introduction, public=identity.public)
    signature = identity.sign(_statement(frame, mine))
    return msgspec.structs.replace(frame, body=msgspec.structs.replace(mine, signature=signature).pack())


def is_genuine(frame: Frame, introduction: Introduction) -> bool:
    """Whether it comes from who it says."""
    public = introduction.public
    return belongs(frame.sender, public) and is_signed(public, _statement(frame, introduction), introduction.signature)


def _statement(frame: Frame, introduction: Introduction) -> bytes:
    return _CONTEXT + msgspec.structs.replace(frame, body=introduction.content()).content()


class Questions:
    """What this node asks of addresses."""

    def __init__(self) -> None:
        self._secret = token_bytes(32)

    def question(self, address: Address, now_s: float) -> int:
        return self._made(address, int(now_s / QUESTION_S))

    def is_answered(self, answer: int, address: Address, now_s: float) -> bool:
        latest = int(now_s / QUESTION_S)
        return answer in (self._made(address, latest), self._made(address, latest - 1))

    def _made(self, address: Address, period: int) -> int:
        """Never 0, which asks nothing."""
        text = f"{address_text(address)} {period}".encode()
        return int.from_bytes(blake2b(text, digest_size=8, key=self._secret).digest(), "big") | 1
