"""The words of synthetic posts: names for tags of any rank, and running text of a wanted length.

A tag's name follows from its rank alone, so every run and every part of one gives the same tag the same name.
"""

from __future__ import annotations

import numpy as np

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
