"""Scenes: the photos of an event that was never held, drawn at random. Each is a function that draws one kind."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi, sin
from random import Random

from PIL import Image, ImageDraw

from thyme.gallery.demo.brushes import (
    HEIGHT,
    WIDTH,
    Colour,
    beam,
    bytes_of,
    developed,
    glow,
    heads,
    lay,
    layer,
    sky,
)

NEON: tuple[Colour, ...] = (
    (1, 0.2, 0.5),
    (0.2, 0.6, 1),
    (0.6, 0.3, 1),
    (1, 0.6, 0.1),
    (0.1, 0.9, 0.7),
    (1, 0.15, 0.15),
)
FLAGS: tuple[Colour, ...] = ((0.85, 0.1, 0.15), (0.05, 0.45, 0.2), (0.95, 0.8, 0.1), (0.1, 0.25, 0.7), (1, 1, 1))


def stage(random: Random) -> Image.Image:
    colours = random.sample(NEON, 3)
    picture = sky((0.01, 0.01, 0.03), (0.04, 0.02, 0.08), (0.1, 0.05, 0.12))
    for i in range(random.randint(6, 10)):
        x = WIDTH * (i + random.random()) / 9
        beam(picture, x, 40, random.uniform(-0.6, 0.6), random.uniform(0.04, 0.1), random.choice(colours), 1.1)
        glow(picture, x, 40, 14, (1, 1, 1), 1.6)
    glow(picture, WIDTH / 2, HEIGHT * 0.62, 260, colours[0], 0.9)
    image, draw = layer()
    left, right, floor = WIDTH * 0.2, WIDTH * 0.8, HEIGHT * 0.66
    draw.rectangle((left, floor, right, floor + 60), fill=(12, 10, 16, 255))
    for _ in range(random.randint(3, 5)):
        x, h = random.uniform(left + 80, right - 80), random.uniform(120, 160)
        draw.ellipse((x - 16, floor - h, x + 16, floor - h + 36), fill=(8, 6, 12, 255))
        draw.rounded_rectangle((x - 28, floor - h + 32, x + 28, floor), 14, fill=(8, 6, 12, 255))
        draw.line((x - 60, floor - h * 0.55, x + 50, floor - h * 0.4), fill=(8, 6, 12, 255), width=9)
    lay(picture, image, 1.2)
    lay(picture, heads(random, HEIGHT * 0.82, 62, (0.05, 0.03, 0.08), 0.5), 1.5)
    lay(picture, heads(random, HEIGHT * 0.95, 110, (0.01, 0.01, 0.02), 0.4), 2.5)
    return developed(picture, random, grain=0.035)


def fireworks(random: Random) -> Image.Image:
    picture = sky((0.01, 0.01, 0.05), (0.03, 0.03, 0.1), (0.1, 0.07, 0.12))
    for _ in range(random.randint(3, 5)):
        x, y = random.uniform(0.15, 0.85) * WIDTH, random.uniform(0.12, 0.5) * HEIGHT
        colour, reach = random.choice(NEON), random.uniform(130, 280)
        image, draw = layer()
        for ray in range(random.randint(40, 70)):
            turn, far = ray * 2.399, reach * random.uniform(0.7, 1.0)
            bent = [(x + cos(turn) * far * t, y + sin(turn) * far * t + 60 * t * t) for t in (0.25, 0.5, 0.75, 1.0)]
            draw.line(bent, fill=bytes_of(colour, 0.8), width=3)
            draw.ellipse(
                (bent[-1][0] - 4, bent[-1][1] - 4, bent[-1][0] + 4, bent[-1][1] + 4), fill=(255, 255, 230, 255)
            )
        lay(picture, image, 6, light=True)
        lay(picture, image, 0.8, light=True)
        glow(picture, x, y, reach * 0.5, colour, 0.35)
    image, draw = layer()
    x = 0.0
    while x < WIDTH:
        wide, high = random.uniform(50, 150), random.uniform(70, 210)
        draw.rectangle((x, HEIGHT * 0.84 - high, x + wide, HEIGHT), fill=(8, 8, 16, 255))
        for wx in range(int(x) + 10, int(x + wide) - 10, 18):
            for wy in range(int(HEIGHT * 0.84 - high) + 12, int(HEIGHT * 0.84), 24):
                if random.random() < 0.35:
                    draw.rectangle((wx, wy, wx + 7, wy + 10), fill=(250, 210, 130, 200))
        x += wide
    lay(picture, image, 1.0)
    lay(picture, heads(random, HEIGHT * 0.95, 70, (0.01, 0.01, 0.03), 0.3), 2)
    return developed(picture, random, grain=0.03)


def sunset(random: Random) -> Image.Image:
    warm = random.choice(((1.0, 0.5, 0.2), (1.0, 0.4, 0.35), (1.0, 0.65, 0.3)))
    picture = sky((0.15, 0.25, 0.55), (0.55, 0.4, 0.6), warm, (0.9, 0.55, 0.4))
    sun = random.uniform(0.2, 0.8) * WIDTH
    glow(picture, sun, HEIGHT * 0.62, 70, (1, 0.85, 0.55), 1.6)
    image, draw = layer()
    for _ in range(14):
        x, y, wide = random.uniform(-100, WIDTH), random.uniform(60, HEIGHT * 0.5), random.uniform(150, 420)
        draw.ellipse((x, y, x + wide, y + wide * 0.12), fill=(255, 215, 190, 70))
    lay(picture, image, 18)
    image, draw = layer()
    dark = (28, 18, 30, 255)
    draw.polygon(
        [(0, HEIGHT), (0, HEIGHT * 0.74), (WIDTH * 0.5, HEIGHT * 0.7), (WIDTH, HEIGHT * 0.76), (WIDTH, HEIGHT)],
        fill=dark,
    )
    cx, cy, r = WIDTH - sun, HEIGHT * 0.52, 190
    for spoke in range(16):
        a = spoke * pi / 8 + 0.1
        end = (cx + cos(a) * r, cy + sin(a) * r)
        draw.line((cx, cy, *end), fill=dark, width=4)
        draw.rounded_rectangle((end[0] - 13, end[1], end[0] + 13, end[1] + 24), 6, fill=dark)
    draw.ellipse((cx - r, cy - r, cx + r, cy + r), outline=dark, width=8)
    draw.line((cx, cy, cx - 90, HEIGHT * 0.8), fill=dark, width=12)
    draw.line((cx, cy, cx + 90, HEIGHT * 0.8), fill=dark, width=12)
    for _ in range(5):
        x, s = random.uniform(0, WIDTH), random.uniform(80, 150)
        draw.polygon(
            [(x - s, HEIGHT * 0.78), (x, HEIGHT * 0.78 - s * 0.9), (x + s, HEIGHT * 0.78)], fill=(44, 28, 40, 255)
        )
    lay(picture, image, 1.2)
    lay(picture, heads(random, HEIGHT * 0.9, 54, (0.07, 0.04, 0.08), 0.2), 1.5)
    return developed(picture, random)


def scoreboard(random: Random) -> Image.Image:
    picture = sky((0.02, 0.03, 0.08), (0.05, 0.07, 0.15), (0.05, 0.2, 0.1))
    for x in (120, WIDTH - 120):
        glow(picture, x, 80, 60, (1, 1, 0.95), 1.8)
    image, draw = layer()
    for row in range(9):
        for x in range(0, WIDTH, 13):
            y = HEIGHT * 0.5 + row * 22 + random.uniform(-3, 3)
            draw.ellipse((x, y, x + 10, y + 13), fill=bytes_of(random.choice(FLAGS), 0.55))
    lay(picture, image, 2.5)
    image, draw = layer()
    left, top, wide, high = WIDTH * 0.22, HEIGHT * 0.1, WIDTH * 0.56, HEIGHT * 0.34
    draw.rounded_rectangle(
        (left, top, left + wide, top + high), 18, fill=(10, 12, 16, 255), outline=(70, 74, 84, 255), width=8
    )
    home, away = random.randint(0, 4), random.randint(0, 4)
    for place, digit in ((0.2, home), (0.62, away)):
        _digit(draw, left + wide * place, top + high * 0.22, high * 0.56, digit)
    for y in (0.4, 0.6):
        draw.ellipse(
            (left + wide * 0.49, top + high * y, left + wide * 0.51 + 6, top + high * y + 18), fill=(255, 190, 60, 255)
        )
    lay(picture, image, 1.0)
    lay(picture, image, 14, light=True)
    lay(picture, heads(random, HEIGHT * 0.88, 80, (0.02, 0.02, 0.04), 0.6), 2)
    return developed(picture, random, grain=0.03)


_SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")


def _digit(draw: ImageDraw.ImageDraw, x: float, y: float, high: float, digit: int) -> None:
    wide, thick = high * 0.5, int(high * 0.12)
    lines = {
        "a": (0, 0, 1, 0), "b": (1, 0, 1, 0.5), "c": (1, 0.5, 1, 1), "d": (0, 1, 1, 1),
        "e": (0, 0.5, 0, 1), "f": (0, 0, 0, 0.5), "g": (0, 0.5, 1, 0.5),
    }  # fmt: skip
    for name in _SEGMENTS[digit]:
        x1, y1, x2, y2 = lines[name]
        draw.line((x + x1 * wide, y + y1 * high, x + x2 * wide, y + y2 * high), fill=(255, 190, 60, 255), width=thick)


def confetti(random: Random) -> Image.Image:
    colour = random.choice(NEON)
    picture = sky((0.1, 0.06, 0.16), colour, (0.25, 0.12, 0.2))
    picture *= 0.75
    glow(picture, WIDTH * random.uniform(0.3, 0.7), 60, 300, (1, 0.95, 0.85), 1.1)
    lay(picture, heads(random, HEIGHT * 0.84, 74, (0.1, 0.05, 0.1), 0.8), 3)
    for depth in range(3):
        image, draw = layer()
        for _ in range(160 - depth * 45):
            x, y, s = random.uniform(0, WIDTH), random.uniform(0, HEIGHT), random.uniform(4, 9) * (1 + depth * 1.6)
            a, b = random.uniform(0, pi), random.uniform(0.25, 1.0)
            dx, dy = cos(a) * s, sin(a) * s
            corners = [(x + dx, y + dy), (x - dy * b, y + dx * b), (x - dx, y - dy), (x + dy * b, y - dx * b)]
            draw.polygon(corners, fill=bytes_of(random.choice(NEON + FLAGS), 0.95))
        lay(picture, image, (1.0, 0.6, 6.0)[depth])
    return developed(picture, random, vignette=0.25)


def food(random: Random) -> Image.Image:
    wood = random.choice(((0.5, 0.32, 0.18), (0.35, 0.24, 0.16), (0.62, 0.5, 0.36)))
    picture = sky(wood, wood)
    image, draw = layer()
    for plank in range(6):
        y = plank * HEIGHT / 6
        draw.line((0, y, WIDTH, y), fill=(40, 22, 10, 160), width=5)
        for _ in range(26):
            gy, gx = y + random.uniform(8, HEIGHT / 6), random.uniform(-100, WIDTH)
            draw.line(
                (gx, gy, gx + random.uniform(80, 400), gy + random.uniform(-4, 4)), fill=(50, 28, 14, 50), width=2
            )
    lay(picture, image, 1.0)
    cx, cy, r = WIDTH * random.uniform(0.42, 0.58), HEIGHT * 0.52, 350
    image, draw = layer()
    draw.ellipse((cx - r + 20, cy - r + 30, cx + r + 20, cy + r + 30), fill=(10, 5, 0, 150))
    lay(picture, image, 22)
    image, draw = layer()
    draw.ellipse((cx - r, cy - r, cx + r, cy + r), fill=(205, 145, 75, 255))
    draw.ellipse((cx - r * 0.93, cy - r * 0.93, cx + r * 0.93, cy + r * 0.93), fill=(190, 55, 30, 255))
    draw.ellipse((cx - r * 0.88, cy - r * 0.88, cx + r * 0.88, cy + r * 0.88), fill=(245, 205, 110, 255))
    toppings = random.choice((((165, 30, 25), 44), ((60, 120, 40), 26), ((35, 30, 35), 20)))
    for _ in range(90):
        a, d = random.uniform(0, 2 * pi), r * 0.85 * random.random() ** 0.5
        x, y, s = cx + cos(a) * d, cy + sin(a) * d, random.uniform(8, 30)
        draw.ellipse(
            (x - s, y - s * 0.8, x + s, y + s * 0.8), fill=random.choice(((250, 225, 150, 200), (225, 120, 55, 130)))
        )
    for _ in range(26):
        a, d = random.uniform(0, 2 * pi), r * 0.8 * random.random() ** 0.5
        x, y, s = cx + cos(a) * d, cy + sin(a) * d, toppings[1] * random.uniform(0.8, 1.1)
        draw.ellipse((x - s, y - s, x + s, y + s), fill=(*toppings[0], 255))
        draw.ellipse((x - s * 0.7, y - s * 0.75, x + s * 0.5, y + s * 0.4), fill=(255, 255, 255, 26))
    for leaf in range(9):
        a, d = leaf * 2.4, r * random.uniform(0.1, 0.75)
        x, y = cx + cos(a) * d, cy + sin(a) * d
        draw.ellipse((x - 34, y - 14, x + 34, y + 14), fill=(50, 115, 40, 255))
    for cut in range(4):
        a = cut * pi / 4 + 0.2
        ends = (cx - cos(a) * r, cy - sin(a) * r, cx + cos(a) * r, cy + sin(a) * r)
        draw.line(ends, fill=(120, 50, 20, 150), width=5)
    lay(picture, image, 1.4)
    glow(picture, WIDTH * 0.2, 0, 500, (1, 0.9, 0.7), 0.35)
    return developed(picture, random, vignette=0.5)


def pitch(random: Random) -> Image.Image:
    picture = sky((0.45, 0.65, 0.9), (0.7, 0.82, 0.95), (0.3, 0.6, 0.25), (0.2, 0.5, 0.18), (0.22, 0.52, 0.2))
    image, draw = layer()
    top = int(HEIGHT * 0.44)
    for row in range(12):
        for seat in range(0, WIDTH, 11):
            y = HEIGHT * 0.24 + row * 16 + random.uniform(-3, 3)
            draw.ellipse((seat, y, seat + 8, y + 11), fill=bytes_of(random.choice(FLAGS), 0.8))
    for stripe in range(0, 10, 2):
        y1, y2 = (top + (HEIGHT - top) * (k / 10) ** 1.5 for k in (stripe, stripe + 1))
        draw.rectangle((0, y1, WIDTH, y2), fill=(255, 255, 255, 16))
    line = (240, 245, 240, 220)
    draw.line((0, top + 50, WIDTH, top + 50), fill=line, width=5)
    draw.ellipse((WIDTH * 0.3, HEIGHT * 0.62, WIDTH * 0.7, HEIGHT * 0.8), outline=line, width=6)
    draw.line((0, HEIGHT * 0.71, WIDTH, HEIGHT * 0.71), fill=line, width=6)
    for team in ((200, 20, 35), (245, 245, 250)):
        for _ in range(random.randint(5, 8)):
            x, y = random.uniform(60, WIDTH - 60), random.uniform(HEIGHT * 0.5, HEIGHT * 0.92)
            s = 16 + (y / HEIGHT - 0.5) * 90
            draw.ellipse((x - s * 0.9, y + s * 1.7, x + s * 0.9, y + s * 2.1), fill=(0, 40, 0, 90))
            draw.line((x - s * 0.25, y + s, x - s * 0.5, y + s * 1.9), fill=(235, 190, 160, 255), width=int(s * 0.28))
            draw.line((x + s * 0.25, y + s, x + s * 0.55, y + s * 1.8), fill=(235, 190, 160, 255), width=int(s * 0.28))
            draw.rounded_rectangle((x - s * 0.45, y, x + s * 0.45, y + s * 1.1), s * 0.25, fill=(*team, 255))
            draw.ellipse((x - s * 0.27, y - s * 0.55, x + s * 0.27, y + s * 0.02), fill=(90, 60, 40, 255))
    lay(picture, image, 1.2)
    return developed(picture, random, grain=0.015)


def lanterns(random: Random) -> Image.Image:
    picture = sky((0.02, 0.03, 0.1), (0.08, 0.05, 0.16), (0.2, 0.1, 0.12))
    for string in range(5):
        y0, sag = random.uniform(40, HEIGHT * 0.4), random.uniform(60, 160)
        image, draw = layer()
        points = [(at, y0 + string * 40 + sag * (1 - ((at / WIDTH) * 2 - 1) ** 2)) for at in range(0, WIDTH + 1, 24)]
        draw.line(points, fill=(20, 14, 18, 255), width=4)
        for x, y in [(float(at), y) for at, y in points[:: random.randint(3, 5)]]:
            s, colour = random.uniform(14, 30), random.choice(((1, 0.7, 0.3), (1, 0.45, 0.2), (1, 0.85, 0.55)))
            draw.ellipse((x - s, y, x + s, y + s * 2.1), fill=bytes_of(colour))
        lay(picture, image, 0.8 + string * 0.7)
        lay(picture, image, 26, light=True)
    for _ in range(40):
        x, y, s = random.uniform(0, WIDTH), random.uniform(HEIGHT * 0.5, HEIGHT * 0.9), random.uniform(8, 34)
        image, draw = layer()
        draw.ellipse((x - s, y - s, x + s, y + s), fill=bytes_of(random.choice(NEON), 0.3))
        if s > 30:
            lay(picture, image, 0, light=True)
        else:
            glow(picture, x, y, s * 0.3, random.choice(NEON), 0.5)
    lay(picture, heads(random, HEIGHT * 0.93, 92, (0.03, 0.02, 0.03), 0.1), 3)
    return developed(picture, random, grain=0.03)


Scene = Callable[[Random], Image.Image]
SCENES: dict[Scene, tuple[tuple[str, ...], tuple[str, ...]]] = {
    sunset: (("sunset", "sky", "wheel"), ("Golden hour", "From the hill", "Big wheel at dusk")),
    pitch: (("pitch", "match", "goal"), ("Kick-off", "Corner", "From block C")),
    confetti: (("confetti", "crowd", "party"), ("We won!", "Confetti everywhere", "Best moment")),
    food: (("food", "pizza"), ("Dinner is served", "Worth the queue", "Stand 14")),
    fireworks: (("fireworks", "night"), ("Midnight fireworks", "Wow", "Over the rooftops")),
    stage: (("stage", "concert", "lights"), ("Encore!", "Front row", "Main stage", "That bass drop")),
    scoreboard: (("scoreboard", "goal", "match"), ("Still playing!", "Look at the score", "88th minute")),
    lanterns: (("lanterns", "night", "party"), ("Under the lanterns", "Old town", "Walking home")),
}
"""How each kind is tagged and called; those that are drawn quickly come first."""
