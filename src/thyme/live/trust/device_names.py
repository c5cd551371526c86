"""A device's name: what people call it. It is shown beside the node's number and never says who a node is.

It is the host name unless its owner gives it another one, which is kept beside the node's key.
"""

from __future__ import annotations

import socket
from pathlib import Path

from thyme.drafts import write_file
from thyme.model.errors import InputError

NAME_FILE = "device.name"
MAX_NAME_BYTES = 32
"""In a greeting."""


def device_name_of(text: object) -> str:
    """A name that a person gave; InputError if it cannot be one."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable():
        raise InputError(f"the device's name is {text!r}; give a single line of text, such as anna")
    if len(text.strip().encode()) > MAX_NAME_BYTES:
        raise InputError(f"the device's name {text.strip()!r} has more than {MAX_NAME_BYTES} bytes")
    return text.strip()


def packed_name(name: str) -> bytes:
    return name.encode()[:MAX_NAME_BYTES]


def unpacked_name(data: bytes) -> str:
    """What another device calls itself; nothing if that cannot be shown."""
    name = data.rstrip(b"\0").decode("utf-8", "ignore")
    return name if name.isprintable() else ""


def kept_name(folder: Path | None) -> str:
    """The name that was given to the device with this folder; its host name if none was."""
    try:
        given = unpacked_name((folder / NAME_FILE).read_bytes()[:MAX_NAME_BYTES]) if folder is not None else ""
    except OSError:
        given = ""
    return given or unpacked_name(packed_name(socket.gethostname().partition(".")[0]))


def keep_name(folder: Path, name: str) -> None:
    folder.mkdir(0o700, parents=True, exist_ok=True)
    write_file(folder / NAME_FILE, packed_name(name))
