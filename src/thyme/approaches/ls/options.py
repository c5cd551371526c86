"""What can be set in Thyme-LS (Thyme FGCS §5), with the values that its evaluation starts from."""

from __future__ import annotations

from thyme.approaches.contents import ContentOptions
from thyme.approaches.interface import StoreLimits
from thyme.approaches.ls.agreement import AgreementOptions
from thyme.approaches.ls.answers import AnswerOptions
from thyme.approaches.ls.joining import JoinOptions
from thyme.approaches.ls.notification_queues import NotificationQueueOptions
from thyme.approaches.requests import RetryOptions
from thyme.approaches.unicast import RoutedOptions
from thyme.model.settings.bounds import AtLeastOne, NotNegative
from thyme.routing.flooding import FloodingOptions


class LocalStorageOptions(RoutedOptions, frozen=True, forbid_unknown_fields=True):
    """Thyme-LS and the router below it."""

    past_matches: AtLeastOne = 10
    """n: past matches of a first batch, the most recent ones (§3.3)."""
    collect_s: NotNegative = 0.25
    """How long a subscriber collects the owners' answers before it is notified of the n most recent matches: a flood
    takes 25 ms a hop, and the answer less. Later answers are passed on as they come."""
    answers: AnswerOptions = AnswerOptions()
    retry: RetryOptions = RetryOptions()
    contents: ContentOptions = ContentOptions()
    join: JoinOptions = JoinOptions()
    agreement: AgreementOptions = AgreementOptions()
    telling: NotificationQueueOptions = NotificationQueueOptions()
    flooding: FloodingOptions = FloodingOptions()
    limits: StoreLimits = StoreLimits()
    revoked_s: NotNegative = 3_600.0
    """How long unsubscriptions are remembered, to hand them to nodes that were off. A node that was off for longer
    learns them from the subscriber."""
    matches_per_notification: AtLeastOne = 8
    """A notification of more matches than this is sent in several frames."""
