"""Galleries for tests: applications on loopback, and photos to give them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from random import Random

from PIL import Image

from thyme.gallery.application import Application, ApplicationOptions
from thyme.gallery.cards import card_bytes
from thyme.gallery.forms import NewGallery
from thyme.gallery.limits import EVERY_PHOTO, GalleryOptions
from thyme.live.node.node import Node
from thyme.model.geometry import Point

GALLERY = NewGallery(name="Test")
LIMITS = GalleryOptions(undo_s=1.5, photo_bytes=2**20)


@asynccontextmanager
async def gallery(
    folder: Path,
    *peers: str,
    by: str = "Ana",
    subscribe: str = "",
    first: NewGallery = GALLERY,
    limits: GalleryOptions = LIMITS,
) -> AsyncIterator[Application]:
    """A gallery whose node has joined, and whose subscription stands: an object that is inserted at the same instant is
    notified seconds later."""
    opened = asyncio.Event()
    options = ApplicationOptions(
        folder=folder,
        peers=peers,
        by=by,
        gallery=first,
        position=Point(20.0, 20.0),
        subscribe=subscribe,
        leave_s=0.2,
        limits=limits,
    )
    application = Application(options, lambda _: opened.set())
    life = asyncio.create_task(application.run())
    try:
        waiting = asyncio.create_task(opened.wait())
        await asyncio.wait({life, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if life.done():
            await life
        await node_of(application).device.joined.wait()
        assert application.sessions is not None
        while subscribe and not application.sessions.subscriptions(application.sessions.host):
            await asyncio.sleep(0.01)
        yield application
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


def node_of(application: Application) -> Node:
    assert application.node is not None
    return application.node


def jpeg(seed: int = 1, width: int = 640, height: int = 480) -> bytes:
    """Something colourful that takes some hundred kilobytes."""
    out = BytesIO()
    small = Image.frombytes("RGB", (16, 12), Random(seed).randbytes(16 * 12 * 3))
    small.resize((width, height), Image.Resampling.BICUBIC).save(out, "JPEG", quality=95)
    return out.getvalue()


def tiny(seed: int) -> bytes:
    out = BytesIO()
    Image.frombytes("RGB", (4, 3), Random(seed).randbytes(36)).resize((64, 48)).save(out, "WEBP", quality=30)
    return out.getvalue()


async def post(node: Node, name: str, *tags: str, seed: int = 1, by: str = "Bea") -> None:
    """What another gallery would publish, without its page."""
    card = card_bytes(name, by, 640, 480, tiny(seed))
    await node.insert(f"{name}-{os.urandom(4).hex()}", jpeg(seed), [*tags, EVERY_PHOTO], card)


async def holds(node: Node, photos: int) -> None:
    """Wait until a node knows of so many photos for its cell: one that was slow to hear of the others joins without
    them, and is told of the past when it comes to know them, not page by page."""
    while {name: count for name, count, _ in node.device.approach.stored()}["metadata"] < photos:
        await asyncio.sleep(0.05)
