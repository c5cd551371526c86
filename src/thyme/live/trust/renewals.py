"""Renewals: the next key of a closed namespace, signed by its creator and passed on from member to member.

Members believe a renewal only from the creator, whose public key the invitation carries: otherwise any member could
give each of the others another key. A renewal reaches everybody who is still a member, so it excludes nobody. To
exclude a member, a new invitation is given to the others by hand (`Namespace.renewed`).
"""

from __future__ import annotations

import msgspec

from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import SECRET_BYTES, Namespace
from thyme.live.trust.sodium import SIGNATURE_BYTES, is_signed
from thyme.model.errors import InputError

MAX_EPOCH = 2**32
_CONTEXT = b"thyme renewal 1\0"


class Renewal(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    epoch: int
    secret: bytes
    signature: bytes

    def pack(self) -> bytes:
        return msgspec.msgpack.encode(self)


def unpack_renewal(body: bytes) -> Renewal | None:
    """None if it is none."""
    try:
        renewal = _decoder.decode(body)
    except msgspec.MsgspecError:
        return None
    right = len(renewal.secret) == SECRET_BYTES and len(renewal.signature) == SIGNATURE_BYTES
    return renewal if right and 0 < renewal.epoch < MAX_EPOCH else None


_decoder = msgspec.msgpack.Decoder(Renewal)


def renewal_of(namespace: Namespace, identity: Identity) -> tuple[Namespace, Renewal]:
    """The namespace with its next key, and what its creator signs for the other members."""
    if not namespace.closed:
        raise InputError(f"namespace {namespace.name!r} is open: its key follows from its name")
    if namespace.creator != identity.public:
        raise InputError(
            f"this device did not create namespace {namespace.name!r}, so members do not take a new key from it; renew "
            f"it on the device that did, or invite everybody again: thyme namespace shut-out {namespace.name!r}"
        )
    renewed = namespace.renewed(identity.public)
    signature = identity.sign(_statement(namespace.context, renewed.epoch, renewed.secret))
    return renewed, Renewal(renewed.epoch, renewed.secret, signature)


def renewed_by(namespace: Namespace, renewal: Renewal) -> Namespace | None:
    """The namespace with the key of a renewal; None if its creator did not sign it."""
    statement = _statement(namespace.context, renewal.epoch, renewal.secret)
    if not namespace.creator or not is_signed(namespace.creator, statement, renewal.signature):
        return None
    origin = namespace.context
    return msgspec.structs.replace(namespace, secret=renewal.secret, epoch=renewal.epoch, origin=origin)


def _statement(context: bytes, epoch: int, secret: bytes) -> bytes:
    return _CONTEXT + context + epoch.to_bytes(8, "big") + secret
