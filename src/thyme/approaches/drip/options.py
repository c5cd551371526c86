"""The parameters of DRIP, each with the paper's value or the reason for ours.

The paper's k, l and m are `brokers`, `likely_brokers` and `copies`; l + m < k (§V-B2) is checked here. `relay` and
`selection` choose its two baselines.
"""

from __future__ import annotations

from math import inf
from typing import Annotated, Literal

import msgspec

from thyme.approaches.interface import StoreLimits
from thyme.approaches.requests import RetryOptions
from thyme.model.errors import InputError
from thyme.model.settings import SettingsRecord, check_bounds
from thyme.model.settings.bounds import AboveZeroShare, AtLeastOne, Count, NotNegative, Positive
from thyme.routing.ondemand import OnDemandOptions


def check_longer(record: SettingsRecord, where: str, period: str, life: str) -> None:
    """Information that is repeated every `period` has to be valid for longer than that."""
    told_s, believed_s = getattr(record, period), getattr(record, life)
    if not (0.0 < told_s < believed_s < inf):
        raise InputError(
            f"{where}{period} is {told_s:g} and {where}{life} {believed_s:g}; "
            f"expected finite times, 0 < {period} < {life}"
        )


class RegionOptions(SettingsRecord, frozen=True):
    """Voronoi regions (§IV)."""

    period_s: float = 5.0
    """Between two broadcasts of a broker: "at a low frequency"; the paper gives no value."""
    life_s: float = 12.5
    """A broker not heard for this long (two broadcasts missed) is forgotten."""
    hop_wait_s: NotNegative = 0.005
    """Wait before a broadcast is passed on. Equal at every hop, so that delay is proportional to distance (§III c)."""
    hop_limit: AtLeastOne = 32
    """A broker's broadcast is passed on for so many hops."""
    neighbour_life_s: float = 5.0
    """How long a neighbour's region is believed after it was last heard; neighbours are heard once a period at least,
    and with less than that there would be no bridges between two broadcasts."""
    neighbours: AtLeastOne = 500
    """Neighbours whose region is remembered."""
    bootstrap_s: Positive = 5.0
    """How long abilities are exchanged before the most able take office."""

    def __post_init__(self) -> None:
        check_bounds(self)
        check_longer(self, "regions.", "period_s", "life_s")
        if not self.period_s <= self.neighbour_life_s < inf:
            raise InputError(
                f"regions.neighbour_life_s is {self.neighbour_life_s:g}; expected at least regions.period_s, "
                f"{self.period_s:g}: between two broadcasts there would be no bridges"
            )


class BridgeOptions(SettingsRecord, frozen=True):
    """Bridge nodes (§V-B1)."""

    status_s: float = 5.0
    """How often a bridge node reports to its broker."""
    life_s: float = 7.5
    """A bridge whose status is older is not used."""
    crossings: AtLeastOne = 3
    """Neighbours of the other region that a bridge tries for one message."""

    def __post_init__(self) -> None:
        check_bounds(self)
        check_longer(self, "bridges.", "status_s", "life_s")


class CooperationOptions(SettingsRecord, frozen=True):
    """Talk between brokers (§V-B2). A broker contacts one other broker at a time (§V-C)."""

    events_per_relay: AtLeastOne = 1
    """Events handed over in one message: the paper describes messages of one event."""
    answer_wait_s: Positive = 0.3
    """An unanswered message counts as lost, and its bridge as gone until it sends its status again."""
    exchange_s: NotNegative = 5.0
    """Subscriptions are exchanged with one broker not more often than this."""
    moves: Literal["beyond", "all"] = "beyond"
    """Which moves of a subscriber are reported to another broker: those to a local broker that it does not know as near
    to it, or all of them."""
    follow_s: NotNegative = 60.0
    """How long after it got an event a broker learns new destinations of it from subscribers that move."""


MEMBER_LIFE_S = 75.0
"""A broker forgets a member that did not register again for this long: two and a half times `refresh_s`."""
PAPER_BROKERS = 20
"""k of the paper's middle: its evaluation goes from 10 to 40 in 200 nodes (§VI)."""
MAX_SHARED_BROKERS = 40
"""Brokers of a crowd whose number follows its size, at most: the most that the paper tried."""


class DripOptions(SettingsRecord, frozen=True):
    paper: bool = False
    """As in the paper: k = 20 unless `brokers` says otherwise, and the last 20 past matches."""
    brokers: Count = 0
    """k, or 0 for a share of the crowd, "a small percentage" (§IV): l + m + 1 to 40."""
    broker_share: AboveZeroShare = 0.1
    """Share of the crowd that are brokers, if `brokers` is 0."""
    likely_brokers: AtLeastOne = 2
    """l: nearest brokers that a node keeps, and to which its events are brought (§VI: 4 or 5)."""
    copies: AtLeastOne = 2
    """m: nearby brokers that get a copy to carry (§V-B2: 2 to 6)."""
    relay: Literal["mcmd", "sf"] = "mcmd"
    """Multi-copy-multi-destination, or the baseline SF: epidemic between brokers (§VI-A)."""
    passing: Literal["interested", "copies"] = "interested"
    """Who brings an event to the interested brokers: every broker that has it ("broker nodes only send the matched
    events to other interested broker nodes according to their own collected subscriptions", §V-B2), or only the source
    and the carriers of its m copies, as the analysis has it (§V-C)."""
    sf_contacts: Literal["neighbours", "bridges"] = "neighbours"
    """Which brokers SF hands events to: those in radio range, or those behind a bridge node too."""
    selection: Literal["ability", "random"] = "ability"
    """Brokers are the most able nodes, or drawn at random as a baseline."""
    ability: NotNegative = 0.0
    """This node's own detecting ability; 0 draws it from the power law."""
    ability_seed: int = 0
    """Seed of the abilities that are drawn."""
    exponent: Annotated[float, msgspec.Meta(gt=1.0)] = 2.0
    """Of the power law of abilities; the paper gives none."""
    content_bytes: Count = 1_000
    """Contents travel with their event, so they are small."""
    memory_events: AtLeastOne = 500
    """Events that a broker remembers; the least related and oldest give way, those of the last minute stay (§V-A2)."""
    events_per_ability: NotNegative = 0.0
    """Memory in proportion to ability (§IV-A): a broker remembers so many events per unit of it, `memory_events` at
    most; 0 if all remember as many."""
    interests: AtLeastOne = 10_000
    """Subscribers that a broker knows."""
    refresh_s: Annotated[float, msgspec.Meta(gt=0.0, lt=MEMBER_LIFE_S)] = 30.0
    """A subscriber registers again after this long with the same broker, since a Quit may be lost."""
    interest_life_s: float = 300.0
    """What is known of a subscriber that never registers again is forgotten after this long, and so is a subscription
    whose time frame has ended."""
    known_events: Count = 64
    """Events that a registration names as received, the latest."""
    catch_up_events: AtLeastOne = 8
    """Events in one answer to a registration; the node registers again for the rest."""
    past_matches: AtLeastOne = 500
    """Events of its memory that a broker sends out for one new subscription."""
    regions: RegionOptions = RegionOptions()
    bridges: BridgeOptions = BridgeOptions()
    cooperation: CooperationOptions = CooperationOptions()
    retry: RetryOptions = RetryOptions()
    routes: OnDemandOptions = OnDemandOptions(
        route_life_s=10.0, hop_limit=12, tries=1, reroutes=1, enough_copies=0, queue_per_target=20
    )
    limits: StoreLimits = StoreLimits()

    def __post_init__(self) -> None:
        check_bounds(self)
        if 0 < self.brokers <= self.likely_brokers + self.copies:
            raise InputError(
                f"likely_brokers + copies = {self.likely_brokers} + {self.copies} is not below brokers = "
                f"{self.brokers}; DRIP needs l + m < k: choose more brokers, or fewer copies or likely brokers"
            )
        check_longer(self, "", "refresh_s", "interest_life_s")

    def as_in_the_paper(self) -> DripOptions:
        return msgspec.structs.replace(self, brokers=self.brokers or PAPER_BROKERS, past_matches=20)

    def brokers_of(self, nodes: float) -> int:
        """k of a crowd of so many."""
        if self.brokers:
            return self.brokers
        return max(self.likely_brokers + self.copies + 1, min(MAX_SHARED_BROKERS, round(self.broker_share * nodes)))

    def memory_of(self, ability: float) -> int:
        """Events that a broker of this ability remembers."""
        if self.events_per_ability == 0.0:
            return self.memory_events
        return max(1, min(self.memory_events, round(self.events_per_ability * ability)))


def advice(options: DripOptions, nodes: int) -> str:
    """What a person should know who asks for these settings in a crowd of so many."""
    if options.brokers < nodes:
        return ""
    return (
        f"brokers = {options.brokers} makes all of {nodes} people brokers, who tell each other everything: choose "
        f"fewer, or leave it out for {options.broker_share:.0%} of the crowd"
    )
