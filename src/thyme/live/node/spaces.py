"""`Spaces`: the namespaces that one device shares in, at once (Thyme FGCS §7.2).

    async with Spaces("~/thyme") as spaces:
        final = await spaces.create("the final", closed=True)
        print(spaces.invitation("the final"))
        stage = await spaces.join("stage", approach="dcs", settings=…)

Each is a node of its own, with its socket, approach, area and store in a folder of its own; all are the same key. What
was joined is joined again when the device comes back, until it is left.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import msgspec

from thyme.live.node.arguments import NodeOptions
from thyme.live.node.node import Node
from thyme.live.store.folders import own_folder
from thyme.live.trust.approach_choice import DEFAULT_APPROACH, ExpectedCrowd, resolved
from thyme.live.trust.device_names import kept_name
from thyme.live.trust.identity import kept_identity
from thyme.live.trust.keyring import Keyring
from thyme.live.trust.namespaces import Namespace, namespace_of
from thyme.model.areas import Area
from thyme.model.errors import InputError

MAX_SPACES = 16
"""Nodes of one device that run at once."""


class Spaces:
    """One device, and a node for each namespace that it shares in."""

    def __init__(self, folder: str | os.PathLike[str] | None = None, **options: Unpack[NodeOptions]) -> None:
        """`folder` keeps the key, the secrets and a store for each namespace; `options` are those of all nodes."""
        self._folder = own_folder() if folder is None else Path(folder).expanduser()
        self._options = options
        self.identity = kept_identity(self._folder)
        self.keyring = Keyring(self._folder)
        self.nodes: dict[str, Node] = {}
        """Those that run, by the names of their namespaces."""

    async def __aenter__(self) -> Self:
        """Share again in what was joined and not left."""
        try:
            for namespace in self.keyring:
                await self._enter(namespace, {})
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Leave for now: what was joined stays joined."""
        for node in self.nodes.values():
            await node.close()
        self.nodes.clear()

    async def create(
        self,
        name: str,
        *,
        closed: bool = False,
        approach: str = DEFAULT_APPROACH,
        settings: dict[str, Any] | None = None,
        expected: ExpectedCrowd | None = None,
        area: Area | None = None,
    ) -> Node:
        """A new namespace; a closed one is joined by invitation. With approach "auto" it takes what the decision map
        has for the expected crowd. With an area, positions can be latitude and longitude."""
        approach, settings, _ = resolved(approach, settings, expected)
        if self.keyring.find(name) is not None:
            raise InputError(f"this device has already joined a namespace {name!r}; leave it, or choose another name")
        made = Namespace.drawn(name) if closed else Namespace.open(name)
        creator = self.identity.public if closed else b""
        given = {"approach": approach, "settings": settings, "area": area, "creator": creator}
        return await self._join(msgspec.structs.replace(made, **given), {})

    async def join(self, text: str, **options: Unpack[NodeOptions]) -> Node:
        """Share in a namespace: by invitation, by name and passphrase, or an open one by its name. A newer invitation
        to one that this device is in gives it the new key."""
        passphrase = options.pop("passphrase", "")
        if text in self.nodes and not passphrase:
            return self.nodes[text]
        namespace = namespace_of(text, passphrase)
        running = self.nodes.get(namespace.name)
        if running is not None and namespace.supersedes(running.namespace):
            running.rejoin(namespace.invitation())
            return running
        named = {key: value for key, value in options.items() if key in ("approach", "settings")}
        return await self._join(msgspec.structs.replace(namespace, **named), options)

    async def leave(self, name: str) -> None:
        """Share no more in it, now or later; its store stays until it is deleted by hand."""
        self.keyring.remove(name)
        node = self.nodes.pop(name, None)
        if node is not None:
            await node.close()

    async def renew(self, name: str) -> str:
        """Give a namespace that this device created a new key, which members take over from each other; its new
        invitation."""
        self.keyring.get(name)
        node = self.nodes.get(name)
        if node is None:
            raise InputError(f"this device has left namespace {name!r}, so it cannot hand over a new key")
        return node.renew()

    async def shut_out(self, name: str) -> str:
        """Give a namespace another key; send the new invitation to everyone except the members to exclude."""
        changed = self.keyring.get(name).renewed(self.identity.public)
        self.keyring.add(changed)
        if (node := self.nodes.get(name)) is not None:
            node.rejoin(changed.invitation())
        return changed.invitation()

    def invitation(self, name: str) -> str:
        return self.keyring.get(name).invitation()

    async def _join(self, namespace: Namespace, options: NodeOptions) -> Node:
        node = await self._enter(namespace, options)
        self.keyring.add(namespace)
        return node

    async def _enter(self, namespace: Namespace, options: NodeOptions) -> Node:
        if namespace.name in self.nodes:
            raise InputError(f"this device is already in namespace {namespace.name!r}")
        if len(self.nodes) >= MAX_SPACES:
            raise InputError(f"this device is already in {MAX_SPACES} namespaces; leave one of them first")
        given: NodeOptions = {
            "name": kept_name(self._folder),
            **self._options,
            **options,
            "namespace": namespace.invitation(),
        }
        node = Node(identity=self.identity, store=self._folder / namespace.folder, **given)
        node.keep_namespace = self.keyring.add
        self.nodes[namespace.name] = await node.__aenter__()
        return node
