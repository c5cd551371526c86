"""The certificates of a gallery that guests use over https.

No authority of the Internet vouches for addresses of a local network, so a host has an authority of its own, made when
it is first needed. It signs the certificate of the host's addresses. Browsers warn until a guest installs it.
Name constraints limit it to addresses of private networks, so whoever steals its key cannot pretend to be a site of the
Internet with it. Both are kept: a certificate is made anew only if the host's addresses changed or it would soon end.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from secrets import token_hex

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from thyme.drafts import write_file
from thyme.model.errors import InputError

FOLDER = "https"
PRIVATE = tuple(map(IPv4Network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")))
AUTHORITY_DAYS = 3_650
CERTIFICATE_DAYS = 397
"""The most that all browsers accept."""
RENEWED_DAYS = 30
"""A certificate that ends sooner is replaced."""


class HostCertificate(msgspec.Struct, frozen=True):
    chain: Path
    key: Path
    authority: Path
    """What guests install."""
    fingerprint: str
    """SHA-256 of the authority, to compare."""


def host_certificate(folder: Path, addresses: Sequence[str]) -> HostCertificate:
    """The certificate of these addresses of this machine, kept in a folder that only its owner can read."""
    own = [IPv4Address(each) for each in addresses]
    private = [each for each in own if any(each in network for network in PRIVATE)]
    if not private:
        raise InputError(
            "https needs a private network address, such as 192.168.1.5; this machine has "
            + (", ".join(addresses) or "none")
        )
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority, signer = _authority(place / "authority.pem", place / "authority.key")
    chain, key = place / "certificate.pem", place / "certificate.key"
    if not (chain.exists() and key.exists() and _serves(chain, private, authority)):
        _write_certificate(chain, key, private, authority, signer)
    digest = authority.fingerprint(hashes.SHA256()).hex(":").upper()
    return HostCertificate(chain, key, place / "authority.pem", digest)


def _authority(file: Path, key_file: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    if file.exists() and key_file.exists():
        kept = x509.load_pem_x509_certificate(file.read_bytes())
        kept_key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        if isinstance(kept_key, ec.EllipticCurvePrivateKey) and _lasts(kept):
            return kept, kept_key
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Thyme gallery {token_hex(2)}")])
    permitted = [*map(x509.IPAddress, PRIVATE), x509.DNSName("localhost")]
    certificate = (
        _builder(name, name, key.public_key(), AUTHORITY_DAYS)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.NameConstraints(permitted, None), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    _write_key(key_file, key)
    write_file(file, certificate.public_bytes(serialization.Encoding.PEM))
    return certificate, key


def _write_certificate(
    chain: Path,
    key_file: Path,
    addresses: Sequence[IPv4Address],
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Thyme gallery at {addresses[0]}")])
    names = x509.SubjectAlternativeName([x509.IPAddress(each) for each in addresses])
    certificate = (
        _builder(name, authority.subject, key.public_key(), CERTIFICATE_DAYS)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .sign(signer, hashes.SHA256())
    )
    _write_key(key_file, key)
    write_file(chain, b"".join(one.public_bytes(serialization.Encoding.PEM) for one in (certificate, authority)))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    yesterday = datetime.now(UTC) - timedelta(days=1)  # clocks of phones differ
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(yesterday)
        .not_valid_after(yesterday + timedelta(days=days))
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _serves(chain: Path, addresses: Sequence[IPv4Address], authority: x509.Certificate) -> bool:
    certificate = x509.load_pem_x509_certificates(chain.read_bytes())[0]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = names.get_values_for_type(x509.IPAddress)
    return {*addresses} <= {*known} and certificate.issuer == authority.subject and _lasts(certificate)


def _lasts(certificate: x509.Certificate) -> bool:
    return certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=RENEWED_DAYS)


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
