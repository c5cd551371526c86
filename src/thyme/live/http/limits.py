"""How much of everything the HTTP interface takes, keeps and does at once."""

from __future__ import annotations

import msgspec

from thyme.model.settings.bounds import AtLeastOne, Positive


class HttpOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    json_bytes: AtLeastOne = 65_536
    """Of a request's JSON: the longest query and 32 tags of 140 characters fit many times over."""
    upload_bytes: AtLeastOne = 64 * 2**30
    """Of one object that is uploaded; the disk may say so earlier."""
    uploads: AtLeastOne = 64
    """Resumable uploads that are not finished."""
    upload_age_s: Positive = 86_400.0
    """An upload that nobody went on with for so long makes room for another."""
    write_bytes: AtLeastOne = 1_048_576
    """Gathered of an upload before a thread writes it."""
    streams: AtLeastOne = 64
    """Streams of events that are open at once."""
    kept_events: AtLeastOne = 20_000
    """Events that a stream which broke off can still be told; older ones are counted as lost."""
    heartbeat_s: Positive = 15.0
    """A silent stream says so often that it lives, which keeps proxies and phones from closing it."""
    progress_s: Positive = 0.2
    """Between two events about the progress of one retrieval."""
    retrievals: AtLeastOne = 1_000
    """Retrievals whose state is remembered; ended ones make room first."""
    contents_bytes: AtLeastOne = 4 * 2**30
    """Retrieved contents kept to be served again; the ones asked for longest ago go first."""
    listed: AtLeastOne = 1_000
    """Entries of one answer that lists objects."""
    unsent_s: Positive = 1.0
    """How long a closing server waits for answers under way."""
