"""A node while it is open: its store, its device, its quota, and whose operation may begin."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Self

import msgspec

from thyme.host import Store
from thyme.live.node.clock import Clock
from thyme.live.node.device import Device, DeviceOptions
from thyme.live.node.logs.log import Log
from thyme.live.node.operations.awaiting import Means as OperationMeans
from thyme.live.node.operations.awaiting import Turns
from thyme.live.node.operations.files import forget_unfinished, given_bytes
from thyme.live.node.quota import Quota
from thyme.live.store.disk import DiskStore
from thyme.live.store.places import open_store
from thyme.live.trust.identity import Identity
from thyme.live.trust.namespaces import Namespace
from thyme.model.ids import ObjectKey

Place = Store | str | os.PathLike[str] | None
"""A store, a folder for one, `"memory"`, or nothing for a folder among the user's data."""


class Means(msgspec.Struct, frozen=True):
    """What an application brought for its node."""

    options: DeviceOptions
    identity: Identity
    namespace: Namespace
    place: Place = None
    clock: Clock | None = None
    log: Log | None = None


class Running:
    def __init__(self, means: Means, device: Device, store: Store, in_use: Callable[[ObjectKey], bool]) -> None:
        """`in_use` says which contents the application is reading."""
        options = means.options
        self.device = device
        codec = device.host.codec
        together = codec.insert_together if codec.signs else None
        host = device.host
        self.turns = Turns(
            options.operations, OperationMeans(device.roomy, device.room, host.store.commit, host.soon.act, together)
        )
        self._store = store
        self._quota: Quota | None = None
        if isinstance(store, DiskStore):
            self._quota = Quota(options.disk, store.room, device.host, device.store, in_use)
            self._quota.begin()

    @classmethod
    async def begin(cls, means: Means, in_use: Callable[[ObjectKey], bool]) -> Self:
        """Listen and forward. If that fails, nothing stays open."""
        options, namespace = means.options, means.namespace
        store = open_store(means.place, options.node, options.approach, options.disk, namespace)
        try:
            device = Device(
                options, store=store, clock=means.clock, log=means.log, identity=means.identity, namespace=namespace
            )
            try:
                await device.open()
            except BaseException:
                await device.host.close()
                raise
        except BaseException:
            await _close(store)
            raise
        forget_unfinished(store, device.host.node)
        return cls(means, device, store, in_use)

    def make_room(self, size_bytes: int) -> None:
        """For a content that is about to come."""
        if self._quota is not None:
            self._quota.make_room(size_bytes)

    def make_room_for(self, given: object) -> None:
        """For what an application is about to insert."""
        if self._quota is not None:
            self._quota.make_room(given_bytes(given))

    async def end(self, reason: str) -> None:
        await self.device.close(reason)
        await _close(self._store)


async def _close(store: Store) -> None:
    if isinstance(store, DiskStore):
        await store.close()
