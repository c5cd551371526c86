"""Look at photos: check files, read their size and orientation, make the smaller pictures that the page shows.

A file is opened by its content, never by its name, and only in the formats that browsers show; it is decoded only if
its header says that it does not unfold to more than it may. All of it takes long, so callers do it in a thread, one
photo at a time. What others sent is shown as a picture made anew here, never as it came.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import msgspec
from PIL import Image, ImageOps, UnidentifiedImageError, features

from thyme.drafts import write_file
from thyme.gallery.limits import PIXELS, THUMB_PX, VIEW_PX
from thyme.gallery.stripping import stripped
from thyme.model.errors import InputError

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
THUMB_FORMATS = ("AVIF", "WEBP", "JPEG")
MEDIA_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif", "AVIF": "image/avif"}
SUFFIXES = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif"}
MAX_THUMB_SIDE_PX = 512
"""Of a received thumbnail: a few bytes can decompress to gigabytes."""
_SMALL_SIDES_PX = (256, 208, 160, 120, 88, 64)
_SMALL_QUALITIES = (48, 38, 30, 22)
_ORIENTATION = 0x0112
_WHITE = (255, 255, 255)


class Looked(msgspec.Struct, frozen=True):
    kind: str
    width: int
    height: int
    """As it is seen, the right way up."""
    orientation: int


@contextmanager
def opened(source: Path | BytesIO, formats: tuple[str, ...], pixels: int) -> Iterator[Image.Image]:
    """A picture that may be decoded; InputError with one clear line if it may not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(source, formats=formats) as image:
                if image.width * image.height > pixels:
                    raise _too_many(pixels)
                yield image
    except UnidentifiedImageError as error:
        raise InputError("this is not a photo that can be shared; expected JPEG, PNG, WebP or GIF") from error
    except Image.DecompressionBombError as error:
        raise _too_many(pixels) from error
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("the photo is damaged and cannot be read") from error


def _too_many(pixels: int) -> InputError:
    return InputError(f"the picture has too many pixels; at most {pixels / 1e6:g} million can be shown")


def look(file: Path) -> Looked:
    """What a file is; it is decoded to its end, so a torn one is noticed."""
    with opened(file, FORMATS, PIXELS) as image:
        kind, orientation = image.format or "", int(image.getexif().get(_ORIENTATION, 1))
        size = image.size
        image.draft("RGB", (THUMB_PX, THUMB_PX))
        image.load()
    turned = orientation in (5, 6, 7, 8)
    width, height = reversed(size) if turned else size
    return Looked(kind, width, height, orientation if 1 <= orientation <= 8 else 1)


def make_shown(file: Path, thumb: Path, view: Path) -> None:
    """The pictures for the page: a tile and a screenful."""
    with opened(file, FORMATS, PIXELS) as image:
        image.draft("RGB", (VIEW_PX, VIEW_PX))
        large = _flat(ImageOps.exif_transpose(image))
        large.thumbnail((VIEW_PX, VIEW_PX), Image.Resampling.LANCZOS, reducing_gap=2.0)
    write_file(view, _encoded(large, "WEBP", 82))
    large.thumbnail((THUMB_PX, THUMB_PX), Image.Resampling.LANCZOS)
    write_file(thumb, _encoded(large, "WEBP", 76))


def small_picture(file: Path, most_bytes: int) -> bytes:
    """A thumbnail that fits a notification."""
    with opened(file, ("WEBP",), MAX_THUMB_SIDE_PX**2) as image:
        picture = _flat(image)
    kind = "AVIF" if features.check("avif") else "WEBP"
    for side in _SMALL_SIDES_PX:
        smaller = picture.copy()
        smaller.thumbnail((side, side), Image.Resampling.LANCZOS)
        for quality in _SMALL_QUALITIES:
            data = _encoded(smaller, kind, quality)
            if len(data) <= most_bytes:
                return data
    return b""


def thumb_type(data: bytes) -> str:
    """The media type of a received thumbnail, or nothing if it cannot be shown safely."""
    try:
        with opened(BytesIO(data), THUMB_FORMATS, MAX_THUMB_SIDE_PX**2) as image:
            return MEDIA_TYPES[image.format or ""]
    except InputError:
        return ""


def cleaned(file: Path, looked: Looked) -> bytes:
    """The file without location and other data about it."""
    return stripped(file.read_bytes(), looked.kind, looked.orientation)


def _flat(image: Image.Image) -> Image.Image:
    """Transparent pictures on white."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        layered = image.convert("RGBA")
        ground = Image.new("RGB", layered.size, _WHITE)
        ground.paste(layered, mask=layered.getchannel("A"))
        return ground
    return image.convert("RGB")


def _encoded(image: Image.Image, kind: str, quality: int) -> bytes:
    out = BytesIO()
    if kind == "AVIF":
        image.save(out, "AVIF", quality=quality, speed=6)
    else:
        image.save(out, kind, quality=quality, method=4)
    return out.getvalue()
