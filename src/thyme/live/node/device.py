"""A device: a live host, one approach on it, and their life from switching on to leaving.

`open` binds the socket and starts routing, `connect` names the peers, `join` lets the approach take part, `close`
leaves in an orderly way. Tests and emulated crowds do these one by one; `Node` does them at once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from secrets import randbits
from socket import AF_UNSPEC
from typing import Any

import msgspec

from thyme.approaches.entry import with_defaults
from thyme.approaches.registry import find_approach
from thyme.host import MemoryStore, Store
from thyme.live.link.addresses import (
    ANY_6,
    EVERYWHERE,
    LOOPBACK,
    Address,
    address_text,
    family_of,
    is_local,
    parse_address,
)
from thyme.live.link.directory import SAME_NAME, NearbyNamespace
from thyme.live.link.frames import MAX_NODE
from thyme.live.link.greetings import LIFE_BITS
from thyme.live.link.link import LinkOptions
from thyme.live.link.sockets import Network, has_ipv6, resolve
from thyme.live.node.clock import Clock
from thyme.live.node.host import ORIGIN, LiveHost
from thyme.live.node.logs.log import FileLog, Log, SeveralLogs
from thyme.live.node.logs.log_server import SharedLog
from thyme.live.store.room import DiskOptions
from thyme.live.trust.approach_choice import APPROACH_BY_HAND
from thyme.live.trust.authenticator import SigningAuthenticator
from thyme.live.trust.identity import FIRST_DERIVED, GIVEN_IDS, Identity
from thyme.live.trust.namespaces import DEFAULT_NAME, Namespace, namespace_of
from thyme.live.trust.renewals import renewal_of
from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.model.ids import NodeId
from thyme.model.records import Joined, Left, LogRecord, Stored
from thyme.model.settings.bounds import AtLeastOne, NotNegative
from thyme.wire.signing import PLAIN, SigningCodec

logger = logging.getLogger("thyme.live")

LIFE = "life of the store"
FIND_S = 0.3
"""How long joining waits to discover a first peer."""
POLL_S = 0.005
"""Between two looks whether something that is waited for has happened."""


class DeviceOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person decides about a live node."""

    node: int
    namespace: str = DEFAULT_NAME
    """The name of the namespace to share in, or an invitation to a closed one."""
    passphrase: str = ""
    """Of a closed namespace."""
    listen: str = ""
    """Address to listen on; by default every interface with a free port, or this machine alone for a number given by
    hand.
    """
    discover: bool | None = None
    """Whether this node discovers others on the network; by default, if it listens to a network."""
    peers: tuple[str, ...] = ()
    only_peers: bool = False
    """Receive only from the listed peers: a topology, on a network where all nodes are in range."""
    approach: str = APPROACH_BY_HAND
    """For a device with a key of its own it is DCS unless given (`trust.approach_choice`)."""
    settings: dict[str, Any] = {}
    name: str = ""
    """What people call the device; its host name unless given, and nothing for a number by hand."""
    seed: int | None = None
    position: Point = ORIGIN
    position_file: str = ""
    """A file that says where the device is, and is followed when it changes; then `position` is what it says first."""
    position_source: str = ""
    """`gpsd`, or `gpsd://host:port`; `position` counts until its first fix."""
    log: str = ""
    tell: str = ""
    """Address at which watchers can connect to follow the log (`telling`); off by default."""
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
        network: Network | None = None,
    ) -> None:
        self.options = options
        self.identity = identity or Identity.given(options.node)
        self.namespace = namespace or namespace_of(options.namespace, options.passphrase)
        found = find_approach(options.approach, "--approach")
        settings = found.configure(with_defaults(options.settings, found.entry.live_defaults), "--set")
        refusal = found.entry.wide_ids(settings) if options.node >= GIVEN_IDS else ""
        if refusal:
            raise InputError(f"{refusal}, or a node with an --id by hand")
        parse_address(self._listen, "--listen", any_port=True)
        if options.tell:
            parse_address(options.tell, "--tell", any_port=True)
        for peer in options.peers:
            parse_address(peer, "--peer")
        store = MemoryStore() if store is None else store
        authenticator = SigningAuthenticator(self.identity, store, self.namespace)
        self.host = LiveHost(
            NodeId(options.node),
            clock=clock,
            store=store,
            codec=SigningCodec(authenticator) if options.signed else PLAIN,
            identity=self.identity,
            namespace=self.namespace,
            log=log,
            seed=options.seed,
            position=options.position,
            link=options.link,
            only_listed=options.only_peers,
            discovers=self._discovers,
            network=network,
        )
        self.host.watch = self._watch
        self.told: SharedLog | None = None
        """The log that is sent to watchers, if any."""
        self.joined = asyncio.Event()
        self.approach = found.make(self.host, settings)
        peering = self.host.link.peering
        peering.life, peering.approach, peering.name = self._life(), found.name, options.name
        self.on_renewed: Callable[[Namespace], None] | None = None
        """Called when a member handed over the next key of the namespace."""
        self.host.link.core.on_renewed = self._renewed
        self._announce()

    @property
    def address(self) -> Address:
        return self.host.link.address

    async def open(self) -> None:
        await self.host.link.open(await self._resolved())
        if self.options.log:
            self.host.log = FileLog(Path(self.options.log))
        if self.options.tell:
            self.told = SharedLog(self.options.node)
            await self.told.open(self.options.tell)
            self.host.log = SeveralLogs(self.host.log, self.told)
        self.host.receive = self.approach.receive
        self.approach.start()

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

    def renew(self) -> Namespace:
        """Give the namespace, which this device created, its next key, and hand it to the other members."""
        renewed, renewal = renewal_of(self.namespace, self.identity)
        self.namespace = renewed
        self._announce()
        self.host.link.renew(renewed, renewal)
        return renewed

    def take(self, namespace: Namespace) -> None:
        """Use the key of a new invitation to this namespace, and leave members that do not have it."""
        self.namespace = namespace
        self.host.link.discovery.directory.forget_keys()
        self._announce()
        self.host.link.renew(namespace)

    def _renewed(self, namespace: Namespace) -> None:
        self.namespace = namespace
        self._announce()
        logger.info("node %d: the key of namespace %r was renewed by its creator", self.options.node, namespace.name)
        if self.on_renewed is not None:
            try:
                self.on_renewed(namespace)
            except InputError as error:
                logger.warning("node %d: after its end, this device needs an invitation: %s", self.options.node, error)

    def _announce(self) -> None:
        found, directory = find_approach(self.options.approach, "--approach"), self.host.link.discovery.directory
        directory.announce(self.namespace, found.name, dict(self.options.settings))

    async def connect(self, peers: Iterable[str]) -> None:
        anywhere = self.address[0] == ANY_6
        family = AF_UNSPEC if anywhere else family_of(self.address)
        self.host.link.greet([await resolve(peer, "--peer", family) for peer in peers])

    async def join(self) -> None:
        """Take part once the listed peers have answered, or anyway when patience ends."""
        await self.host.link.wait_for_listed(self.options.greet_patience_s)
        await self._find_somebody()
        if self.host.link.peering.refused:
            raise InputError(f"another node also uses id {self.host.node}; give each node its own id")
        self.host.time.joined = True
        self.approach.join()

    async def _find_somebody(self) -> None:
        """Wait briefly for a first peer, whom a node asks what it missed; and for a second one if the first one's time
        is another than the device's: the first to answer may be a liar."""
        if not self._discovers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(FIND_S):
                while not self.neighbours() or self.host.time.doubtful:
                    await asyncio.sleep(POLL_S)

    async def close(self, reason: str = "quit") -> None:
        self.approach.stop()
        for name, count, size_bytes in self.approach.stored():
            self.host.record(Stored(name, count, size_bytes))
        self.host.record(Left(reason))
        await self._drain()
        await self.host.close()
        if self.told is not None:
            await self.told.end()

    async def _drain(self) -> None:
        """Wait until others have taken over what this node held for them, if there are any, for at most `leave_s`."""
        alone = not self.neighbours()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.options.leave_s):
                await self.host.durable()
                while self.neighbours() and (self.approach.handing_over or self.host.link.unacknowledged):
                    await asyncio.sleep(POLL_S)
        left = self.approach.handing_over + self.approach.untaken
        if left and alone:
            logger.info("node %d left with nobody in range: what it held for others stays in its store", self.host.node)
        elif left:
            logger.warning(
                "node %d left and could not hand over everything that it held for others: %d messages within %g s",
                self.host.node,
                left,
                self.options.leave_s,
            )

    def can_send(self) -> bool:
        """Whether there is room for what an operation sends."""
        return self.host.link.has_room and self.approach.has_room()

    async def wait_to_send(self) -> None:
        """Wait until there is."""
        await self.host.link.room()
        while self.host.on and not self.approach.has_room():
            await asyncio.sleep(POLL_S)

    def notes(self) -> list[str]:
        """What its user should know, in sentences."""
        mistaken = SAME_NAME if self.host.link.discovery.directory.mistaken() else ""
        return [note for note in (mistaken, self.approach.advice()) if note]

    def namespaces_around(self) -> list[NearbyNamespace]:
        """Open namespaces that nodes near share in."""
        return self.host.link.discovery.directory.around()

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
