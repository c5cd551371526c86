"""Addresses as people write them: `host:port`, or `[host]:port` for IPv6."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from thyme.model.errors import InputError

Address = tuple[str, int]
MAPPED = "::ffff:"
"""How a socket of IPv6 writes addresses of IPv4."""
LOOPBACK = "127.0.0.1:0"
ANY_6 = "::"
EVERYWHERE = f"[{ANY_6}]:0"
"""All addresses of this machine, of IPv4 as well, and a free port."""


def parse_address(text: str, what: str, *, any_port: bool = False) -> Address:
    """Read `host:port`; `what` names the option in the error. Port 0 (any free one) only where it makes sense."""
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


async def resolve(text: str, what: str, family: int, *, any_port: bool = False) -> Address:
    """The numeric address that datagrams will carry."""
    host, port = parse_address(text, what, any_port=any_port)
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, family=family, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{what} {text!r}: cannot find the address of {host!r}: {error}") from error
    return str(found[0][4][0]), int(found[0][4][1])


def is_local(text: str) -> bool:
    """Whether an address as people write it is of this machine alone."""
    host = text.rpartition(":")[0].strip("[]")
    return host == "localhost" or host == "::1" or host.startswith("127.")


def has_ipv6() -> bool:
    """Whether a socket of IPv6 can be had here."""
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as probe:
            probe.bind((ANY_6, 0))
    except OSError:
        return False
    return True


def plain_address(given: tuple[Any, ...]) -> Address:
    """An address as a socket gives it: one of IPv4 without what IPv6 adds, and a link-local one with its interface."""
    if len(given) == 2:
        return given
    host, port = str(given[0]), int(given[1])
    if host.startswith(MAPPED) and "." in host:
        return host.removeprefix(MAPPED), port
    if given[3] and "%" not in host:
        host = f"{host}%{socket.if_indextoname(given[3])}"
    return host, port


def family_of(address: Address) -> int:
    return socket.AF_INET6 if ":" in address[0] else socket.AF_INET


def address_text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
