"""Greetings: who a node is, proved by its key and by the answer to a question that was sent to its address.

A greeting holds the sender's public key, its session, a question (`asks`) and the answer to one (`answers`), the
life of its store, its time (`crowd_time`), its approach and what people call its device, and is signed. A question is a
number that derives from a secret of the asker, the address asked and the time. So no state is kept for addresses that
never answer, and neither an old greeting nor one from another address has the right answer.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from math import isfinite

import msgspec

from thyme.live.link.addresses import Address, address_text
from thyme.live.link.crowd_time import TimeFields
from thyme.live.link.frames import HEADER_BYTES, Frame
from thyme.live.link.sealing import FrameError
from thyme.live.trust.device_names import MAX_NAME_BYTES, packed_name, unpacked_name
from thyme.live.trust.identity import Identity, belongs
from thyme.live.trust.sodium import PUBLIC_BYTES, SIGNATURE_BYTES, is_signed

APPROACH_BYTES = 32
_GREETER = struct.Struct(f"!{PUBLIC_BYTES}s{PUBLIC_BYTES}sQQQQd?ddd{APPROACH_BYTES}s{MAX_NAME_BYTES}s")
GREETING_BYTES = HEADER_BYTES + _GREETER.size + SIGNATURE_BYTES
"""Of every datagram with a greeting: a hello, which is not signed, has room for a signature too, and an announcement is
as large. So a forged source address cannot be used for amplification: a node never sends more to it than it received.
"""
LIFE_BITS = 64
QUESTION_S = 10.0
"""How often questions change; the one before still counts."""
_CONTEXT = b"thyme greeting 3\0"


class Introduction(msgspec.Struct, frozen=True):
    """Who greets."""

    life: int
    """Drawn once for a store: a device that lost its store, or another one with the same id, has another."""
    approach: str
    time: TimeFields = TimeFields(0.0)
    public: bytes = bytes(PUBLIC_BYTES)
    session: int = 0
    """Drawn whenever a link is opened, …"""
    ephemeral: bytes = bytes(PUBLIC_BYTES)
    """… as is the secret of this public key (`sessions`)."""
    name: str = ""
    """What people call the device: shown, and nothing else."""
    asks: int = 0
    answers: int = 0
    signature: bytes = bytes(SIGNATURE_BYTES)

    def content(self) -> bytes:
        time = self.time
        who = (self.public, self.ephemeral, self.session, self.asks, self.answers, self.life)
        numbers = (time.now_s, time.joined, time.correction_s, time.asked_s, time.echo_s)
        return _GREETER.pack(*who, *numbers, self.approach.encode(), packed_name(self.name))

    def pack(self) -> bytes:
        return self.content() + self.signature


def unpack_introduction(body: bytes) -> Introduction:
    if len(body) != _GREETER.size + SIGNATURE_BYTES:
        raise FrameError("no introduction")
    public, ephemeral, session, asks, answers, life, *time, approach_name, name = _GREETER.unpack_from(body)
    try:
        approach = approach_name.rstrip(b"\0").decode()
    except UnicodeDecodeError as error:
        raise FrameError("no introduction") from error
    if not all(map(isfinite, time)):
        raise FrameError("no introduction")
    signature = body[-SIGNATURE_BYTES:]
    called = unpacked_name(name)
    return Introduction(life, approach, TimeFields(*time), public, session, ephemeral, called, asks, answers, signature)


def signed(frame: Frame, introduction: Introduction, identity: Identity) -> Frame:
    """A greeting with this introduction, by this node."""
    mine = msgspec.structs.replace(introduction, public=identity.public)
    signature = identity.sign(_statement(frame, mine))
    return msgspec.structs.replace(frame, body=msgspec.structs.replace(mine, signature=signature).pack())


def is_genuine(frame: Frame, introduction: Introduction) -> bool:
    """Whether the signature is the named sender's."""
    public = introduction.public
    return belongs(frame.sender, public) and is_signed(public, _statement(frame, introduction), introduction.signature)


def _statement(frame: Frame, introduction: Introduction) -> bytes:
    return _CONTEXT + msgspec.structs.replace(frame, body=introduction.content()).content()


class Questions:
    """The questions that this node asks other addresses."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def question(self, address: Address, now_s: float) -> int:
        return self._derive(address, int(now_s / QUESTION_S))

    def is_answered(self, answer: int, address: Address, now_s: float) -> bool:
        latest = int(now_s / QUESTION_S)
        return answer in (self._derive(address, latest), self._derive(address, latest - 1))

    def _derive(self, address: Address, period: int) -> int:
        """Never 0, which asks nothing."""
        text = f"{address_text(address)} {period}".encode()
        return int.from_bytes(blake2b(text, digest_size=8, key=self._secret).digest(), "big") | 1
