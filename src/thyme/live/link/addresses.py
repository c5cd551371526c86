"""Addresses as people write them: `host:port`, or `[host]:port` for IPv6."""

from __future__ import annotations

from socket import AF_INET, AF_INET6

from thyme.model.errors import InputError

Address = tuple[str, int]
MAPPED = "::ffff:"
"""How an IPv6 socket writes IPv4 addresses."""
LOOPBACK = "127.0.0.1:0"
ANY_6 = "::"
EVERYWHERE = f"[{ANY_6}]:0"
"""All addresses of this machine, also of IPv4, and a free port."""
GROUP_4 = "239.255.84.72"
"""Multicast within a site: broadcasts and announcements."""
GROUP_6 = "ff02::5448"
"""Multicast on a link: announcements."""


def parse_address(text: str, what: str, *, any_port: bool = False) -> Address:
    """Parse `host:port`; `what` names the option in the error. Port 0 (any free one) only where it makes sense."""
    host, separator, port = text.strip().rpartition(":")
    expected = f"{what} {text!r}: expected host:port, such as 127.0.0.1:9001"
    if not separator or not host or not (port.isascii() and port.isdigit()):
        raise InputError(expected)
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise InputError(f"{what} {text!r}: write an IPv6 address in brackets, such as [::1]:9001")
    lowest = 0 if any_port else 1
    if not lowest <= int(port) <= 65_535:
        raise InputError(f"{what} {text!r}: the port is {int(port)}; expected {lowest} to 65535")
    return host, int(port)


def is_local(text: str) -> bool:
    """Whether an address as people write it is reachable from this machine alone."""
    host = text.rpartition(":")[0].strip("[]")
    return host == "localhost" or host == "::1" or host.startswith("127.")


def family_of(address: Address) -> int:
    return AF_INET6 if ":" in address[0] else AF_INET


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
