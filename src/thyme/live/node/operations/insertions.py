"""The insertions of an application that are under way: contents of files and streams are first laid into the store."""

from __future__ import annotations

import os
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from thyme.approaches.transfers.drafts import drop_draft
from thyme.live.node.device import Device
from thyme.live.node.operations.files import Outside, laid
from thyme.live.node.operations.given import Given, bytes_of
from thyme.model.errors import InputError
from thyme.model.ids import ObjectKey
from thyme.model.objects import Content, InStore


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
