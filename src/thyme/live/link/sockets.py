"""The socket of a link, or a clear word why there is none."""

from __future__ import annotations

import errno
import socket

from thyme.live.link.addresses import Address, address_text, family_of
from thyme.model.errors import InputError


def bound_socket(address: Address, receive_buffer_bytes: int) -> socket.socket:
    """A UDP socket that is bound to an address; InputError if it cannot be."""
    bound = socket.socket(family_of(address), socket.SOCK_DGRAM)
    bound.setblocking(False)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    try:
        bound.bind(address)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"cannot listen on {address_text(address)}: the port is in use; choose another or stop who has it"
            ) from error
        raise InputError(f"cannot listen on {address_text(address)}: {error.strerror or error}") from error
    return bound
