"""Keyed hashes in place of whatever leads to a person.

Replaced are the author, the id (by which a post can be looked up), and in the text every mention, link, mail address
and account of the AT protocol: a link often names its author or leads to the very post. Links to the same place stay
the same link, and a mention is the pseudonym of whom it names. Names that stand in a text as plain words stay.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from thyme.pipeline.posts.formats.posts import ParsedPost

_LEADS = re.compile(
    r"""
      (?P<link> \b[a-z][a-z0-9+.-]{1,20}://[^\s<>"]+ )
    | (?P<bare> (?<![\w@.-]) (?:[\w-]{1,63}\.){1,8}[a-z]{2,24} (?: :\d{1,5} )? / [^\s<>"]* )
    | (?P<mail> (?<![\w@.+-]) [\w.+-]{1,64} @ [\w-]{1,63} (?:\.[\w-]{1,63}){1,8} )
    | (?<![\w@]) [@＠] (?P<mention> \w (?:[\w.-]*\w)? (?: @ \w (?:[\w.-]*\w)? )? )
    | (?P<account> \bdid:[a-z]{2,12}:[\w.:%-]*\w | (?<![\w@.-]) [\w-]{1,63}\.bsky\.social\b )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS = re.compile(r"[@＠:/.]")


class Pseudonyms(msgspec.Struct, frozen=True):
    """The same key gives the same pseudonyms."""

    key: bytes

    def of(self, post: ParsedPost) -> ParsedPost:
        text = _LEADS.sub(self._replaced, post.text) if _SIGNS.search(post.text) else post.text
        return ParsedPost(self._hash("id", post.id), self._name(post.author), post.at_s, text, post.tags)

    def _replaced(self, found: re.Match[str]) -> str:
        if (mention := found["mention"]) is not None:
            return "@" + self._name(mention)
        if (link := found["link"] or found["bare"]) is not None:
            return "https://link.invalid/" + self._hash("link", link)
        return self._name(found["mail"] or found["account"])

    def _name(self, name: str) -> str:
        return "user" + self._hash("author", name.casefold())

    def _hash(self, purpose: str, value: str) -> str:
        content = value.encode(errors="surrogatepass")
        return hashlib.blake2b(content, key=self.key, person=purpose.encode(), digest_size=8).hexdigest()
