"""Synthetic posts have the statistics of real ones, and depend on their options and seed alone."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thyme.model.errors import InputError
from thyme.model.tags import tags_in_text
from thyme.pipeline.chance import exponentials, uniforms
from thyme.pipeline.posts.bursts import BurstOptions, MatchClock
from thyme.pipeline.posts.generate import PostOptions, post_blocks, write_posts
from thyme.pipeline.schemas import POSTS
from thyme.pipeline.spark import dataset


@pytest.fixture(scope="module", params=[(1, 100_000), (2, 100_000), (3, 100_000), (1, 1_000)])
def match(request: pytest.FixtureRequest) -> pa.Table:
    """A match by its seed, in one block, or in many as a large one is."""
    seed, block_posts = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("thyme.pipeline.posts.generate.BLOCK_POSTS", block_posts)
        return pa.concat_tables(post_blocks(PostOptions(posts=12_000, seed=seed)))


def slope(values: np.ndarray, first: int, last: int) -> float:
    ranks = np.arange(first, last + 1)
    return float(-np.polyfit(np.log(ranks), np.log(values[first - 1 : last]), 1)[0])


def test_tags_have_a_head_and_a_tail_that_keeps_growing(match: pa.Table) -> None:
    tags = match["tags"].to_pylist()
    numbers = np.bincount([len(own) for own in tags], minlength=7) / len(tags)
    assert 0.10 <= numbers[0] <= 0.19
    assert 0.30 <= numbers[1] <= 0.50
    assert 0.23 <= numbers[2] <= 0.28
    uses = Counter(tag for own in tags for tag in own)
    counts = np.array(sorted(uses.values(), reverse=True))
    shares = counts / counts.sum()
    assert 0.27 <= shares[0] <= 0.45
    assert 0.11 <= shares[1] <= 0.21
    assert 0.06 <= shares[3] <= 0.12
    assert 1.5 <= slope(counts, 2, 50) <= 1.8
    assert 0.57 <= np.mean(counts == 1) <= 0.77
    assert 600 <= len(counts) <= 1100
    uses_so_far = np.cumsum([len(own) for own in tags])
    seen: set[str] = set()
    distinct = []
    for own in tags:
        seen.update(own)
        distinct.append(len(seen))
    heaps = np.polyfit(np.log(uses_so_far[500::100]), np.log(distinct[500::100]), 1)[0]
    assert 0.58 <= heaps <= 0.83


def test_half_of_the_people_post_once_and_activity_falls_with_rank(match: pa.Table) -> None:
    counts = np.array(sorted(Counter(match["author"].to_pylist()).values(), reverse=True))
    assert 0.45 <= np.mean(counts == 1) <= 0.55
    assert 2.0 <= counts.mean() <= 3.6
    assert 0.7 <= slope(counts, 1, 200) <= 0.9


def test_a_small_event_has_the_users_of_a_small_event() -> None:
    posts = pa.concat_tables(post_blocks(PostOptions(posts=750)))
    counts = np.array(sorted(Counter(posts["author"].to_pylist()).values(), reverse=True))
    assert 214 <= len(counts) <= 337
    assert 0.66 <= counts[:100].sum() / counts.sum() <= 0.84
    assert 21 <= counts[0] <= 91


def test_the_crowd_reacts_in_bursts(match: pa.Table) -> None:
    at_s = np.array(match["at"].cast(pa.int64())) / 1e6
    assert (np.diff(at_s) >= 0).all()
    minutes = np.bincount(((at_s - PostOptions().start_s) // 60).astype(int), minlength=180)[30:]
    mean = minutes.mean()
    assert 53 <= mean <= 95
    assert 3.8 <= minutes.max() / mean <= 5.2
    assert 2.4 <= np.quantile(minutes, 0.95) / mean <= 4.0
    assert 40 <= minutes.var() / mean <= 130


def test_texts_are_short_and_carry_the_tags(match: pa.Table) -> None:
    texts = match["text"].to_pylist()
    lengths = np.array([len(text) for text in texts])
    low, middle, high = np.quantile(lengths, [0.1, 0.5, 0.9])
    assert 25 <= low <= 40
    assert 55 <= middle <= 75
    assert 110 <= high <= 140
    assert 71 <= lengths.mean() <= 117
    assert lengths.max() <= 160
    for text, tags in zip(texts[:500], match["tags"].to_pylist()[:500], strict=True):
        assert sorted(tags_in_text(text)) == sorted(tags)


def test_ids_are_unique_and_carry_the_time(match: pa.Table) -> None:
    ids = [int(one) for one in match["id"].to_pylist()]
    assert len(set(ids)) == len(ids)
    carried_s = [((one >> 22) + 1_288_834_974_657) / 1000 for one in ids]
    assert np.allclose(carried_s, np.array(match["at"].cast(pa.int64())) / 1e6, atol=1e-3)


def test_the_same_seed_gives_the_same_posts_and_another_seed_others() -> None:
    first, second, other = (pa.concat_tables(post_blocks(PostOptions(posts=300, seed=seed))) for seed in (7, 7, 8))
    assert first.equals(second)
    assert not first.equals(other)


def test_the_posts_of_a_seed_stay_the_same() -> None:
    rows = pa.concat_tables(post_blocks(PostOptions(posts=300, seed=7))).to_pylist()
    digest = hashlib.blake2b(json.dumps(rows, default=str, sort_keys=True).encode(), digest_size=8).hexdigest()
    assert digest == "027d46fc69df382f"


def test_a_block_of_many_posts_is_drawn_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    posts = PostOptions(posts=100_000_000)
    monkeypatch.setattr("thyme.pipeline.posts.generate.BLOCK_POSTS", 1_000)
    tracemalloc.start()
    (block,) = post_blocks(posts, [99_999])
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert block.num_rows == 1_000
    assert peak_bytes < posts.posts, "less than a byte for each post"
    assert block["at"][0].as_py().isoformat() > "2016-07-10T22:59"


def test_spark_writes_the_blocks_in_folders_by_day(spark: SparkSession, tmp_path: Path) -> None:
    options = PostOptions(posts=250, start_s=1_468_180_800.0 + 7_200.0)
    write_posts(spark, options, tmp_path / "posts")
    assert [len(list((tmp_path / "posts" / f"day=2016-07-1{day}").glob("*.parquet"))) for day in (0, 1)] == [1, 1]
    stored = dataset.read(spark, tmp_path / "posts", POSTS).toArrow().sort_by("id")
    assert stored.to_pylist() == pa.concat_tables(post_blocks(options)).sort_by("id").to_pylist()


def test_impossible_options_are_refused() -> None:
    with pytest.raises(InputError, match="posts is 0; expected a whole number ≥ 1"):
        PostOptions(posts=0)
    with pytest.raises(InputError, match="sum to"):
        PostOptions(tag_counts=(0.5, 0.4))


def test_a_draw_depends_on_its_names_alone() -> None:
    users = np.arange(50_000)
    drawn = uniforms(3, "test", users, 1)
    assert (drawn[::-1] == uniforms(3, "test", users[::-1], 1)).all()
    assert uniforms(3, "test", 17, 1) == drawn[17]
    assert not (drawn == uniforms(3, "another", users, 1)).any()
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    assert abs(drawn.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.02
    assert abs(exponentials(3, "test", users, 2).mean() - 1.0) < 0.03


@pytest.mark.parametrize("goals", [-1, 101])
def test_impossible_matches_are_refused(goals: int) -> None:
    with pytest.raises(InputError, match=f"goals is {goals}; expected a whole number ≥ 0 and ≤ 100"):
        BurstOptions(goals=goals)


def test_options_that_draw_nothing_sensible_are_refused() -> None:
    with pytest.raises(InputError, match="seed is -1; expected a whole number ≥ 0"):
        PostOptions(seed=-1)
    with pytest.raises(InputError, match="as seconds of kick-off"):
        MatchClock(kickoff_s=9_000.0)
    with pytest.raises(InputError, match="goal_height_low is 10 and goal_height_high 9; expected low ≤ high"):
        BurstOptions(goal_height_low=10.0)
    with pytest.raises(InputError, match="other_height_low is 0; expected a number ≥ 1"):
        BurstOptions(other_height_low=0.0)
    with pytest.raises(InputError, match="decay_s is 0; expected a number > 0"):
        BurstOptions(decay_s=0.0)
