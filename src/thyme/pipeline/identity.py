"""Identities: short names of contents, so that what was computed once is found again.

An identity is a hash of everything that decides a result: the inputs, the options and the code. The code counts
through the package's version and all sources that its entries can reach by imports, so results of an older program are
never taken for those of a newer one, and a change elsewhere leaves them valid.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import msgspec

from thyme import __version__
from thyme.pipeline.manifest import read_manifest
from thyme.places import Place
from thyme.sources import Sources, own_sources

_DIGEST_BYTES = 8


def identity_of(*parts: Any) -> str:
    """A hash of records and plain values, independent of the order of keys."""
    text = json.dumps([canonical(part) for part in parts], sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def canonical(part: Any) -> Any:
    """The value in lists, tables, texts and numbers, as JSON has them."""
    return msgspec.to_builtins(part, str_keys=True)


def bytes_identity(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def dataset_identity(path: Place) -> str:
    """The content of a dataset's files as its manifest tells it, whatever they are called."""
    return identity_of(sorted(file.content or file.digest for file in read_manifest(path).files.values()))


@cache
def code_identity(*entries: str, sources: Sources | None = None) -> str:
    """The version of the package, and the sources and data files that these modules can reach."""
    sources = sources or own_sources()
    digest = hashlib.blake2b(__version__.encode(), digest_size=_DIGEST_BYTES)
    digest.update(sources.digest(sources.reach(entries)))
    return digest.hexdigest()
