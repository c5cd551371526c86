"""Finding: what is there now, asked once.

It is a subscription to a part of the past that is paged through to its end and then given up. Who answers later than
others, or is asked by way of others, is waited for a little.
"""

from __future__ import annotations

import asyncio

from thyme.live.node.operations.notifications import Notifications
from thyme.model.objects import Metadata

MAX_FOUND = 10_000
"""Objects that one question gives."""
AT_ONCE = 5_000
"""Past matches that are streamed before they are looked at: half of what a stream of notifications holds."""


async def found(matches: Notifications, wait_s: float) -> list[Metadata]:
    """All past matches, the oldest first; nothing more came for `wait_s` after the last."""
    objects: list[Metadata] = []
    while len(objects) < MAX_FOUND:
        if not matches.waiting and matches.remaining:
            await matches.more(AT_ONCE)
        try:
            async with asyncio.timeout(wait_s):
                objects.append((await anext(matches)).metadata)
        except (TimeoutError, StopAsyncIteration):
            break
    return sorted(objects, key=lambda each: (each.published_s, each.key))
