"""What the shortest way to libsodium gives is what PyNaCl's own functions give, and nothing else is accepted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl import bindings
from nacl.exceptions import BadSignatureError

from thyme.live.trust.identity import Identity
from thyme.live.trust.sodium import KEY_BYTES, NONCE_BYTES, SIGNATURE_BYTES, is_signed, seal, sign, unseal

bytes_of = st.binary(max_size=300)
keys = st.binary(min_size=KEY_BYTES, max_size=KEY_BYTES)
nonces = st.binary(min_size=NONCE_BYTES, max_size=NONCE_BYTES)


@given(bytes_of, bytes_of, nonces, keys)
def test_a_seal_is_that_of_the_standard_and_opens_again(plain: bytes, beside: bytes, nonce: bytes, key: bytes) -> None:
    sealed = seal(plain, beside, nonce, key)
    assert sealed == bindings.crypto_aead_chacha20poly1305_ietf_encrypt(plain, beside, nonce, key)
    assert unseal(sealed, beside, nonce, key) == plain


@given(bytes_of, nonces, keys, st.data())
def test_what_was_altered_does_not_open(plain: bytes, nonce: bytes, key: bytes, data: st.DataObject) -> None:
    sealed = seal(plain, b"beside", nonce, key)
    at = data.draw(st.integers(0, len(sealed) - 1))
    altered = sealed[:at] + bytes([sealed[at] ^ data.draw(st.integers(1, 255))]) + sealed[at + 1 :]
    assert unseal(altered, b"beside", nonce, key) is None
    assert unseal(sealed, b"besides", nonce, key) is None
    assert unseal(sealed[:at], b"beside", nonce, key) is None


@given(bytes_of)
def test_a_signature_is_that_of_the_standard(said: bytes) -> None:
    public, secret = bindings.crypto_sign_seed_keypair(bytes(32))
    signature = sign(said, secret)
    assert bindings.crypto_sign(said, secret) == signature + said
    assert is_signed(public, said, signature)


@given(bytes_of, st.data())
def test_a_signature_that_was_altered_is_none(said: bytes, data: st.DataObject) -> None:
    identity = Identity.given(7)
    signature = identity.sign(said)
    at = data.draw(st.integers(0, SIGNATURE_BYTES - 1))
    altered = signature[:at] + bytes([signature[at] ^ data.draw(st.integers(1, 255))]) + signature[at + 1 :]
    assert not is_signed(identity.public, said, altered)
    assert not is_signed(identity.public, said + b"!", signature)
    with pytest.raises(BadSignatureError):
        bindings.crypto_sign_open(altered + said, identity.public)


@pytest.mark.parametrize("size", [0, 31, 33, 63, 64, 96])
def test_what_is_no_key_and_what_is_no_signature_is_refused_unread(size: int) -> None:
    identity = Identity.given(7)
    assert not is_signed(bytes(size), b"said", identity.sign(b"said"))
    if size != SIGNATURE_BYTES:
        assert not is_signed(identity.public, b"said", bytes(size))
