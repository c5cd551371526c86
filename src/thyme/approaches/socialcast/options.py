"""The options of SocialCast: Table I of the paper, what it leaves open, and the maxima of every store."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated, Literal

import msgspec

from thyme.approaches.interface import StoreLimits
from thyme.approaches.socialcast.prophet import ProphetOptions
from thyme.approaches.socialcast.routers import Routing
from thyme.approaches.socialcast.utilities import UtilityOptions
from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne, Count, NotNegative, Positive, Share
from thyme.model.tags import normalise_tag

MAX_COPIES = 10_000
MAX_CONTENT_BYTES = 36_000
"""A frame holds this much with the largest metadata."""
MAX_MEMORY_IDS = 3_000
"""As many fit a control message beside interests and utilities."""
MAX_LIFETIMES = 1_000


class SocialCastOptions(SettingsRecord, frozen=True):
    paper: bool = False
    """As in the paper, where it gives a value: T = 20 s, ε = 0.2, and only the λ messages that a neighbour names count
    as received by it. The defaults were chosen on recorded contacts."""
    routing: Routing = "prediction"
    """`none` is the paper's variant without prediction; the others are reference routers."""
    period_s: Positive = 10.0
    """T: how often a node announces itself, looks for better carriers and sends."""
    copies: Annotated[int, msgspec.Meta(ge=1, le=MAX_COPIES)] = 3
    """γ. Epidemic and ProPHET multiply copies as they like and start with one."""
    adapt_copies: bool = False
    """Publish between 1 and 2γ − 1 copies: the fewer, the better the best carrier in range is."""
    ttl_hops: Count = 10
    """A copy that has made this many hops is read and not carried on; 0 for no limit. Table I does not give the
    default; with ten hops the paper's traffic figures come out."""
    lifetime_s: NotNegative = 0.0
    """How long after its publication a message is worth carrying, set by the publisher; 0 for no limit."""
    lifetimes_s: Annotated[dict[str, Positive], msgspec.Meta(max_length=MAX_LIFETIMES)] = msgspec.field(
        default_factory=dict
    )
    """The same for messages with a tag, instead of `lifetime_s`; of several tags the shortest counts."""
    hysteresis: Share = 0.05
    """ε: how much better a neighbour has to be."""
    memory_ids: Annotated[int, msgspec.Meta(ge=1, le=MAX_MEMORY_IDS)] = 100
    """λ: messages remembered as received."""
    given_ids: Count = 1_000
    """Messages that a node remembers having given to one neighbour or got from it, while they are near each other; 0 as
    in the paper, where only the neighbour's λ messages count."""
    buffer_copies: AtLeastOne = 100_000
    """β: copies carried at once. The paper's evaluation has no limit; this one is never reached in it."""
    neighbours: AtLeastOne = 1_000
    """Neighbours that a node remembers."""
    handover: Literal["confirmed", "link"] = "confirmed"
    """How a copy changes hands: offered, accepted and released, or sent once and kept if the link gives up, which makes
    two of one where acknowledgements may be lost."""
    answer_wait_s: Positive = 10.0
    """An offer without an answer is taken back at the first turn after so long."""
    unreleased_s: Positive = 3_600.0
    """How long a copy that was accepted waits for its release, if that was lost: the two may meet again."""
    pending_handovers: AtLeastOne = 1_000
    """Offers without an answer, releases that the link could not deliver, and offers kept aside: so many of each."""
    content_bytes: Annotated[int, msgspec.Meta(ge=0, le=MAX_CONTENT_BYTES)] = 32_000
    """Contents travel within messages; larger ones are refused."""
    contents: AtLeastOne = 10_000
    """Contents that a node keeps for its own application, the latest."""
    read_s: NotNegative = 600.0
    """How long after its message expired a content may still be read here: somebody may just have been notified of
    it."""
    control_bytes: Annotated[int, msgspec.Meta(ge=100, le=30_000)] = 30_000
    """What interests and utilities may take of a control message."""
    sample_every_s: NotNegative = 0.0
    """How often the number of buffered copies goes to the log; 0 for never."""
    utilities: UtilityOptions = UtilityOptions()
    prophet: ProphetOptions = ProphetOptions()
    limits: StoreLimits = StoreLimits()

    def __post_init__(self) -> None:
        check_bounds(self)
        for tag, lifetime_s in self.lifetimes_s.items():
            if not 0.0 < lifetime_s < inf:
                raise InputError(f"lifetimes_s of {tag!r} is {lifetime_s:g}; expected a finite number > 0")
            if normalise_tag(tag) != tag:
                raise InputError(f"lifetimes_s has {tag!r}; expected the tag as it is stored: {normalise_tag(tag)!r}")

    def lifetime_of(self, tags: Sequence[str]) -> float:
        """How long a message with these tags is worth carrying; 0 for no limit."""
        return min((self.lifetimes_s[tag] for tag in tags if tag in self.lifetimes_s), default=self.lifetime_s)

    def as_in_the_paper(self) -> SocialCastOptions:
        return msgspec.structs.replace(self, period_s=20.0, hysteresis=0.2, given_ids=0)
