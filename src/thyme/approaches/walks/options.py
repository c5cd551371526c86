"""The settings of directional walks as an approach, with every maximum by name."""

from __future__ import annotations

from typing import Literal, get_args

from thyme.approaches.contents import ContentOptions
from thyme.approaches.interface import StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.approaches.walks.filters import FilterOptions
from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AtLeastOne, Count, NotNegative, Positive

Method = Literal["neighbourhood", "second", "weights"]
"""Cost (3), cost (2) and weight (1)."""
MAX_WEIGHT = 1_000_000.0
"""Of alpha, beta and the penalty: costs stay far from where floating-point numbers run out."""

ADVERTS_PER_FRAME = 50
"""Subscriptions told to a branch in one frame."""


def check_weights(alpha: float, beta: float) -> None:
    """The weights of cost (2): none negative, one of them positive."""
    for name, weight in (("alpha", alpha), ("beta", beta)):
        if not 0.0 <= weight <= MAX_WEIGHT:
            raise InputError(f"{name} is {weight}; expected a weight from 0 to {MAX_WEIGHT:.0f}")
    if alpha + beta == 0.0:
        raise InputError("alpha + beta is 0: at least one of the two weights must be positive")


class WalkerOptions(SettingsRecord, frozen=True):
    """The paper gives no times. A step takes one offer window, which a dozen offers share."""

    method: Method = "neighbourhood"
    """Cost (3), or one of §IV: `second` is cost (2) with alpha and beta, `weights` is weight (1)."""
    alpha: float = 1.0
    """Weight of the first neighbourhood in cost (2)."""
    beta: float = 0.5
    """Weight of the second neighbourhood in cost (2)."""
    pure: bool = False
    """Choose any offer at random: the baseline."""
    prune_backtracked: bool = False
    """Let nodes that the walker went back from leave the overlay (the graph batches call it `pruned`)."""
    offer_window_s: Positive = 0.1
    """How long a walker waits for offers at each step."""
    eager_steps: Count = 40
    """Steps that a walker makes without a pause."""
    slow_step_s: Positive = 2.0
    """After `eager_steps` a walker waits so long before each step: others will find it."""
    lonely_steps: AtLeastOne = 200
    """From here on it waits the longer the farther it has come; a walk in 1,000 nodes takes some hundred steps."""
    longest_pause_s: Positive = 60.0
    """The most that a walker ever waits, before a step or between two attempts."""
    steps_after_met: Count = 20
    """Further steps once a younger walk has ended on this overlay; then the walker rests. With few, walks that begin
    within a second of each other may come to rest in several parts; with as many as there are nodes, all of them
    surely end in one tree, but the oldest walk takes that many nodes."""
    attempts: AtLeastOne = 4
    """Rounds of the whole network after which a walk that found nobody is taken to be alone, and rests."""
    shut_attempts: AtLeastOne = 100
    """Rounds in all: while younger walks are in its way, a walk tries again."""
    rest_s: Positive = 10.0
    """Before the second attempt, twice as long before each further one; also the patience for a broker's answer."""

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.method not in get_args(Method):
            raise InputError(f"walker.method is {self.method!r}; expected one of {', '.join(get_args(Method))}")
        check_weights(self.alpha, self.beta)

    def pause_s(self, step: int) -> float:
        """How long a walker that has come so far waits before its next step."""
        if step < self.eager_steps:
            return 0.0
        return min(self.longest_pause_s, self.slow_step_s * max(1.0, step / self.lonely_steps))

    def pause_between_attempts_s(self, attempt: int) -> float:
        return min(self.longest_pause_s, self.rest_s * 2.0 ** min(attempt - 1, 30))


class DirectionalWalksOptions(SettingsRecord, frozen=True):
    paper: bool = False
    """As the paper has it: subscriptions are on the future alone, and a walk that found nobody is not repeated."""
    walker: WalkerOptions = WalkerOptions()
    filters: FilterOptions = FilterOptions()
    settle_s: NotNegative = 30.0
    """How long a first operation waits for its walk to meet another before it goes ahead."""
    published: AtLeastOne = 10_000
    """Own objects that a publisher sends to subscriptions that become known later, the latest."""
    link_tries: AtLeastOne = 3
    """How often a frame along the overlay is sent before it is given up and its branch dropped."""
    link_retry_s: Positive = 0.5
    """Between two of these tries."""
    check_s: NotNegative = 20.0
    """How often a node of the overlay sends a sign of life to its branch towards the oldest walk; 0 for never, as in
    the paper, whose nodes do not fail."""
    subscriptions_known: AtLeastOne = 1_000
    """Subscriptions that a node of the overlay distinguishes; a branch with more behind it gets every event. A filter
    of 1,024 cells with 1,000 different tags in it excludes hardly anything."""
    events_remembered: AtLeastOne = 10_000
    """Events that a node remembers, to pass each on only once."""
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    limits: StoreLimits = StoreLimits()
