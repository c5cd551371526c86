"""Large objects on live nodes: from files and streams to files, with progress, over interruptions and restarts."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from thyme.live import Node, OperationError
from thyme.live.link.link import LinkOptions
from thyme.live.link.paths import PathOptions
from thyme.model.chunks import CHUNK_BYTES
from thyme.model.errors import InputError
from thyme.model.objects import Metadata

PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
SIZE_BYTES = 20 * CHUNK_BYTES + 1_234
DATA = (bytes(range(253)) * (SIZE_BYTES // 253 + 1))[:SIZE_BYTES]
VENUE = {"grid": {"width_m": 80.0, "height_m": 40.0}}


def scene(tmp_path: Path, play: Callable[[Node, Node], Awaitable[None]], **options: Any) -> None:
    """Two neighbours, each with a disk."""
    given = {"settings": QUICK, **options}

    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store=tmp_path / "one", **given) as one,
            Node(2, store=tmp_path / "two", peers=[one.address], **given) as two,
        ):
            await one.device.joined.wait()
            await two.device.joined.wait()
            await play(one, two)

    asyncio.run(run())


@pytest.fixture
def film(tmp_path: Path) -> Path:
    path = tmp_path / "film.mp4"
    path.write_bytes(DATA)
    return path


async def notified(one: Node, two: Node, data: Any) -> Metadata:
    """Node 1 inserts this, and node 2 hears of it."""
    stream = await two.subscribe("film")
    await one.insert("film", data, ["film"])
    return (await anext(stream)).metadata


@pytest.mark.parametrize(
    "options",
    [{}, {"link": LinkOptions(paths=PathOptions(loopback_bytes=1_400))}, {"approach": "dcs", "settings": VENUE}],
    ids=["wide", "narrow", "dcs"],
)
def test_a_file_goes_into_a_file(tmp_path: Path, film: Path, options: dict[str, Any]) -> None:
    async def play(one: Node, two: Node) -> None:
        metadata = await notified(one, two, film)
        assert metadata.size_bytes == SIZE_BYTES
        progress: list[tuple[int, int]] = []
        size = await two.retrieve_to(metadata, tmp_path / "copy.mp4", lambda *told: progress.append(told))
        assert size == SIZE_BYTES
        assert (tmp_path / "copy.mp4").read_bytes() == DATA
        assert progress[-1] == (SIZE_BYTES, SIZE_BYTES)
        assert len(progress) > 10
        assert await one.retrieve(metadata) == DATA

    scene(tmp_path, play, **options)


def test_streams_bytes_and_small_files_are_inserted_as_well(tmp_path: Path) -> None:
    async def play(one: Node, two: Node) -> None:
        stream = await two.subscribe("film")
        small = tmp_path / "small"
        small.write_bytes(b"a few words")
        await one.insert("stream", io.BytesIO(DATA), ["film"])
        await one.insert("bytes", DATA, ["film"])
        await one.insert("small", small, ["film"])
        for expected in (DATA, DATA, b"a few words"):
            assert await two.retrieve((await anext(stream)).metadata) == expected

    scene(tmp_path, play)


def test_what_a_retrieval_brought_is_released_where_the_approach_does_not_keep_it(tmp_path: Path, film: Path) -> None:
    async def play(one: Node, two: Node) -> None:
        metadata = await notified(one, two, film)
        await two.retrieve_to(metadata, tmp_path / "copy")
        await two.device.host.durable()
        assert two.device.host.store.size(str(metadata.key)) == 0

    scene(tmp_path, play)
    assert not list((tmp_path / "two" / "contents").iterdir())


def test_a_retrieval_that_was_cancelled_goes_on_from_where_it_stopped_after_a_restart(
    tmp_path: Path, film: Path
) -> None:
    known: list[Metadata] = []

    async def begin(one: Node, two: Node) -> None:
        known.append(await notified(one, two, film))
        enough = asyncio.Event()
        task = asyncio.ensure_future(
            two.retrieve_to(
                known[0], tmp_path / "copy", lambda have, _: enough.set() if have > SIZE_BYTES / 3 else None
            )
        )
        await enough.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not (tmp_path / "copy").exists()

    async def go_on(one: Node, two: Node) -> None:
        progress: list[int] = []
        await two.retrieve_to(known[0], tmp_path / "copy", lambda have, _: progress.append(have))
        assert progress[0] > SIZE_BYTES / 3, "what was there is not fetched again"
        assert (tmp_path / "copy").read_bytes() == DATA

    scene(tmp_path, begin)
    scene(tmp_path, go_on)


def test_a_retrieval_goes_on_when_the_source_restarts(tmp_path: Path, film: Path) -> None:
    async def run() -> None:
        given: dict[str, Any] = {"settings": QUICK}
        one = Node(1, store=tmp_path / "one", **given)
        await one.__aenter__()
        address = one.address
        async with asyncio.timeout(PATIENCE_S), Node(2, store=tmp_path / "two", peers=[address], **given) as two:
            await one.device.joined.wait()
            metadata = await notified(one, two, film)
            some = asyncio.Event()
            task = asyncio.ensure_future(
                two.retrieve_to(metadata, tmp_path / "copy", lambda have, _: some.set() if have else None)
            )
            await some.wait()
            await one.close()
            async with Node(1, store=tmp_path / "one", listen=address, **given):
                assert await task == SIZE_BYTES
        assert (tmp_path / "copy").read_bytes() == DATA

    asyncio.run(run())


def test_a_damaged_chunk_on_the_disk_is_neither_served_as_good_nor_copied(tmp_path: Path, film: Path) -> None:
    async def play(one: Node, two: Node) -> None:
        metadata = await notified(one, two, film)
        await one.device.host.durable()
        (file,) = [path for path in (tmp_path / "one" / "contents").iterdir() if path.stat().st_size == SIZE_BYTES]
        with file.open("r+b") as damaged:
            damaged.seek(3 * CHUNK_BYTES)
            damaged.write(b"damaged")
        with pytest.raises(OperationError, match="damaged"):
            await two.retrieve_to(metadata, tmp_path / "copy")
        with pytest.raises(OperationError, match="chunk 3"):
            await one.retrieve_to(metadata, tmp_path / "copy")
        assert not (tmp_path / "copy").exists()

    scene(tmp_path, play)


def test_an_insertion_that_fails_leaves_nothing_behind(tmp_path: Path, film: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > SIZE_BYTES / 2:
                raise OSError("the card was pulled out")
            return super().read(size)

    async def play(one: Node, two: Node) -> None:
        with pytest.raises(InputError, match="the stream cannot be read: the card was pulled out"):
            await one.insert("film", Broken(DATA), ["film"])
        with pytest.raises(InputError, match="no tags"):
            await one.insert("film", film, [])
        with pytest.raises(InputError, match="open it for reading bytes"):
            await one.insert("film", io.StringIO("text"), ["film"])  # type: ignore[arg-type]
        assert list(one.device.host.store.items("draft")) == []
        await one.insert("film", film, ["film"])
        with pytest.raises(InputError, match="inserted by this node before"):
            await one.insert("film", film, ["other"])
        await one.insert("film", film, ["film"])  # the same once more
        assert await one.retrieve(one.known()[0]) == DATA

    scene(tmp_path, play)
