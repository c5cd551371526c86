"""When DSDV's timers must be set: what an update that was heard leaves to be done, besides the table.

Every update that is heard draws a moment within the trigger jitter, news or not, and the next of them tells whatever is
news by then; a timer is set only when there is something to tell. One timer serves all that settles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from thyme.compiled import carray, inner, pointer
from thyme.routing.dsdv.duties import TRIGGER

_INSTANT = np.dtype(np.float64)


@inner
def pending(desk: Any) -> Any:
    return carray(pointer(desk.triggers), desk.trigger_room, _INSTANT)


@inner
def forget_past(desk: Any, now_s: float) -> None:
    """Take out the moments that are over."""
    triggers, kept = pending(desk), 0
    for i in range(desk.trigger_count):
        if triggers[i] >= now_s:
            triggers[kept] = triggers[i]
            kept += 1
    desk.trigger_count = kept


@inner
def draw_moment(desk: Any, now_s: float, draw: float, ready: bool) -> int:
    """Whether the timer that tells news must be set, for the moment that is `triggered_s` then."""
    triggers = pending(desk)
    triggers[desk.trigger_count] = now_s + desk.jitter_s * draw
    desk.trigger_count += 1
    if not ready and desk.triggered_s == np.inf:
        return 0
    first_s = np.inf
    for i in range(desk.trigger_count):
        first_s = min(first_s, triggers[i])
    if first_s >= desk.triggered_s:
        return 0
    desk.triggered_s = first_s
    return TRIGGER
