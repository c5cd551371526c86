"""A device: a live host, one approach on it, and their life from switching on to leaving.

`open` binds the socket and starts routing, `connect` names the peers, `join` lets the approach take part, `close`
leaves in an orderly way. A crowd does these one by one for all its devices; `Node` does them at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from secrets import randbits
from socket import AF_UNSPEC
from typing import Any, get_args

import msgspec

from thyme.approaches.registry import Approach, find_approach
from thyme.host import MemoryStore, Store
from thyme.live.link.addresses import (
    ANY_6,
    EVERYWHERE,
    LOOPBACK,
    Address,
    address_text,
    family_of,
    has_ipv6,
    is_local,
    parse_address,
    resolve,
)
from thyme.live.link.frames import MAX_NODE
from thyme.live.link.meeting.directory import Entry
from thyme.live.link.meeting.greetings import LIFE_BITS
from thyme.live.link.udp import LinkOptions
from thyme.live.node.clock import Clock
from thyme.live.node.host import ORIGIN, LiveHost
from thyme.live.node.logs.log import FileLog, Log, SeveralLogs
from thyme.live.node.logs.telling import ToldLog
from thyme.live.store.options import DiskOptions
from thyme.live.trust.identity import FIRST_DERIVED, GIVEN_IDS, Identity
from thyme.live.trust.namespaces import DEFAULT_NAME, Namespace, namespace_of
from thyme.live.trust.notary import Notary
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import Joined, Left, LogRecord, Stored
from thyme.model.settings.bounds import AtLeastOne, NotNegative
from thyme.wire.signing import PLAIN, SigningCodec

logger = logging.getLogger("thyme.live")

LIFE = "life of the store"
SEARCH_QUEUE = 2_048
"""Packets that wait for one target's route: twice the subscriptions of a node, which one insert can match."""
ANSWER_JITTER_S = 0.005
"""Longest random wait before a subscription is answered. In the simulator it keeps answers of one instant from
colliding in the air (`ls.answers.jitter_s`, 0.1 s); below a live node there is a network that takes turns by itself,
and a link that repeats what is lost."""


FIND_S = 0.3
"""How long joining waits for somebody to be discovered."""
ROOM_LOOK_S = 0.005
"""Between two looks whether a search for a route has ended."""


class DeviceOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person decides about a live node."""

    node: int
    namespace: str = DEFAULT_NAME
    """The name of the namespace to share in, or an invitation to a closed one."""
    passphrase: str = ""
    """Of a closed namespace."""
    listen: str = ""
    """Where; nothing is everywhere, with a free port, and for a number by hand this machine alone."""
    discover: bool | None = None
    """Whether this node and others of the network find each other; unless told, where it listens to a network."""
    peers: tuple[str, ...] = ()
    only_peers: bool = False
    """Hear nobody but the listed peers: a topology, on a network where everybody could hear everybody."""
    approach: str = "ls"
    settings: dict[str, Any] = {}
    seed: int | None = None
    position: Point = ORIGIN
    position_file: str = ""
    """A file that says where the device is, and is followed when it changes; then `position` is what it says first."""
    log: str = ""
    tell: str = ""
    """Where whoever connects is told what happens (`telling`); nowhere unless given."""
    signed: bool = True
    """Whether statements are signed and verified; the same on all nodes."""
    link: LinkOptions = LinkOptions()
    disk: DiskOptions = DiskOptions()
    leave_s: NotNegative = 10.0
    """How long leaving waits for others to take over what this node held for them."""
    operations: AtLeastOne = 100
    """Operations of the application that are under way at once; others wait for their turn."""
    greet_patience_s: float = 1.0
    """How long joining waits for the listed peers to answer."""

    def __post_init__(self) -> None:
        if not (0 <= self.node < GIVEN_IDS or FIRST_DERIVED <= self.node <= MAX_NODE):
            raise InputError(f"node id {self.node}: expected a whole number from 0 to {GIVEN_IDS - 1}, or none")


class Device:
    """One live node without its user."""

    def __init__(
        self,
        options: DeviceOptions,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        log: Log | None = None,
        identity: Identity | None = None,
        namespace: Namespace | None = None,
    ) -> None:
        self.options = options
        self.identity = identity or Identity.given(options.node)
        self.namespace = namespace or namespace_of(options.namespace, options.passphrase)
        approach = find_approach(options.approach, "--approach")
        settings = approach.configure(_for_people(approach, options.settings), "--set")
        _check_trust(options, settings)
        parse_address(self._listen, "--listen", any_port=True)
        if options.tell:
            parse_address(options.tell, "--tell", any_port=True)
        for peer in options.peers:
            parse_address(peer, "--peer")
        store = MemoryStore() if store is None else store
        notary = Notary(self.identity, store)
        self.host = LiveHost(
            NodeId(options.node),
            clock=clock,
            store=store,
            codec=SigningCodec(notary) if options.signed else PLAIN,
            identity=self.identity,
            namespace=self.namespace,
            log=log,
            seed=options.seed,
            position=options.position,
            link=options.link,
            only_listed=options.only_peers,
            discovers=self._discovers,
        )
        self.host.watch = self._watch
        self.told: ToldLog | None = None
        """What watchers are told, if any."""
        self.joined = asyncio.Event()
        self.store = approach.make(self.host, settings)
        acquaintance = self.host.link.acquaintance
        acquaintance.life, acquaintance.approach = self._life(), approach.name
        if not self.namespace.closed:
            self.host.link.finding.directory.own = Entry(self.namespace.name, approach.name, dict(options.settings))

    @property
    def address(self) -> Address:
        return self.host.link.address

    async def open(self) -> None:
        await self.host.link.open(await self._resolved())
        if self.options.log:
            self.host.log = FileLog(Path(self.options.log))
        if self.options.tell:
            self.told = ToldLog(self.options.node)
            await self.told.open(self.options.tell)
            self.host.log = SeveralLogs(self.host.log, self.told)
        self.host.receive = self.store.receive
        self.store.start()

    @property
    def _listen(self) -> str:
        return self.options.listen or (EVERYWHERE if self.options.node >= GIVEN_IDS else LOOPBACK)

    @property
    def _discovers(self) -> bool:
        if self.options.discover is not None:
            return self.options.discover
        return not self.options.only_peers and not is_local(self._listen)

    async def _resolved(self) -> Address:
        """Where to listen: without IPv6, everywhere is everywhere of IPv4."""
        if self._listen == EVERYWHERE and not has_ipv6():
            return "0.0.0.0", 0
        return await resolve(self._listen, "--listen", AF_UNSPEC, any_port=True)

    async def connect(self, peers: Iterable[str]) -> None:
        anywhere = self.address[0] == ANY_6
        family = AF_UNSPEC if anywhere else family_of(self.address)
        self.host.link.greet([await resolve(peer, "--peer", family) for peer in peers])

    async def join(self) -> None:
        """Take part once the listed peers have answered, or anyway when patience ends."""
        acquaintance = self.host.link.acquaintance
        waits = [asyncio.ensure_future(event.wait()) for event in (acquaintance.acquainted, acquaintance.refused)]
        await asyncio.wait(waits, timeout=self.options.greet_patience_s, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        await self._find_somebody()
        if acquaintance.refused.is_set():
            raise InputError(f"another node also calls itself node {self.host.node}; give each node an id of its own")
        self.host.time.joined = True
        self.store.join()

    async def _find_somebody(self) -> None:
        """Who comes to a network asks those who are there what it missed; a moment later it knows them."""
        if not self._discovers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FIND_S):
                while not self.neighbours():
                    await asyncio.sleep(ROOM_LOOK_S)

    async def close(self, reason: str = "quit") -> None:
        self.store.stop()
        for name, count, size_bytes in self.store.stored():
            self.host.record(Stored(name, count, size_bytes))
        self.host.record(Left(reason))
        await self._drain()
        await self.host.close()
        if self.told is not None:
            await self.told.end()

    async def _drain(self) -> None:
        """Wait until others have what this node said last, while there are any and within limits; what they do not have
        is told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.options.leave_s):
                await self.host.durable()
                while self.neighbours() and (self.store.handing_over or self.host.link.unacknowledged):
                    await asyncio.sleep(ROOM_LOOK_S)
        if left := self.store.handing_over + self.store.untaken:
            logger.warning(
                "node %d left and could not hand over all that it held for others: %d messages within %g s",
                self.host.node,
                left,
                self.options.leave_s,
            )

    def roomy(self) -> bool:
        """Whether what an operation sends finds room on its way."""
        return self.host.link.roomy and self.store.roomy()

    async def room(self) -> None:
        """Wait until what an operation sends finds room on its way."""
        await self.host.link.room()
        while self.host.on and not self.store.roomy():
            await asyncio.sleep(ROOM_LOOK_S)

    def namespaces_around(self) -> list[Entry]:
        """Open namespaces that nodes near share in."""
        return self.host.link.finding.directory.around()

    def neighbours(self) -> dict[NodeId, str]:
        return {node: address_text(address) for node, address in self.host.link.peers.nodes().items()}

    def _life(self) -> int:
        """The life of this device's store, drawn when it was new."""
        value = self.host.store.get(LIFE, "")
        if value is None:
            value = msgspec.msgpack.encode(randbits(LIFE_BITS))
            self.host.store.put(LIFE, "", value)
        return msgspec.msgpack.decode(value, type=int)

    def _watch(self, event: LogRecord) -> None:
        if isinstance(event, Joined):
            self.joined.set()
            self.host.watch = None


def _for_people(approach: Approach, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings given; unless they say otherwise, routes are looked for when they are needed. DSDV, the papers'
    choice, takes some 15 s to find a newcomer, which is long for a person who just started a node. A search that is
    under way holds the notifications of any one operation, so that none gives way to another. Notifications are
    acknowledged, and those of one instant told together, insertions confirmed by another who holds them, and
    subscriptions answered almost at once, where the approach can do so."""
    fields = msgspec.structs.fields(approach.settings)
    if any(field.name == "telling" for field in fields):
        settings = {**settings, "telling": {"sure": True, **settings.get("telling", {})}}
    if any(field.name == "answers" for field in fields):
        settings = {**settings, "answers": {"jitter_s": ANSWER_JITTER_S, **settings.get("answers", {})}}
    for name in ("notify_together", "confirmed"):
        if any(field.name == name for field in fields):
            settings = {name: True, **settings}
    if any(field.name == "routing" and "ondemand" in get_args(field.type) for field in fields):
        queue = {"queue_per_target": SEARCH_QUEUE}
        return {"routing": "ondemand", **settings, "ondemand": {**queue, **settings.get("ondemand", {})}}
    return settings


def _check_trust(options: DeviceOptions, settings: object) -> None:
    """InputError if a setting does not go with keys or signatures."""
    if options.node >= GIVEN_IDS and getattr(settings, "routing", "") == "dsdv":
        raise InputError(
            "routing=dsdv names nodes by 32 bits, and the number of a key has 62: use routing=ondemand, or a node with "
            "an --id by hand"
        )
    if options.signed and getattr(settings, "spread_load", 0) > 0:
        raise InputError(
            "spread_load: cells that share a hot tag put shares of subscriptions together, which their signatures do "
            "not cover; leave it at 0, or let all nodes do without signatures"
        )
