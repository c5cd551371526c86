"""The settings of directional walks as an approach, with every maximum by name."""

from __future__ import annotations

import msgspec

from thyme.approaches.contents import ContentOptions
from thyme.approaches.interface import StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.approaches.walks.filters import FilterOptions
from thyme.model.errors import InputError


class WalkerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The paper gives no times. A step takes one offer window, which a dozen offers share."""

    offer_window_s: float = 0.1
    lonely_steps: int = 200
    """Steps after which a walk that met nobody older rests; a walk in 1,000 nodes takes some hundred."""
    steps_after_met: int = 20
    """Further steps once a younger walk has ended on this overlay. With few, walks that begin within a second of each
    other may come to rest in several parts; with `lonely_steps`, all of them surely end in one tree, but the
    oldest walk takes that many nodes."""
    eager_steps: int = 40
    slow_step_s: float = 2.0
    """After `eager_steps` a walker waits so long before each step: others will find it."""
    attempts: int = 4
    rest_s: float = 10.0
    """Between two attempts of a walk that found no way."""
    pure: bool = False
    """Choose any offer at random: the baseline."""
    prune_backtracked: bool = False
    """Let nodes that the walker went back from leave the overlay (the graph batches call it `pruned`)."""
    walks_remembered: int = 64
    """Walks whose marks and visits a node remembers; the oldest known goes first."""
    adverts_per_frame: int = 50

    def __post_init__(self) -> None:
        for name in ("offer_window_s", "rest_s", "slow_step_s"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"walk {name} is {getattr(self, name)}: it has to be positive")
        for name in ("steps_after_met", "eager_steps"):
            if getattr(self, name) < 0:
                raise InputError(f"walk {name} is {getattr(self, name)}: it is at least 0")
        for name in ("lonely_steps", "attempts", "walks_remembered", "adverts_per_frame"):
            if getattr(self, name) < 1:
                raise InputError(f"walk {name} is {getattr(self, name)}: it is at least 1")


class DirectionalWalksOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    walker: WalkerOptions = WalkerOptions()
    filters: FilterOptions = FilterOptions()
    settle_s: float = 30.0
    """How long a first operation waits for its walk to meet another before it goes ahead."""
    link_tries: int = 3
    link_retry_s: float = 0.5
    """A frame along the overlay is given up, and its branch dropped, after so many tries."""
    subscriptions_known: int = 10_000
    events_remembered: int = 10_000
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    limits: StoreLimits = StoreLimits()

    def __post_init__(self) -> None:
        if not self.settle_s >= 0.0:
            raise InputError(f"settle_s is {self.settle_s}: it is at least 0")
        if not self.link_retry_s > 0.0:
            raise InputError(f"link_retry_s is {self.link_retry_s}: it has to be positive")
        for name in ("link_tries", "subscriptions_known", "events_remembered"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}: it is at least 1")
