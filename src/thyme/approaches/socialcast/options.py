"""The options of SocialCast: Table I of the paper, what it leaves open, and the maxima of every store."""

from __future__ import annotations

import msgspec

from thyme.approaches.interface import StoreLimits
from thyme.approaches.socialcast.prophet import ProphetOptions
from thyme.approaches.socialcast.routers import Routing
from thyme.approaches.socialcast.utilities import UtilityOptions
from thyme.model.errors import InputError

MAX_COPIES = 10_000
MAX_CONTENT_BYTES = 36_000
"""A frame holds this much with the largest metadata."""
MAX_MEMORY_IDS = 3_000
"""As many fit a control message beside interests and utilities."""


class SocialCastOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    routing: Routing = "prediction"
    """`none` is the paper's variant without prediction; the others are reference routers."""
    period_s: float = 20.0
    """T: how often a node tells of itself, looks for better carriers and sends."""
    copies: int = 3
    """γ. Epidemic and ProPHET multiply copies as they like and start with one."""
    adapt_copies: bool = False
    """Publish between 1 and 2γ − 1 copies: the fewer, the better the best carrier at hand is."""
    ttl_hops: int = 10
    """A copy that has made this many hops is read and not carried on; 0 for no limit. Table I does not give the
    default; with ten hops the paper's traffic figures come out."""
    lifetime_s: float = 0.0
    """How long after its publication a message is worth carrying, set by the publisher; 0 for no limit."""
    hysteresis: float = 0.2
    """ε: how much better a neighbour has to be."""
    memory_ids: int = 100
    """λ: messages remembered as received."""
    buffer_copies: int = 100_000
    """β: copies carried at once. The paper's evaluation has no limit; this one is never reached in it."""
    neighbour_lifetime_periods: float = 1.05
    """A neighbour not heard for longer is gone; everybody speaks once per period."""
    neighbours: int = 1_000
    strict_copies: bool = False
    """What becomes of a copy that the link could not hand over: it is kept, or, if strict, given up, so that a lost
    acknowledgement cannot make two of one."""
    content_bytes: int = 32_000
    """Contents travel within messages; larger ones are refused."""
    control_bytes: int = 30_000
    """What interests and utilities may take of a control message."""
    sample_every_s: float = 0.0
    """How often the number of buffered copies goes to the log; 0 for never."""
    utilities: UtilityOptions = UtilityOptions()
    prophet: ProphetOptions = ProphetOptions()
    limits: StoreLimits = StoreLimits()

    def __post_init__(self) -> None:
        _expect("copies (γ)", self.copies, 1, MAX_COPIES)
        _expect("ttl_hops", self.ttl_hops, 0, None)
        _expect("hysteresis (ε)", self.hysteresis, 0.0, 1.0)
        _expect("memory_ids (λ)", self.memory_ids, 1, MAX_MEMORY_IDS)
        _expect("buffer_copies (β)", self.buffer_copies, 1, None)
        _expect("neighbours", self.neighbours, 1, None)
        _expect("neighbour_lifetime_periods", self.neighbour_lifetime_periods, 1.0, None)
        _expect("content_bytes", self.content_bytes, 0, MAX_CONTENT_BYTES)
        _expect("control_bytes", self.control_bytes, 100, 30_000)
        _expect("lifetime_s", self.lifetime_s, 0.0, None)
        _expect("sample_every_s", self.sample_every_s, 0.0, None)
        if not self.period_s > 0.0:
            raise InputError(f"period_s (T) is {self.period_s:g}; expected more than 0 seconds")


def _expect(name: str, value: float, low: float, high: float | None) -> None:
    if not (value >= low and (high is None or value <= high)):
        bound = f"at least {low:g}" if high is None else f"{low:g} to {high:g}"
        raise InputError(f"{name} is {value:g}; expected {bound}")
