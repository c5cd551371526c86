"""The figures of posts are those that the generator was built to have."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thyme.pipeline.posts.describe import describe_posts, statistic_rows
from thyme.pipeline.posts.generate import PostOptions, post_blocks
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema
from thyme.pipeline.spark.arrow import from_arrow


def test_generated_posts_are_described_as_a_match(spark: SparkSession) -> None:
    table = pa.concat_tables(post_blocks(PostOptions(posts=12_000)))
    found = describe_posts(from_arrow(spark, table, POSTS))
    assert found.posts == 12_000
    assert found.start_s == PostOptions().start_s
    assert 1.5 <= found.tag_slope <= 1.8
    assert 0.6 <= found.heaps_exponent <= 0.83
    assert 0.57 <= found.tags_seen_once <= 0.77
    assert 0.7 <= found.activity_exponent <= 0.9
    assert 0.45 <= found.users_posting_once <= 0.55
    assert found.peak_over_mean > 3.8
    assert sum(found.minutes) == 12_000
    assert dict(statistic_rows(found))["posts"] == "12,000"


def test_figures_of_a_handful_of_posts(spark: SparkSession) -> None:
    rows = [
        {"id": "1", "author": "ana", "at": datetime.fromtimestamp(0.0, UTC), "text": "ab", "tags": ["x", "y"]},
        {"id": "2", "author": "ana", "at": datetime.fromtimestamp(61.0, UTC), "text": "abcd", "tags": ["x"]},
        {"id": "3", "author": "bob", "at": datetime.fromtimestamp(62.0, UTC), "text": "", "tags": []},
    ]
    found = describe_posts(from_arrow(spark, pa.Table.from_pylist(rows, arrow_schema(POST_COLUMNS)), POSTS))
    assert (found.posts, found.users, found.distinct_tags, found.most_posts) == (3, 2, 2, 2)
    assert found.tagged == pytest.approx(2 / 3)
    assert found.top_shares == pytest.approx((2 / 3, 1 / 3))
    assert found.text_mean_chars == 2.0
    assert found.minutes[:3] == (1, 2, 0)
    assert found.tag_ranks == ((1, 2), (2, 1))
    assert found.user_ranks == ((1, 2), (2, 1))
