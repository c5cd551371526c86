"""Photos are looked at with care: what is broken, too large or no photo is refused, and what goes out says no more than
its picture."""

from __future__ import annotations

import zlib
from io import BytesIO
from pathlib import Path
from random import Random
from struct import pack

import pytest
from PIL import Image

from thyme.gallery import pictures
from thyme.gallery.cards import card_bytes, read_card, thumb_room
from thyme.gallery.limits import BY_CHARS, NAME_CHARS
from thyme.gallery.stripping import stripped
from thyme.model.errors import InputError
from thyme.model.objects import MAX_SUMMARY_BYTES

SECRET = b"38.7223N 9.1393W"
EXIF, GPS, ORIENTATION, COMMENT = 0x8769, 0x8825, 0x0112, 0x9286


def photo(width: int = 300, height: int = 200, seed: int = 1) -> Image.Image:
    noise = Image.frombytes(
        "RGB", (width // 20, height // 20), Random(seed).randbytes(width // 20 * (height // 20) * 3)
    )
    return noise.resize((width, height), Image.Resampling.BICUBIC)


def with_location(kind: str, orientation: int = 1) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    exif.get_ifd(GPS)[29] = SECRET.decode()
    exif.get_ifd(EXIF)[COMMENT] = b"ASCII\0\0\0" + SECRET
    out = BytesIO()
    photo().save(out, kind, exif=exif, **({"comment": SECRET} if kind == "JPEG" else {}))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_a_stripped_photo_shows_the_same_and_says_nothing(kind: str) -> None:
    data = with_location(kind)
    assert SECRET in data
    clean = stripped(data, kind)
    assert SECRET not in clean
    before, after = Image.open(BytesIO(data)), Image.open(BytesIO(clean))
    assert before.tobytes() == after.tobytes()
    assert not after.getexif().get_ifd(GPS)


def test_a_photo_on_its_side_stays_the_right_way_up_without_its_data(tmp_path: Path) -> None:
    file = tmp_path / "turned.jpg"
    file.write_bytes(with_location("JPEG", orientation=6))
    looked = pictures.look(file)
    assert (looked.width, looked.height) == (200, 300)
    file.write_bytes(pictures.cleaned(file, looked))
    assert pictures.look(file) == looked
    pictures.make_shown(file, tmp_path / "thumb", tmp_path / "view")
    with Image.open(tmp_path / "view") as view:
        assert view.size == (200, 300)


def test_what_follows_a_jpeg_is_not_published() -> None:
    data = with_location("JPEG")
    assert stripped(data + with_location("JPEG") + b"a film", "JPEG") == stripped(data, "JPEG")


def bomb() -> bytes:
    """A PNG of a gigapixel in a few bytes."""
    head = b"IHDR" + pack(">IIBBBBB", 40_000, 40_000, 8, 2, 0, 0, 0)
    body = b"IDAT" + zlib.compress(bytes(1_000))
    chunks = [pack(">I", len(chunk) - 4) + chunk + pack(">I", zlib.crc32(chunk)) for chunk in (head, body, b"IEND")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not a photo"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "not a photo"),
        (b"GIF89a" + bytes(20), "not a photo"),
        (with_location("JPEG")[:2_000], "damaged"),
        (bomb(), "too many pixels; at most 120 million"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_one_clear_line(data: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / "photo"
    file.write_bytes(data)
    with pytest.raises(InputError, match=words) as refused:
        pictures.look(file)
    assert "\n" not in str(refused.value)


def test_a_card_with_its_thumbnail_fits_a_notification(tmp_path: Path) -> None:
    file, thumb = tmp_path / "photo.jpg", tmp_path / "thumb"
    photo(1600, 1200).save(file, "JPEG")
    pictures.make_shown(file, thumb, tmp_path / "view")
    name, by = "ä" * NAME_CHARS, "é" * BY_CHARS
    small = pictures.small_picture(thumb, thumb_room(name, by))
    card = card_bytes(name, by, 1600, 1200, small)
    assert len(card) <= MAX_SUMMARY_BYTES
    assert read_card(card, "").thumb == small
    assert pictures.thumb_type(small) in ("image/avif", "image/webp")


def test_a_thumbnail_that_unfolds_to_more_than_a_tile_is_not_shown() -> None:
    out = BytesIO()
    Image.new("RGB", (4_000, 4_000)).save(out, "WEBP", lossless=True)
    assert len(out.getvalue()) < MAX_SUMMARY_BYTES
    assert pictures.thumb_type(out.getvalue()) == ""


@pytest.mark.parametrize("summary", [b"", b"3-3!", b"\xff\xfe", b"\x96\xa0", card_bytes("x" * 300, "", 1, 1, b"")])
def test_a_summary_that_is_no_card_is_a_name(summary: bytes) -> None:
    card = read_card(summary, "kick")
    assert (bool(card.name), card.thumb) == (True, b"")
