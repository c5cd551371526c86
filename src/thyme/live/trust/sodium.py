"""Direct calls of libsodium, for the work on every datagram and every object.

PyNaCl brings the library, but its argument checks and copies take five times as long as sealing a short frame. Here the
callers are responsible for lengths, which are asserted where they do not follow from the code.
"""

from __future__ import annotations

from nacl._sodium import ffi, lib

KEY_BYTES = 32
NONCE_BYTES = 12
"""For a counter that never repeats with its key; …"""
RANDOM_NONCE_BYTES = 24
"""… long enough to be drawn (XChaCha20)."""
TAG_BYTES = 16
SECRET_BYTES = 64
PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64

_NONE = ffi.NULL
_place = ffi.from_buffer
_seal = {
    NONCE_BYTES: lib.crypto_aead_chacha20poly1305_ietf_encrypt,
    RANDOM_NONCE_BYTES: lib.crypto_aead_xchacha20poly1305_ietf_encrypt,
}
_open = {
    NONCE_BYTES: lib.crypto_aead_chacha20poly1305_ietf_decrypt,
    RANDOM_NONCE_BYTES: lib.crypto_aead_xchacha20poly1305_ietf_decrypt,
}
_sign = lib.crypto_sign
_verify = lib.crypto_sign_open


def seal(plain: bytes, beside: bytes, nonce: bytes, key: bytes) -> bytes:
    """ChaCha20-Poly1305 (RFC 8439) or XChaCha20-Poly1305 by the length of the nonce, the tag at the end; `beside` is
    sealed and not hidden."""
    assert len(key) == KEY_BYTES, "a key of another length"
    sealed = bytearray(len(plain) + TAG_BYTES)
    _seal[len(nonce)](_place(sealed), _NONE, plain, len(plain), beside, len(beside), _NONE, nonce, key)
    return bytes(sealed)


def unseal(sealed: bytes, beside: bytes, nonce: bytes, key: bytes) -> bytes | None:
    """What was sealed; None if it was not sealed so."""
    assert len(key) == KEY_BYTES, "a key of another length"
    size = len(sealed) - TAG_BYTES
    if size < 0:
        return None
    plain = bytearray(size)
    failed = _open[len(nonce)](_place(plain), _NONE, _NONE, sealed, len(sealed), beside, len(beside), nonce, key)
    return None if failed else bytes(plain)


def sign(said: bytes, secret: bytes) -> bytes:
    """An Ed25519 signature."""
    assert len(secret) == SECRET_BYTES, "a secret of another length"
    signed = bytearray(SIGNATURE_BYTES + len(said))
    _sign(_place(signed), _NONE, said, len(said), secret)
    return bytes(signed[:SIGNATURE_BYTES])


def is_signed(public: bytes, said: bytes, signature: bytes) -> bool:
    if len(public) != PUBLIC_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    signed = signature + said
    return bool(_verify(_NONE, _NONE, signed, len(signed), public) == 0)
