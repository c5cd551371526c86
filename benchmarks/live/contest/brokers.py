"""Brokers from the distribution, each with its own usual client for Python.

NATS publishes to connected subscribers, and by JetStream to its disk (which it syncs every two minutes, so its
acknowledgement is weaker than a node's). Mosquitto acknowledges each message (quality of service 1) and keeps the past
as retained messages, one topic each. Redis publishes to connected subscribers, and keeps the past as a stream, synced
before each answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks.live.contest.contender import Ability, Contender, OnConnected, OnPayload, Publisher, Server
from benchmarks.live.contest.servers import free_port, lacking, served

STREAM = "goal"
READ_AT_ONCE = 1_000
UNDER_WAY = 1_000


class Nats(Contender):
    name = "NATS with JetStream"
    abilities = Ability.TELL | Ability.PAST

    def missing(self) -> str:
        return lacking("nats-server", "nats")

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Server]:
        port = free_port()
        with served(["nats-server", "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder)], port) as server:
            yield server

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        import nats

        client = await nats.connect(f"nats://{server.address}")
        stream = client.jetstream(publish_async_max_pending=UNDER_WAY)
        await stream.add_stream(name="past", subjects=["past"])

        async def publish(payloads: Sequence[bytes]) -> None:
            for payload in payloads:
                await client.publish(STREAM, payload)
            await client.flush()

        async def keep(payloads: Sequence[bytes]) -> None:
            await asyncio.gather(*[await stream.publish_async("past", payload) for payload in payloads])

        yield Publisher(publish if folder is None else keep, server.address)
        await client.close()

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        import nats

        async def hear(message: Any) -> None:
            told(message.data)

        client = await nats.connect(f"nats://{address}")
        await client.subscribe(STREAM, cb=hear, pending_msgs_limit=-1, pending_bytes_limit=-1)
        await client.flush()
        yield
        await client.close()

    @asynccontextmanager
    async def searching(self, address: str, told: OnPayload, begins: OnConnected) -> AsyncIterator[None]:
        import nats

        async def hear(message: Any) -> None:
            told(message.data)

        client = await nats.connect(f"nats://{address}")
        limits = {"pending_msgs_limit": -1, "pending_bytes_limit": -1}
        begins()
        await client.jetstream().subscribe("past", cb=hear, ordered_consumer=True, **limits)
        yield
        await client.close()


class Mosquitto(Contender):
    name = "Mosquitto, QoS 1"
    abilities = Ability.TELL | Ability.PAST

    def missing(self) -> str:
        return lacking("mosquitto", "paho")

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Server]:
        port = free_port()
        settings = folder / "mosquitto.conf"
        settings.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nmax_inflight_messages 0\n"
            "set_tcp_nodelay true\n"
        )
        with served(["mosquitto", "-c", str(settings)], port) as server:
            yield server

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        client = await _mqtt(server.address)
        kept = 0

        async def publish(payloads: Sequence[bytes]) -> None:
            nonlocal kept
            sent = []
            for payload in payloads:
                kept += 1
                topic = STREAM if folder is None else f"past/{kept}"
                sent.append(client.publish(topic, payload, qos=1, retain=folder is not None))
            if len(payloads) > 1:
                await asyncio.to_thread(sent[-1].wait_for_publish)

        yield Publisher(publish, server.address)
        client.loop_stop()
        client.disconnect()

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        client = await _mqtt(address, told, STREAM)
        yield
        client.loop_stop()
        client.disconnect()

    @asynccontextmanager
    async def searching(self, address: str, told: OnPayload, begins: OnConnected) -> AsyncIterator[None]:
        begins()
        client = await _mqtt(address, told, "past/#")
        yield
        client.loop_stop()
        client.disconnect()


async def _mqtt(address: str, told: OnPayload | None = None, topic: str = "") -> Any:
    """A client that is connected, and has subscribed."""
    from paho.mqtt.client import Client
    from paho.mqtt.enums import CallbackAPIVersion

    loop, ready = asyncio.get_running_loop(), asyncio.Event()
    client = Client(CallbackAPIVersion.VERSION2)
    client.max_inflight_messages_set(UNDER_WAY)
    if told is None:
        client.on_connect = lambda *_: loop.call_soon_threadsafe(ready.set)
    else:
        client.on_connect = lambda *_: client.subscribe(topic, qos=1)
        client.on_subscribe = lambda *_: loop.call_soon_threadsafe(ready.set)
        client.on_message = lambda _, __, message: told(message.payload)
    host, _, port = address.rpartition(":")
    client.connect(host, int(port))
    client.loop_start()
    await ready.wait()
    return client


class Redis(Contender):
    name = "Redis"
    abilities = Ability.TELL | Ability.PAST | Ability.DISK

    def missing(self) -> str:
        return lacking("redis-server", "redis")

    @contextmanager
    def serve(self, folder: Path) -> Iterator[Server]:
        port = free_port()
        settings = ["--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", ""]
        with served(["redis-server", *settings, "--appendonly", "yes", "--appendfsync", "always"], port) as server:
            yield server

    @asynccontextmanager
    async def publishing(self, server: Server, folder: Path | None) -> AsyncIterator[Publisher]:
        from redis.asyncio import Redis as Client

        client = Client.from_url(f"redis://{server.address}")

        async def publish(payloads: Sequence[bytes]) -> None:
            together = client.pipeline(transaction=False)
            for payload in payloads:
                if folder is None:
                    together.publish(STREAM, payload)
                else:
                    together.xadd("past", {"p": payload})
            await together.execute()

        yield Publisher(publish, server.address)
        await client.aclose()

    @asynccontextmanager
    async def listening(self, address: str, told: OnPayload) -> AsyncIterator[None]:
        from redis.asyncio import Redis as Client

        client = Client.from_url(f"redis://{address}")
        channel = client.pubsub(ignore_subscribe_messages=False)
        await channel.subscribe(STREAM)
        await channel.get_message(timeout=None)

        async def hear() -> None:
            async for message in channel.listen():
                told(message["data"])

        hearing = asyncio.ensure_future(hear())
        yield
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing
        await client.aclose()

    @asynccontextmanager
    async def searching(self, address: str, told: OnPayload, begins: OnConnected) -> AsyncIterator[None]:
        from redis.asyncio import Redis as Client

        client = Client.from_url(f"redis://{address}")
        await client.ping()
        begins()
        last: Any = "0"
        while found := await client.xread({"past": last}, count=READ_AT_ONCE):
            entries = found[0][1]
            for _, fields in entries:
                told(fields[b"p"])
            last = entries[-1][0]
        yield
        await client.aclose()
