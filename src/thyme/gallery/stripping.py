"""Remove from a photo's file where and by whom it was taken, without changing the picture.

JPEG, PNG and WebP are sequences of segments or chunks. Those with EXIF, XMP and IPTC data, previews and comments are
removed; of EXIF only the orientation is put back, which the picture needs. A file that cannot be parsed is refused, and
data after the picture is removed, so malformed files leak nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import pack, unpack

from thyme.model.errors import InputError

_PNG_DROPPED = {b"eXIf", b"tEXt", b"zTXt", b"iTXt", b"tIME"}
_WEBP_DROPPED = {b"EXIF", b"XMP "}
_WEBP_EXIF_XMP_BITS = 0x0C
_START_OF_SCAN, _END, _COMMENT = 0xDA, 0xD9, 0xFE
_FIRST_APP, _LAST_APP = 0xE0, 0xEF
_FIRST_RESTART, _LAST_RESTART = 0xD0, 0xD7
_ORIENTATION = 0x0112


def stripped(data: bytes, kind: str, orientation: int = 1) -> bytes:
    """The same picture without a word about it; `kind` is Pillow's name of the format."""
    match kind:
        case "JPEG":
            return b"".join(_jpeg(data, orientation))
        case "PNG":
            return b"".join(_png(data))
        case "WEBP":
            return _webp(data)
    return data  # a GIF has no such data


def _broken(kind: str) -> InputError:
    return InputError(f"the {kind} file is damaged")


def _jpeg(data: bytes, orientation: int) -> Iterator[bytes]:
    yield data[:2]
    if orientation != 1:
        tiff = pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, _ORIENTATION, 3, 1, orientation, 0, 0)
        body = b"Exif\0\0" + tiff
        yield pack(">BBH", 0xFF, 0xE1, len(body) + 2) + body
    at = 2
    while at + 2 <= len(data):
        if data[at] != 0xFF:
            raise _broken("JPEG")
        marker = data[at + 1]
        if marker == _END:
            yield data[at : at + 2]
            return
        if marker == 0xFF:
            at += 1
            continue
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        if end < at + 4 or end > len(data):
            raise _broken("JPEG")
        if marker == _START_OF_SCAN:
            end = _end_of_scan(data, end)
        if not _is_about(marker, data[at + 4 : end]):
            yield data[at:end]
        at = end
    yield bytes([0xFF, _END])


def _is_about(marker: int, body: bytes) -> bool:
    """Whether a segment is not needed to show the picture: of what applications add, only colours stay."""
    if marker == _COMMENT:
        return True
    return _FIRST_APP <= marker <= _LAST_APP and not body.startswith((b"JFIF\0", b"ICC_PROFILE\0", b"Adobe"))


def _end_of_scan(data: bytes, at: int) -> int:
    """Where the next segment begins: at a marker that is neither a stuffed byte nor a restart."""
    while (at := data.find(b"\xff", at)) != -1:
        following = data[at + 1 : at + 2]
        if following and following[0] != 0 and not _FIRST_RESTART <= following[0] <= _LAST_RESTART:
            return at
        at += 2
    return len(data)


def _png(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    at = 8
    while at + 12 <= len(data):
        (length,) = unpack(">I", data[at : at + 4])
        kind = data[at + 4 : at + 8]
        if at + 12 + length > len(data):
            raise _broken("PNG")
        if kind not in _PNG_DROPPED:
            yield data[at : at + 12 + length]
        if kind == b"IEND":
            return
        at += 12 + length
    raise _broken("PNG")


def _webp(data: bytes) -> bytes:
    chunks: list[bytes] = []
    at = 12
    while at + 8 <= len(data):
        kind, length = data[at : at + 4], unpack("<I", data[at + 4 : at + 8])[0]
        end = at + 8 + length + length % 2
        if at + 8 + length > len(data):
            raise _broken("WebP")
        if kind == b"VP8X" and length >= 1:
            chunks.append(data[at : at + 8] + bytes([data[at + 8] & ~_WEBP_EXIF_XMP_BITS]) + data[at + 9 : end])
        elif kind not in _WEBP_DROPPED:
            chunks.append(data[at:end])
        at = end
    body = b"WEBP" + b"".join(chunks)
    return b"RIFF" + pack("<I", len(body)) + body
