"""When two records are the same post.

Some ids name one post in the whole world: addresses (Mastodon), accounts with a record key (Bluesky), ids made of what
a post says, and Twitter's, known by the time that they carry being the post's own. Copies with such an id are one post,
whatever format they come from. Any other id is a number that someone counted: two files may both have a post 1. There,
the same post is one with the same id, author and second.
"""

from __future__ import annotations

import hashlib

from thyme.pipeline.posts.formats.posts import ParsedPost
from thyme.pipeline.posts.formats.times import ZONES_S, snowflake_s

WORLDWIDE = ("did:", "made-")


def is_worldwide(post: ParsedPost) -> bool:
    """Whether the id alone tells the post from all others."""
    carried_s = snowflake_s(post.id)
    if carried_s is not None:
        return abs(carried_s - post.at_s) <= ZONES_S
    return post.id.startswith(WORLDWIDE) or "://" in post.id


def id_owner(post: ParsedPost) -> str:
    """What tells posts of the same id apart, where ids are not worldwide: a hash of author and second."""
    content = f"{post.author.casefold()}\n{post.at_s // 1:.0f}".encode(errors="surrogatepass")
    return hashlib.blake2b(content, digest_size=6).hexdigest()
