"""Synthetic posts of a match, with the statistics of real ones.

What real posts show and these repeat: a few head tags and a Zipf tail in which new tags keep appearing; about
half of the people post once, and activity falls with rank by a power below one; a user returns to few tags of
their own; bursts; short texts. The options and the seed determine the posts. Tasks draw them in blocks of a fixed
size, so that a cluster and a laptop give the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Meta
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import Count, NotNegative, Positive, Share
from thyme.pipeline.chance import uniforms
from thyme.pipeline.posts.bursts import BurstOptions, Floats, MatchClock, draw_times, intensity
from thyme.pipeline.schemas import POST_COLUMNS, POSTS, arrow_schema, timestamps
from thyme.pipeline.spark import dataset
from thyme.pipeline.spark.arrow import map_arrow
from thyme.pipeline.spark.driver import described
from thyme.places import Place

Ints = npt.NDArray[np.int64]

HEAD_TAGS = ("euro2016", "porfra", "por", "fra")
"""The event, the match code and the two teams: what most posts of a match carry."""

_KNOWN_TEXT = (
    "final goal football portugal france ronaldo griezmann paris stadium fans win match live vamos allez team "
    "uefa euro trophy penalty extratime referee corner save goalkeeper halftime fulltime kickoff captain injury "
    "yellowcard offside crowd anthem fanzone champions proud history legend celebration"
)
_SPOKEN_TEXT = (
    "what a night the ball is in and we are all here with you come on they play so well oh no not again this "
    "team never gives up look at that just wow my heart cannot take it who would have thought great pass "
    "through the middle he runs alone shoots over the bar so close now everybody sings louder than before "
    "where do you watch it we watch in the square next to the river thousands of people flags everywhere one "
    "more time please half an hour to go nerves of steel unbelievable save what was he thinking clear foul "
    "from behind same story every year still dreaming best seats in the house"
)
_KNOWN = tuple(_KNOWN_TEXT.split())
_WORDS = tuple(_SPOKEN_TEXT.split())
_SYLLABLES = tuple(onset + nucleus for onset in "bdfgklmnprstvz" for nucleus in "aeiou")
_STREAM_CHARS = 200_000

BLOCK_POSTS = 100_000
MAX_POSTS = 100_000_000
MAX_TAG_RANK = 10_000_000
_TWITTER_EPOCH_MS = 1_288_834_974_657
_SCHEMA = arrow_schema(POST_COLUMNS)


class PostOptions(SettingsRecord, frozen=True):
    """What the posts look like; the defaults are those of a league match."""

    posts: Annotated[int, Meta(ge=1, le=MAX_POSTS)] = 4_000
    """About what a thousand people in one place write; a whole league match has 8,000 to 14,000."""
    seed: Count = 1
    """Seed of all random choices."""
    start_s: float = 1_468_180_800.0
    """2016-07-10T20:00:00Z, from where the papers' crawl starts."""
    clock: MatchClock = MatchClock()
    bursts: BurstOptions = BurstOptions()
    tag_counts: tuple[float, ...] = (0.15, 0.42, 0.26, 0.11, 0.04, 0.01, 0.01)
    """Shares of posts with 0, 1, 2, … tags."""
    head_weights: tuple[float, ...] = (0.42, 0.15, 0.09, 0.06)
    """Shares of the most used tags in all uses of tags."""
    tail_slope: Annotated[float, Meta(gt=1.0)] = 1.55
    """Exponent of the power law of all other tags."""
    own_tags: Count = 3
    """Tags that a user keeps returning to."""
    own_tag_share: Share = 0.15
    """How often a tag of the tail is one of the few that the user keeps returning to."""
    rank_exponent: Annotated[float, Meta(gt=0.0, lt=1.0)] = 0.72
    """Exponent of posts per user, by the user's rank."""
    text_median_chars: Positive = 67.0
    """Median length of a text."""
    text_sigma: NotNegative = 0.52
    """Standard deviation of the length's logarithm."""
    text_max_chars: Count = 140
    """Longest text."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if abs(sum(self.tag_counts) - 1.0) > 1e-9:
            raise InputError(f"the shares of posts by number of tags sum to {sum(self.tag_counts)}, not to 1")
        if len(self.head_weights) != len(HEAD_TAGS) or not 0.0 < sum(self.head_weights) < 1.0:
            raise InputError(f"expected {len(HEAD_TAGS)} weights of head tags whose sum is between 0 and 1")


def generate_posts(spark: SparkSession, options: PostOptions) -> DataFrame:
    """The posts, block by block: each block is a partition, and the same rows on any cluster."""
    blocks = _blocks(options)
    return map_arrow(spark.range(0, blocks, 1, blocks), _GenerateBlocks(options), POSTS)


def write_posts(spark: SparkSession, options: PostOptions, path: Place) -> Place:
    """Generate into a dataset."""
    posts = generate_posts(spark, options).withColumn("day", sf.to_date("at").cast("string"))
    with described(spark, "posts", f"generate {options.posts:,} posts"):
        return dataset.write_once(posts, path, by=["day"])


def post_blocks(options: PostOptions, numbers: Iterable[int] | None = None) -> Iterator[pa.Table]:
    """Some blocks of the posts, or all, each in time order; a block costs the same however many there are."""
    for block in range(_blocks(options)) if numbers is None else numbers:
        first = block * BLOCK_POSTS
        posts = min(BLOCK_POSTS, options.posts - first)
        common = np.random.PCG64([options.seed, 0])
        rate = intensity(options.clock, options.bursts, np.random.Generator(common))
        own = np.random.Generator(common.jumped(block))
        span = (first / options.posts, (first + posts) / options.posts)
        at_s = np.round(options.start_s + draw_times(posts, rate, own, span), 3)
        authors = own.permutation(_authors(options, np.arange(block, options.posts, _blocks(options))))
        random = np.random.default_rng([options.seed, 1, block])
        yield _block(options, first, at_s, authors, text_stream(own), random)


def _blocks(options: PostOptions) -> int:
    return -(-options.posts // BLOCK_POSTS)


class _GenerateBlocks(msgspec.Struct, frozen=True):
    """Turns batches of block numbers into posts."""

    options: PostOptions

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in post_blocks(self.options, batch["id"].to_pylist()):
                yield from block.to_batches()


def _authors(options: PostOptions, places: Ints) -> Ints:
    """The authors, by activity rank from 0, of some places in a list of all posts in order of their authors' ranks:
    half of the people post once, the others by the rank law."""
    low, high = 1, 2 * options.posts + 2
    while high - low > 1:
        users = (low + high) // 2
        posts = _more_active(options, users).sum() + users - _busy(users)
        low, high = (users, high) if posts <= options.posts else (low, users)
    ranks = _more_active(options, low)
    counts = np.arange(len(ranks), 0, -1)
    people = np.diff(ranks[::-1], prepend=0)
    posts_before = np.cumsum(people * counts) - people * counts
    step = np.searchsorted(posts_before, places, side="right") - 1
    busy = (ranks[::-1] - people)[step] + (places - posts_before[step]) // counts[step]
    authors: Ints = np.where(places < ranks.sum(), busy, _busy(low) + places - ranks.sum())
    return authors


def _busy(users: int) -> int:
    """How many of them post by the rank law, and so at least twice."""
    return max(1, users // 2)


def _more_active(options: PostOptions, users: int) -> Ints:
    """For 1, 2, … posts, how many of the busy people wrote at least so many: the person of rank r writes
    2 · (busy / r) ^ exponent posts, rounded down."""
    busy, power = _busy(users), options.rank_exponent

    def counts(ranks: Floats) -> Floats:
        return np.floor(2.0 * (busy / ranks) ** power)

    wanted = np.arange(1, int(counts(np.ones(1))[0]) + 1)
    ranks = np.clip(np.floor(busy * (2.0 / wanted) ** (1.0 / power)), 1, busy)
    ranks += (ranks < busy) & (counts(ranks + 1) >= wanted)  # what a root rounds, the power decides
    ranks -= counts(ranks) < wanted
    return ranks.astype(np.int64)


def _block(
    options: PostOptions, first: int, at_s: Floats, authors: Ints, stream: str, random: np.random.Generator
) -> pa.Table:
    posts = len(at_s)
    ranks = _tag_ranks(options, authors, random)
    lengths = options.text_median_chars * np.exp(options.text_sigma * random.standard_normal(posts))
    offsets = random.integers(0, len(stream), posts)
    loud = random.random(posts) < 0.5
    rows = zip(ranks.tolist(), lengths.tolist(), offsets.tolist(), loud.tolist(), strict=True)
    names: dict[int, str] = {}
    tags: list[list[str]] = []
    texts: list[str] = []
    for post_ranks, length, offset, capital in rows:
        own = [names.setdefault(rank, tag_name(rank)) for rank in post_ranks if rank > 0]
        tags.append(own)
        marks = "".join(f" #{tag.capitalize() if capital else tag}" for tag in own)
        room = int(min(length, options.text_max_chars)) - len(marks)
        texts.append(cut_text(stream, offset, room) + marks)
    milliseconds = np.round(at_s * 1000).astype(np.int64) - _TWITTER_EPOCH_MS
    sequence = (first + np.arange(posts)) & ((1 << 22) - 1)
    ids = (milliseconds << 22) | sequence
    return pa.table(
        {
            "id": [str(one) for one in ids.tolist()],
            "author": [f"fan{author:06d}" for author in authors.tolist()],
            "at": timestamps(at_s),
            "text": texts,
            "tags": tags,
        },
        schema=_SCHEMA,
    )


def _tag_ranks(options: PostOptions, authors: Ints, random: np.random.Generator) -> Ints:
    """The tag ranks of each post, one row each, 0 where there is none; no tag twice in a post."""
    posts, most = len(authors), len(options.tag_counts) - 1
    numbers = np.searchsorted(np.cumsum(options.tag_counts)[:-1], random.random(posts), side="right")
    ranks = np.zeros((posts, most), dtype=np.int64)
    for column in range(most):
        drawn = _draw_tags(options, authors, random)
        for _ in range(8):
            again = (ranks[:, :column] == drawn[:, None]).any(axis=1)
            if not again.any():
                break
            drawn[again] = _draw_tags(options, authors[again], random)
        again = (ranks[:, :column] == drawn[:, None]).any(axis=1)
        ranks[:, column] = np.where((column < numbers) & ~again, drawn, 0)
    return ranks


def _draw_tags(options: PostOptions, authors: Ints, random: np.random.Generator) -> Ints:
    heads = np.searchsorted(np.cumsum(options.head_weights), random.random(len(authors)), side="right") + 1
    fresh = _tail_rank(options, random.random(len(authors)))
    favourite = random.integers(0, options.own_tags, len(authors)) if options.own_tags else 0
    own = _tail_rank(options, uniforms(options.seed, "own tags", authors, favourite))
    returning = random.random(len(authors)) < (options.own_tag_share if options.own_tags else 0.0)
    return np.where(heads <= len(HEAD_TAGS), heads, np.where(returning, own, fresh))


def _tail_rank(options: PostOptions, uniform: Floats) -> Ints:
    """A rank beyond the head tags, by the tail's power law, which has no last rank."""
    edge = len(HEAD_TAGS) + 0.5
    ranks = np.floor(edge * (1.0 - uniform) ** (-1.0 / (options.tail_slope - 1.0)) + 0.5)
    return np.clip(ranks, len(HEAD_TAGS) + 1, MAX_TAG_RANK).astype(np.int64)


def tag_name(rank: int) -> str:
    """The name of the tag of a rank, from 1: head tags, then known words, then made-up ones."""
    if rank <= len(HEAD_TAGS):
        return HEAD_TAGS[rank - 1]
    rank -= len(HEAD_TAGS) + 1
    if rank < len(_KNOWN):
        return _KNOWN[rank]
    rest = rank - len(_KNOWN)
    name = ""
    for _ in range(3):
        rest, digit = divmod(rest, len(_SYLLABLES))
        name += _SYLLABLES[digit]
    return name if rest == 0 else f"{name}{rest}"


def text_stream(random: np.random.Generator) -> str:
    """A long run of words, from which the texts of posts are cut."""
    drawn = random.integers(0, len(_WORDS), _STREAM_CHARS // 4)
    return " ".join(_WORDS[index] for index in drawn)[:_STREAM_CHARS]


def cut_text(stream: str, offset: int, length: int) -> str:
    """Whole words from the stream, of about this length."""
    start = stream.find(" ", offset % (len(stream) - 400)) + 1
    cut = stream.rfind(" ", start, start + max(length + 3, 20))
    return stream[start:cut]
