"""The demo's crowd: a process of its own with some nodes, whose people post a photo every few seconds.

    python -m thyme.gallery.demo.emulated_crowd INVITATION

The first line of its standard input says where the gallery's node is; drawing begins before. It ends when its standard
input does, so it never outlives the gallery that started it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from thyme.gallery import pictures
from thyme.gallery.cards import card_bytes, thumb_room
from thyme.gallery.demo.scenes import SCENES
from thyme.gallery.galleries import CELL_M
from thyme.gallery.limits import EVERY_PHOTO
from thyme.live.failures import OperationError
from thyme.live.link.addresses import parse_address
from thyme.live.loop import run
from thyme.live.node.node import Node
from thyme.live.trust.namespaces import Namespace
from thyme.model.errors import InputError
from thyme.model.geometry import Point

PEOPLE = ("Ana", "Tiago", "Mariana", "Luís", "Sofia", "Chen", "Amara")
EVENT = "festival"
PAUSE_S = (2.0, 6.0)
MOST_PHOTOS = 400
"""After this many, the crowd posts no more, so that a demonstration does not fill the disk."""
AT_FIRST = 4
"""This many photos are posted at once, and kept ready."""
GREET_S = 0.3
QUALITY = 86
HOLDERS = {"join_wait_s": 0.5, "settle_s": 1.0}


def drawn(random: Random, number: int) -> tuple[bytes, str, tuple[str, ...]]:
    """A photo, its title and its tags; the first ones are all of different kinds."""
    scene = list(SCENES)[number % len(SCENES)] if number < len(SCENES) else random.choice(list(SCENES))
    tags, titles = SCENES[scene]
    out = BytesIO()
    scene(random).save(out, "JPEG", quality=QUALITY)
    return out.getvalue(), random.choice(titles), (EVENT, *random.sample(tags, random.randint(1, len(tags))))


def card_for(data: bytes, title: str, by: str, folder: Path) -> bytes:
    file, thumb, view = folder / "photo", folder / "thumb", folder / "view"
    file.write_bytes(data)
    looked = pictures.look(file)
    pictures.make_shown(file, thumb, view)
    small = pictures.small_picture(thumb, thumb_room(title, by))
    return card_bytes(title, by, looked.width, looked.height, small)


class Prepared(msgspec.Struct, frozen=True):
    """A photo that waits to be posted."""

    person: int
    name: str
    data: bytes
    card: bytes
    tags: tuple[str, ...]


async def draw(photos: asyncio.Queue[Prepared], random: Random) -> None:
    """Keep some photos ready, from the very beginning."""
    with TemporaryDirectory(prefix="thyme-demo-") as folder:
        for number in range(MOST_PHOTOS):
            person = random.randrange(len(PEOPLE)) if number else 0
            data, title, tags = await asyncio.to_thread(drawn, random, number)
            card = await asyncio.to_thread(card_for, data, title, PEOPLE[person], Path(folder))
            name = f"{number}-{random.getrandbits(32):08x}"
            await photos.put(Prepared(person, name, data, card, (*tags, EVERY_PHOTO)))


async def post(nodes: list[Node], photos: asyncio.Queue[Prepared], random: Random) -> None:
    for number in range(MOST_PHOTOS):
        photo = await photos.get()
        node = nodes[photo.person]
        await node.device.joined.wait()
        try:
            await node.insert(photo.name, photo.data, photo.tags, photo.card)
        except (OperationError, InputError):  # the crowd is busy, or its guest is gone
            await asyncio.sleep(PAUSE_S[0])
        await asyncio.sleep(random.uniform(*PAUSE_S) if number >= AT_FIRST else 0.2)


def places(namespace: Namespace, random: Random) -> list[Point]:
    """One person in the guest's cell, the others anywhere."""
    grid = namespace.settings["grid"]
    width_m, height_m = grid["width_m"], grid["height_m"]
    near = Point(min(width_m, CELL_M) * 0.7, min(height_m, CELL_M) * 0.6)
    anywhere = [
        Point(width_m * (i % 3 + 0.5) / 3 + random.uniform(-5, 5), height_m * (i % 2 + 0.5) / 2) for i in range(1, 7)
    ]
    return [near, *anywhere][: len(PEOPLE)]


async def live(invitation: str, seed: int) -> None:
    random = Random(seed)
    photos: asyncio.Queue[Prepared] = asyncio.Queue(AT_FIRST)
    tasks = [asyncio.create_task(draw(photos, Random(random.getrandbits(32))))]
    nodes: list[Node] = []
    try:
        peer = (await asyncio.to_thread(sys.stdin.readline)).strip()
        if not peer:
            return
        parse_address(peer, "peer")
        for point in places(Namespace.invited(invitation), random):
            known = [peer, *(node.address for node in nodes)]
            options: dict[str, Any] = {
                "settings": HOLDERS,
                "position": point,
                "leave_s": 0.0,
                "greet_patience_s": GREET_S,
            }
            node = Node(store="memory", namespace=invitation, listen="127.0.0.1:0", peers=known, **options)
            await node.open()
            nodes.append(node)
        for node in nodes:
            await node.connect(node.options.peers)
        tasks.append(asyncio.create_task(post(nodes, photos, random)))
        await asyncio.gather(*(node.join() for node in nodes))
        await asyncio.to_thread(sys.stdin.read)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, *(node.close() for node in nodes), return_exceptions=True)


if __name__ == "__main__":
    logging.getLogger("thyme.live").setLevel(logging.ERROR)  # emulated people may leave without handing over
    run(live(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else Random().getrandbits(32)))
