"""Catching up: which of the events that a broker remembers a registering subscriber still lacks (DRIP §V-A1, §V-A3).

"Non-broker nodes get the matched events from their local broker nodes", also those that were flooded while they could
not hear. A broker numbers events as they arrive, and a subscriber tells up to which arrival it has everything, so
that each is asked about once. If more events lie beyond that than one answer holds, their numbers are offered first,
as brokers do among themselves, and the subscriber names those that it has: only what it lacks is sent. Whatever was
missed, and however many events came after it, it is found as long as the broker remembers it.
"""

from __future__ import annotations

from thyme.approaches.drip.memory import Memory, event_number
from thyme.approaches.drip.options import DripOptions
from thyme.wire.drip import Registered, Registration


def answer_to(registration: Registration, memory: Memory, region: int, options: DripOptions) -> Registered:
    """The next events that the subscriber lacks, or an offer of many; `region` names this life of the broker."""
    same = registration.region == region
    after, sifted = (registration.after, registration.sifted) if same else (0, 0)
    listed = memory.arrived_after(after, registration.interest.subscriptions or ())
    sifting = sifted > after
    known = set(registration.known)
    asked = [arrival for arrival in listed if not sifting or arrival[0] <= sifted]
    lacking = [(number, key) for number, key in asked if event_number(key) not in known]
    if not sifting and len(lacking) > options.catch_up_events:
        offered = lacking[: options.catch_up_offers]
        numbers = tuple(event_number(key) for _, key in offered)
        return Registered(registration.request, True, (), len(lacking), region, after, numbers, offered[-1][0])
    chosen = lacking[: options.catch_up_events]
    end = sifted if sifting else memory.arrivals
    reached = chosen[-1][0] if len(chosen) < len(lacking) else end
    events = tuple(event for _, key in chosen if (event := memory.event(key)) is not None)
    left = sum(1 for number, _ in listed if number > reached)
    return Registered(registration.request, True, events, left, region, reached)
