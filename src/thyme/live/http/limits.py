"""Limits of the HTTP interface: sizes, stored data and concurrency."""

from __future__ import annotations

import msgspec

from thyme.model.settings.bounds import AtLeastOne, Positive

HEARTBEAT_S = 15.0
"""A silent stream says so often that it lives, which keeps proxies and phones from closing it."""
PROGRESS_S = 0.2
"""Between two events about the progress of one retrieval."""
UNSENT_S = 1
"""How long a closing server waits for answers under way; uvicorn takes whole seconds."""
WRITE_BYTES = 1_048_576
"""Gathered of an upload before a thread writes it."""
UPLOAD_AGE_S = 86_400.0
"""An upload that was idle for this long makes room for another."""

JSON_BYTES = 65_536
"""Of a request's JSON: the longest query and 32 tags of 140 characters fit many times over."""
MAX_UPLOADS = 64
"""Resumable uploads that are not finished."""
CONTENTS_BYTES = 4 * 2**30
"""Retrieved contents kept to be served again; the ones asked for longest ago go first."""


class HttpOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    upload_bytes: AtLeastOne = 64 * 2**30
    """Of one object that is uploaded; the disk may say so earlier."""
    streams: AtLeastOne = 64
    """Streams of events that are open at once."""
    kept_events: AtLeastOne = 20_000
    """Events kept for clients that reconnect; older ones are counted as lost."""
    retrievals: AtLeastOne = 1_000
    """Retrievals whose state is remembered; ended ones make room first."""
    listed: AtLeastOne = 1_000
    """Entries of one answer that lists objects."""
    connections: AtLeastOne = 256
    """Open at once on one socket; beyond that, the oldest one that has no request under way is closed."""
    header_s: Positive = 10.0
    """For the header of a request to be complete, from the connection or from its first byte on."""
