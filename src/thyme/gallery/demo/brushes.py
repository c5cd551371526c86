"""Brushes for the demo's pictures: skies, light, grain and silhouettes, on arrays of numbers from 0 to 1."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Picture = NDArray[np.float32]
Colour = tuple[float, float, float]
WIDTH, HEIGHT = 1440, 960


def sky(*stops: Colour) -> Picture:
    """Colours from top to bottom, one into the other."""
    rows = np.linspace(0.0, len(stops) - 1.0, HEIGHT)
    bands = np.array(stops, dtype=np.float32)
    mixed = np.stack([np.interp(rows, np.arange(len(stops)), bands[:, i]) for i in range(3)], axis=-1)
    return np.repeat(mixed[:, None, :], WIDTH, axis=1).astype(np.float32)


def glow(picture: Picture, x: float, y: float, radius: float, colour: Colour, strength: float = 1.0) -> None:
    """Add light around a point; it falls off with the square of the distance."""
    ys, xs = np.ogrid[:HEIGHT, :WIDTH]
    light = strength / (1.0 + ((xs - x) ** 2 + (ys - y) ** 2) / radius**2) ** 1.5
    picture += light[..., None].astype(np.float32) * np.array(colour, dtype=np.float32)


def beam(picture: Picture, x: float, y: float, angle: float, spread: float, colour: Colour, strength: float) -> None:
    """Add a cone of light that starts at a point; `angle` is from straight down, in radians."""
    ys, xs = np.ogrid[:HEIGHT, :WIDTH]
    away = np.hypot(xs - x, ys - y) + 1.0
    turned = np.arctan2(xs - x, ys - y) - angle
    light = strength * np.exp(-((turned / spread) ** 2)) / (1.0 + away / 700.0)
    picture += light[..., None].astype(np.float32) * np.array(colour, dtype=np.float32)


def layer() -> tuple[Image.Image, ImageDraw.ImageDraw]:
    image = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0))
    return image, ImageDraw.Draw(image)


def lay(picture: Picture, image: Image.Image, blur_px: float = 0.0, light: bool = False) -> None:
    """Put a drawn layer over the picture, or add it as light."""
    if blur_px:
        image = image.filter(ImageFilter.GaussianBlur(blur_px))
    drawn = np.asarray(image, dtype=np.float32) / 255.0
    alpha = drawn[..., 3:]
    if light:
        picture += drawn[..., :3] * alpha
    else:
        picture *= 1.0 - alpha
        picture += drawn[..., :3] * alpha


def bytes_of(colour: Colour, alpha: float = 1.0) -> tuple[int, int, int, int]:
    red, green, blue = (max(0, min(255, int(part * 255))) for part in colour)
    return red, green, blue, int(alpha * 255)


def heads(random: Random, base: float, size: float, colour: Colour, arms: float = 0.3) -> Image.Image:
    """A row of people seen from behind; some raise their arms, some a phone."""
    image, draw = layer()
    fill = bytes_of(colour)
    x = -size
    while x < WIDTH + size:
        s = size * random.uniform(0.8, 1.25)
        y = base + random.uniform(-0.5, 0.5) * size
        draw.ellipse((x - s * 0.32, y - s * 0.4, x + s * 0.32, y + s * 0.4), fill=fill)
        draw.rounded_rectangle((x - s * 0.62, y + s * 0.36, x + s * 0.62, HEIGHT + 200), s * 0.4, fill=fill)
        if random.random() < arms:
            for side in random.sample((-1, 1), random.randint(1, 2)):
                top = (x + side * s * random.uniform(0.3, 0.9), y - s * random.uniform(0.7, 1.3))
                draw.line((x + side * s * 0.5, y + s * 0.5, *top), fill=fill, width=int(s * 0.2))
                draw.ellipse((top[0] - s * 0.13, top[1] - s * 0.15, top[0] + s * 0.13, top[1] + s * 0.15), fill=fill)
        x += s * random.uniform(0.95, 1.5)
    return image


def developed(picture: Picture, random: Random, *, grain: float = 0.02, vignette: float = 0.35) -> Image.Image:
    """As a camera would have it: soft highlights, darker corners, grain."""
    ys, xs = np.ogrid[-1.0 : 1.0 : HEIGHT * 1j, -1.0 : 1.0 : WIDTH * 1j]
    shade = 1.0 - vignette * np.clip((xs**2 + ys**2) / 2.0, 0.0, 1.0) ** 1.5
    noise = np.random.default_rng(random.getrandbits(32)).normal(0.0, grain, (HEIGHT, WIDTH, 1))
    shown = (1.0 - np.exp(-1.6 * np.clip(picture, 0.0, None))) / (1.0 - np.exp(-1.6))
    shown = np.clip(shown * shade[..., None] + noise, 0.0, 1.0)
    return Image.fromarray((shown * 255).astype(np.uint8), "RGB")
