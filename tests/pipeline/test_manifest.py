"""Whatever happens to the files of a dataset, it is noticed before they are used."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.pipeline.manifest import MANIFEST, damage_of, read_manifest
from thyme.pipeline.runs.kept_files import KeptFiles
from thyme.pipeline.schemas import POST_COLUMNS, arrow_schema
from thyme.pipeline.spark import dataset

FLIPS = 300


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A dataset of two files."""
    when = [datetime.fromtimestamp(n / 2, UTC) for n in range(500)]
    rows = [{"id": f"{n}", "author": "a", "at": at, "text": f"post {n}", "tags": ["goal"]} for n, at in enumerate(when)]
    table = pa.Table.from_pylist(rows, schema=arrow_schema(POST_COLUMNS))
    with dataset.drafting(tmp_path / "posts", made_from="a test") as draft:
        draft.add(table)
        draft.add(table.slice(0, 100), "more")
    return tmp_path / "posts"


def test_a_dataset_knows_its_files_its_rows_and_what_it_was_made_from(kept: Path) -> None:
    manifest = read_manifest(kept)
    assert sorted(manifest.files) == ["more/part-00000.parquet", "part-00000.parquet"]
    assert (manifest.rows, manifest.made_from) == (600, "a test")
    assert damage_of(kept) == ""
    dataset.check(kept)


def test_every_flipped_bit_is_noticed(kept: Path) -> None:
    part = kept / "part-00000.parquet"
    whole, random = part.read_bytes(), Random(1)
    for _ in range(FLIPS):
        place, bit = random.randrange(len(whole)), random.randrange(8)
        changed = bytearray(whole)
        changed[place] ^= 1 << bit
        part.write_bytes(changed)
        assert damage_of(kept) == "part-00000.parquet has changed"


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def copied(path: Path) -> None:
    shutil.copy(path, path.with_name("part-00002.parquet"))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (Path.unlink, "more/part-00000.parquet is missing"),
        (cut, r"more/part-00000.parquet has [\d,]+ bytes and not [\d,]+"),
        (copied, "more/part-00002.parquet was added"),
        (lambda path: path.parent.with_name(MANIFEST).unlink(), f"{MANIFEST} is missing"),
        (lambda path: path.parent.with_name(MANIFEST).write_text("{"), f"{MANIFEST} cannot be read"),
    ],
)
def test_what_is_missing_cut_or_added_is_named(kept: Path, harm: Callable[[Path], None], told: str) -> None:
    harm(kept / "more/part-00000.parquet")
    with pytest.raises(InputError, match=rf"the dataset is damaged: {told}.*; make it again"):
        dataset.check(kept)
    heard: list[str] = []
    assert not dataset.kept(kept, heard.append)
    assert len(heard) == 1
    assert not kept.exists(), "it is out of the way of the one that is made again"


def test_a_dataset_that_was_never_finished_is_made_again(kept: Path) -> None:
    (kept / dataset.DONE).unlink()
    heard: list[str] = []
    assert not dataset.kept(kept, heard.append)
    assert heard == ["posts: _SUCCESS is missing"]
    assert not dataset.kept(kept, heard.append), "one that is not there is no damage"
    assert len(heard) == 1


def test_tasks_hash_what_is_large(spark: SparkSession, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "HASHED_HERE_BYTES", 0)
    monkeypatch.setattr("thyme.pipeline.manifest.describe_file", lambda file: pytest.fail("hashed in this process"))
    assert dataset.kept(kept, pytest.fail, lambda: spark)
    dataset.check(kept, spark)
    part = kept / "more/part-00000.parquet"
    part.write_bytes(bytes(reversed(part.read_bytes())))
    heard: list[str] = []
    assert not dataset.kept(kept, heard.append, lambda: spark)
    assert heard == ["posts: more/part-00000.parquet has changed"]


def test_pages_carry_checksums_for_whoever_reads_them(kept: Path) -> None:
    part = kept / "part-00000.parquet"
    column = pq.read_metadata(part).row_group(0).column(3)
    content = bytearray(part.read_bytes())
    content[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    part.write_bytes(content)
    with pytest.raises(OSError, match=r"(?i)crc|corrupt|decompress"):
        pq.read_table(part, page_checksum_verification=True)


def test_a_short_task_s_damaged_result_counts_as_none(tmp_path: Path) -> None:
    files = KeptFiles(tmp_path)
    files.keep("a", b"found" * 100, 1.5)
    assert files.seconds("a") == 1.5
    place = tmp_path / "a.msgpack"
    content = bytearray(place.read_bytes())
    content[len(content) // 2] ^= 4
    place.write_bytes(content)
    assert files.seconds("a") is None


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    page = "Job aborted: java.io.IOException: No space left on device\n\tat x.y.Z"
    with (
        pytest.raises(InputError, match=r"^.*posts: cannot be written \(the disk is full\)"),
        dataset.drafting(tmp_path / "posts"),
    ):
        raise RuntimeError(page)
