"""The transfers of one node that are under way: one for each content, however many ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic

from thyme.approaches.interface import Failure, Fetched, Outcome
from thyme.approaches.partial_contents import KIND, MAX_DRAFTS, drop_draft, key_of_draft
from thyme.approaches.requests import Requests
from thyme.approaches.transfers.supplies import Source, TransferOptions
from thyme.approaches.transfers.transfer import Known, Transfer, TransferContext
from thyme.host import StoreFull
from thyme.model.ids import ObjectKey
from thyme.model.objects import MAX_DATA_BYTES, Metadata
from thyme.wire.storage import PartReply, PartRequest

Progress = Callable[[ObjectKey, int, int], None]
"""(object, bytes that are here, bytes in all)"""
MAX_TRANSFERS = 16
"""Under way at once; a further one is refused."""


class Transfers(Generic[Source]):
    def __init__(
        self,
        requests: Requests,
        ask: Callable[[Source, PartRequest], None],
        options: TransferOptions,
        part_bytes: int,
        progress: Progress | None,
    ) -> None:
        self._host = host = requests.host
        self._context = TransferContext(host, requests, ask, options, lambda: max(part_bytes, host.part_bytes()))
        self._progress = progress
        self._transfers: dict[ObjectKey, Transfer[Source]] = {}

    def fetch(self, metadata: Metadata, sources: Sequence[Source], done: Fetched, known: Known) -> None:
        key = metadata.key
        transfer = self._transfers.get(key)
        if transfer is not None:
            transfer.waiting.append(done)
            return
        if len(self._transfers) >= MAX_TRANSFERS or metadata.size_bytes > MAX_DATA_BYTES:
            done(Outcome(Failure.REFUSED), b"")
            return
        self._make_room(key)
        tell, ended = partial(self._tell, key), partial(self._ended, key)
        transfer = Transfer(self._context, metadata, sources, tell, ended, known)
        transfer.waiting.append(done)
        self._transfers[key] = transfer
        try:
            transfer.begin()
        except StoreFull:
            self._transfers.pop(key, None)
            raise

    def fetching(self, key: ObjectKey) -> bool:
        return key in self._transfers

    def pause(self, key: ObjectKey) -> None:
        transfer = self._transfers.get(key)
        if transfer is not None:
            transfer.pause()

    def on_reply(self, reply: PartReply) -> bool:
        """Whether the reply was for one of these."""
        transfer = self._transfers.get(reply.key)
        if transfer is None or reply.request not in transfer:
            return False
        transfer.on_reply(reply)
        return True

    def _make_room(self, key: ObjectKey) -> None:
        names = [name for name, _ in self._host.store.items(KIND)]
        idle = [name for name in names if name != str(key) and key_of_draft(name) not in self._transfers]
        for name in idle[: max(0, len(names) + 1 - MAX_DRAFTS)]:
            drop_draft(self._host.store, key_of_draft(name))

    def _tell(self, key: ObjectKey, have_bytes: int, size_bytes: int) -> None:
        if self._progress is not None:
            self._progress(key, have_bytes, size_bytes)

    def _ended(self, key: ObjectKey, outcome: Outcome) -> None:
        del self._transfers[key]
