"""What posts look like, in figures: tags, users, times, texts.

The same figures by which real posts of events were measured, so that a file, the generator and the literature can be
set side by side. Times are looked at within the busiest three hours.
"""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from thyme.pipeline.schemas import POSTS, conform, seconds
from thyme.pipeline.traces.trace import busiest_start_s

WINDOW_S = 10_800.0
SLOPE_RANKS = (2, 50)
ACTIVITY_RANKS = (1, 200)
CURVE_POINTS = 60
"""Ranks that a picture shows, at most."""
Floats = npt.NDArray[np.float64]


class PostStatistics(msgspec.Struct, frozen=True):
    """Figures of a set of posts; NaN where there are too few for one."""

    posts: int
    tagged: float
    tags_per_post: float
    distinct_tags: int
    top_shares: tuple[float, ...]
    tag_slope: float
    tags_seen_once: float
    heaps_exponent: float
    users: int
    posts_per_user: float
    most_posts: int
    users_posting_once: float
    top_hundred_share: float
    activity_exponent: float
    start_s: float
    posts_per_minute: float
    peak_over_mean: float
    high_over_mean: float
    fano_factor: float
    text_mean_chars: float
    text_chars: tuple[float, ...]
    minutes: tuple[int, ...]
    """Posts in each minute of the window, for a picture."""
    tag_ranks: tuple[tuple[int, int], ...] = ()
    """⟨rank, uses⟩ of tags at ranks that grow by a constant factor, for a picture."""
    user_ranks: tuple[tuple[int, int], ...] = ()
    """⟨rank, posts⟩ of users, likewise."""


def describe_posts(posts: DataFrame) -> PostStatistics:
    """The statistics of posts that have at least one tag among them."""
    posts = conform(posts, POSTS).withColumn("at_s", seconds(sf.col("at"))).persist()
    try:
        start_s = busiest_start_s(posts.where(sf.size("tags") > 0), WINDOW_S)
        (whole,) = (
            posts.agg(
                sf.count("*").alias("posts"),
                sf.avg(sf.when(sf.size("tags") > 0, 1.0).otherwise(0.0)).alias("tagged"),
                sf.avg(sf.size("tags")).alias("tags"),
                sf.avg(sf.length("text")).alias("length"),
                sf.percentile(sf.length("text"), [0.1, 0.5, 0.9]).alias("lengths"),
            )
            .toArrow()
            .to_pylist()
        )
        tags = _ranked(posts.select(sf.explode("tags").alias("name")))
        users = _ranked(posts.select(sf.col("author").alias("name")))
        minutes = _minutes(posts, start_s)
        return PostStatistics(
            posts=whole["posts"],
            tagged=whole["tagged"],
            tags_per_post=whole["tags"],
            distinct_tags=tags.number,
            top_shares=tuple((tags.first(4) / tags.total).tolist()),
            tag_slope=_slope(tags, *SLOPE_RANKS),
            tags_seen_once=tags.once,
            heaps_exponent=_heaps(posts),
            users=users.number,
            posts_per_user=users.total / users.number,
            most_posts=int(users.first(1)[0]),
            users_posting_once=users.once,
            top_hundred_share=float(users.first(100).sum() / users.total),
            activity_exponent=_slope(users, *ACTIVITY_RANKS),
            start_s=start_s,
            posts_per_minute=float(minutes.mean()),
            peak_over_mean=float(minutes.max() / minutes.mean()),
            high_over_mean=float(np.quantile(minutes, 0.95) / minutes.mean()),
            fano_factor=float(minutes.var() / minutes.mean()),
            text_mean_chars=whole["length"],
            text_chars=tuple(whole["lengths"]),
            minutes=tuple(int(count) for count in minutes),
            tag_ranks=_curve(tags),
            user_ranks=_curve(users),
        )
    finally:
        posts.unpersist()


def statistic_rows(statistics: PostStatistics) -> list[tuple[str, str]]:
    """⟨what, how much⟩ for people to read."""
    one = statistics
    return [
        ("posts", f"{one.posts:,}"),
        ("posts with a tag", f"{one.tagged:.2f}"),
        ("tags per post", f"{one.tags_per_post:.2f}"),
        ("distinct tags", f"{one.distinct_tags:,}"),
        ("shares of the four most used tags", " ".join(f"{share:.2f}" for share in one.top_shares)),
        ("Zipf slope of tags, ranks 2–50", f"{one.tag_slope:.2f}"),
        ("tags seen once", f"{one.tags_seen_once:.2f}"),
        ("Heaps exponent of tags", f"{one.heaps_exponent:.2f}"),
        ("users", f"{one.users:,}"),
        ("posts per user, mean and most", f"{one.posts_per_user:.1f}, {one.most_posts:,}"),
        ("users who post once", f"{one.users_posting_once:.2f}"),
        ("share of the 100 most active", f"{one.top_hundred_share:.2f}"),
        ("activity exponent, ranks 1–200", f"{one.activity_exponent:.2f}"),
        ("posts per minute, busiest 3 h", f"{one.posts_per_minute:.1f}"),
        ("peak / mean, 95 % / mean", f"{one.peak_over_mean:.1f}, {one.high_over_mean:.1f}"),
        ("Fano factor of minutes", f"{one.fano_factor:.1f}"),
        ("characters: mean, 10/50/90 %", f"{one.text_mean_chars:.0f}, " + "/".join(f"{n:.0f}" for n in one.text_chars)),
    ]


class _Ranks:
    """How often the first, the second and every further name is used: kept as how many names are used how often, which
    is little however many names there are."""

    def __init__(self, uses: Floats, names: npt.NDArray[np.int64]) -> None:
        order = np.argsort(-uses)
        self._uses, self._until = uses[order], np.cumsum(names[order])
        self.number = int(self._until[-1])
        self.total = float((uses * names).sum())
        self.once = float(names[uses == 1].sum() / self.number)

    def at(self, ranks: npt.NDArray[np.int64]) -> Floats:
        """The uses of names by their ranks from 1."""
        found: Floats = self._uses[np.searchsorted(self._until, ranks, side="left")]
        return found

    def first(self, number: int) -> Floats:
        return self.at(np.arange(1, min(number, self.number) + 1))


def _ranked(names: DataFrame) -> _Ranks:
    uses = names.groupBy("name").agg(sf.count("*").alias("uses"))
    counts = uses.groupBy("uses").agg(sf.count("*").alias("names")).toArrow()
    return _Ranks(counts["uses"].to_numpy().astype(np.float64), counts["names"].to_numpy())


def _curve(counts: _Ranks) -> tuple[tuple[int, int], ...]:
    ranks = np.unique(np.round(np.geomspace(1, counts.number, CURVE_POINTS)).astype(np.int64))
    return tuple(zip(ranks.tolist(), counts.at(ranks).astype(np.int64).tolist(), strict=True))


def _minutes(posts: DataFrame, start_s: float) -> Floats:
    minute = sf.floor((sf.col("at_s") - start_s) / 60.0).cast("long").alias("minute")
    inside = posts.select(minute).where((sf.col("minute") >= 0) & (sf.col("minute") < int(WINDOW_S / 60)))
    counts = inside.groupBy("minute").agg(sf.count("*").alias("posts")).toArrow()
    minutes = np.zeros(int(WINDOW_S / 60))
    minutes[counts["minute"].to_numpy()] = counts["posts"].to_numpy()
    return minutes


def _heaps(posts: DataFrame) -> float:
    """How the number of distinct tags grows with their uses, over time."""
    minute = sf.floor(sf.col("at_s") / 60.0).alias("minute")
    uses = posts.select(minute, sf.explode("tags").alias("tag"))
    first = uses.groupBy("tag").agg(sf.min("minute").alias("minute"), sf.lit(1).alias("new"))
    seen, new = (
        uses.select("minute", sf.lit(0).alias("new"), sf.lit(1).alias("use")),
        first.withColumn("use", sf.lit(0)),
    )
    sums = [sf.sum(name).alias(name) for name in ("new", "use")]
    grown = seen.unionByName(new.drop("tag")).groupBy("minute").agg(*sums).toArrow().sort_by("minute")
    distinct, used = (np.cumsum(grown[name].to_numpy()).astype(float) for name in ("new", "use"))
    late = used > used[-1] / 20
    return _fit(np.log(used[late]), np.log(distinct[late]))


def _slope(counts: _Ranks, first: int, last: int) -> float:
    ranks = np.arange(first, min(last, counts.number) + 1)
    return -_fit(np.log(ranks), np.log(counts.at(ranks)))


def _fit(x: Floats, y: Floats) -> float:
    return float(np.polyfit(x, y, 1)[0]) if len(x) > 2 else float("nan")
