"""Answers: an owner's past matches on their way to whoever subscribed (Thyme FGCS §5).

Everybody who hears a flooded subscription and has matches answers it. Each waits for a random moment first, or all
would speak in one voice and collide on their way. An answer that could not leave its owner, for want of a link or a
route, is sent again a few times while the subscription stands: a subscriber cannot ask anew an owner that it never
heard of. What is lost further on is lost, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from thyme.approaches.bounds import check_at_least
from thyme.host import Host
from thyme.model.ids import SubscriptionKey
from thyme.routing.layer import UnicastRouter
from thyme.wire.storage import PastMatches


class AnswerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    jitter_s: float = 0.1
    """Longest random wait before a subscription is answered; within `collect_s`, so that nobody is told later."""
    retries: int = 3
    """How often an answer that could not leave its owner is sent again …"""
    again_s: float = 0.5
    """… and after how long: after this, then twice, then three times as long."""

    def __post_init__(self) -> None:
        check_at_least(self, "ls.answers.", 0.0, "jitter_s", "again_s")
        check_at_least(self, "ls.answers.", 0, "retries")


class Answers:
    """What one owner sends to subscribers that it has heard of."""

    def __init__(
        self, host: Host, options: AnswerOptions, router: UnicastRouter, stands: Callable[[SubscriptionKey], bool]
    ) -> None:
        """`stands` says whether a subscription is still known."""
        self._host = host
        self._options = options
        self._router = router
        self._stands = stands

    def send(self, pieces: Sequence[PastMatches]) -> None:
        """Soon, all pieces one after the other."""
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
                self._host.after((tries + 1) * self._options.again_s, lambda: self._send(piece, tries + 1))

        self._router.send(piece.key.subscriber, piece, failed)
