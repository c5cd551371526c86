"""The certificates of guests' https: browsers can verify them, and they are good for nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from thyme.gallery import certificates
from thyme.gallery.certificates import FOLDER, HostCertificate, host_certificate
from thyme.model.errors import InputError

HOME, OTHER = "192.168.1.5", "10.1.2.3"


def verify(made: HostCertificate, address: str, at: datetime | None = None) -> None:
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    leaf = x509.load_pem_x509_certificates(made.chain.read_bytes())[0]
    policy = PolicyBuilder().store(Store([authority])).time(at or datetime.now(UTC))
    policy.build_server_verifier(x509.IPAddress(ip_address(address))).verify(leaf, [])


def test_a_browser_that_trusts_the_authority_trusts_the_hosts_addresses_only(tmp_path: Path) -> None:
    made = host_certificate(tmp_path, [HOME, OTHER])
    for address in (HOME, OTHER):
        verify(made, address)
    for address, later in (("192.168.1.6", timedelta()), (HOME, timedelta(days=397))):
        with pytest.raises(VerificationError):
            verify(made, address, datetime.now(UTC) + later)


def test_the_authority_speaks_for_private_networks_only(tmp_path: Path) -> None:
    made = host_certificate(tmp_path, [HOME])
    authority = x509.load_pem_x509_certificate(made.authority.read_bytes())
    constraints = authority.extensions.get_extension_for_class(x509.NameConstraints)
    permitted = constraints.value.permitted_subtrees or []
    assert constraints.critical
    assert all(each.value.is_private for each in permitted if isinstance(each, x509.IPAddress))
    assert [each.value for each in permitted if isinstance(each, x509.DNSName)] == ["localhost"]
    leaf = x509.load_pem_x509_certificates(made.chain.read_bytes())[0]
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert [*usage] == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_what_guests_installed_stays_valid_when_the_host_moves(tmp_path: Path) -> None:
    before = host_certificate(tmp_path, [HOME])
    first = before.chain.read_bytes()
    assert host_certificate(tmp_path, [HOME]).chain.read_bytes() == first, "nobody is warned again"
    after = host_certificate(tmp_path, [OTHER])
    assert after.fingerprint == before.fingerprint
    verify(after, OTHER)


def test_a_certificate_that_ends_soon_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(certificates, "CERTIFICATE_DAYS", 20)
    old = host_certificate(tmp_path, [HOME]).chain.read_bytes()
    monkeypatch.undo()
    assert host_certificate(tmp_path, [HOME]).chain.read_bytes() != old


def test_keys_are_for_their_owner_only(tmp_path: Path) -> None:
    host_certificate(tmp_path, [HOME])
    assert (tmp_path / FOLDER).stat().st_mode & 0o777 == 0o700
    for name in ("authority.key", "certificate.key"):
        assert (tmp_path / FOLDER / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("addresses", [(), ("8.8.8.8",)])
def test_without_a_private_address_there_is_no_certificate(tmp_path: Path, addresses: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="private network"):
        host_certificate(tmp_path, addresses)
