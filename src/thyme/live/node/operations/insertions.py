"""The insertions of an application that are under way: contents of files and streams are first laid into the store.

Several that begin together are signed together: each says first what it is about to insert.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

from thyme.approaches.ledger import Ended
from thyme.approaches.transfers.drafts import drop_draft
from thyme.approaches.user import User
from thyme.live.node.device import Device
from thyme.live.node.known import KnownObjects
from thyme.live.node.operations.awaiting import Operation
from thyme.live.node.operations.files import Outside, laid
from thyme.live.node.operations.given import Given, bytes_of
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey
from thyme.model.objects import Content, InStore, Metadata
from thyme.model.records import OperationKind


class Insertion(Operation[Metadata]):
    def __init__(
        self,
        user: User,
        known: KnownObjects,
        oid: str,
        content: Content,
        tags: list[str],
        summary: bytes,
        replicate: bool | None,
    ) -> None:
        super().__init__(OperationKind.INSERT)
        self._user = user
        self._known = known
        self._object = (oid, content, tags, summary)
        self._replicate = replicate
        self._draft: Metadata | None = None

    def drafted(self) -> Metadata | None:
        with suppress(InputError):  # it will be refused when its turn comes, and its user told why
            self._draft = self._user.draft(*self._object)
        return self._draft

    def issue(self, number: int, ended: Ended) -> Metadata:
        metadata = self._user.insert(number, *self._object, ended, self._replicate, self._draft)
        self._known.note(metadata)
        return metadata


class Insertions:
    def __init__(self) -> None:
        self._laying: set[ObjectKey] = set()

    @asynccontextmanager
    async def laid(self, device: Device, oid: str, data: Given) -> AsyncIterator[Content]:
        """What there is to insert, while this is entered; if the insertion fails, what was laid down for it goes."""
        if not isinstance(data, os.PathLike | AsyncIterable) and not hasattr(data, "read"):
            yield bytes_of("content", data)
            return
        key, store = device.store.new_key(oid), device.host.store
        if key in self._laying:
            raise InputError(f"object {oid!r} is being inserted")
        self._laying.add(key)
        try:
            content = await laid(store, key, cast(Outside, data))
        finally:
            self._laying.discard(key)
        try:
            yield content
        except BaseException:
            if isinstance(content, InStore):
                drop_draft(store, key)
            raise
