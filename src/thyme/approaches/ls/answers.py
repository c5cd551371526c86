"""Answers: an owner sends its past matches to the subscriber (Thyme FGCS §5).

Every node that receives a flooded subscription and has matches answers it, after a random delay, since simultaneous
answers would collide. An answer that could not leave its owner, for lack of a link or a route, is retried a few times
while the subscription is active: a subscriber cannot ask an owner that it does not know. Then it is lost, as in the
paper; or its matches are queued as sure notifications, where there are these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thyme.host import Host
from thyme.model.ids import SubscriptionKey
from thyme.model.settings import SettingsRecord
from thyme.model.settings.bounds import Count, NotNegative
from thyme.routing.layer import UnicastRouter
from thyme.wire.storage import PastMatches

AGAIN_S = 0.5
"""An answer that could not leave its owner is sent again after this, then twice, then three times as long."""


class AnswerOptions(SettingsRecord, frozen=True):
    jitter_s: NotNegative = 0.1
    """Longest random delay before a subscription is answered; less than `collect_s`, so that no answer is late because
    of it."""
    retries: Count = 3
    """Retries of an answer that could not leave its owner."""


class Answers:
    """The answers that one owner sends to subscribers."""

    def __init__(
        self,
        host: Host,
        options: AnswerOptions,
        router: UnicastRouter,
        stands: Callable[[SubscriptionKey], bool],
        lost: Callable[[SubscriptionKey], None],
    ) -> None:
        """`stands` returns whether a subscription is still known; `lost` is called when its answer could not be
        sent."""
        self._lost = lost
        self._host = host
        self._options = options
        self._router = router
        self._stands = stands

    def send(self, pieces: Sequence[PastMatches]) -> None:
        """After a random delay, send all pieces one after the other."""
        wait_s = self._host.random.uniform(0.0, self._options.jitter_s)

        def send_all() -> None:
            for piece in pieces:
                self._send(piece, 0)

        self._host.after(wait_s, send_all)

    def _send(self, piece: PastMatches, tries: int) -> None:
        if not self._stands(piece.key):
            return

        def failed() -> None:
            if tries < self._options.retries:
                self._host.after((tries + 1) * AGAIN_S, lambda: self._send(piece, tries + 1))
            else:
                self._lost(piece.key)

        self._router.send(piece.key.subscriber, piece, failed)
