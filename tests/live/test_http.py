"""The HTTP interface of a live node, over real sockets: objects, subscriptions, events, retrievals, and its guard."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from thyme.live import Node
from thyme.live.http.limits import HttpOptions
from thyme.live.http.server import HttpServer

PATIENCE_S = 60.0
QUICK = {"join": {"wait_s": 0.05, "delay_s": 0.01}}
Play = Callable[[httpx.AsyncClient, httpx.AsyncClient, HttpServer], Awaitable[None]]


def scene(play: Play, tmp_path: Path, options: HttpOptions | None = None) -> None:
    """Two nodes that hear each other, each with a client that has its token."""

    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            Node(1, store="memory", settings=QUICK) as one,
            Node(2, store="memory", peers=[one.address], settings=QUICK) as two,
            HttpServer(one, listen="127.0.0.1:0", folder=tmp_path / "one", options=options) as first,
            HttpServer(two, listen="127.0.0.1:0", folder=tmp_path / "two", options=options) as second,
            client_of(first) as a,
            client_of(second) as b,
        ):
            await one.device.joined.wait()
            await two.device.joined.wait()
            await play(a, b, first)

    asyncio.run(run())


def client_of(server: HttpServer) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=server.address, headers={"authorization": f"Bearer {server.token}"}, timeout=PATIENCE_S
    )


@asynccontextmanager
async def stream(client: httpx.AsyncClient, path: str, after: str = "") -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    headers = {"last-event-id": after} if after else {}
    async with client.stream("GET", path, headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        yield events(response)


async def events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    event: dict[str, Any] = {}
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if not line and "event" in event:
            yield event
            event = {}
        elif name == "data":
            event["data"] = json.loads(value)
        elif name in ("id", "event"):
            event[name] = value


def test_an_object_is_inserted_notified_of_retrieved_in_ranges_and_deleted(tmp_path: Path) -> None:
    content = bytes(range(256)) * 2_000

    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        asked = await b.post("/v1/subscriptions", json={"query": "goal & !replay"})
        assert (asked.status_code, asked.json()["query"]) == (201, "goal & !replay")
        sid = asked.json()["sid"]
        put = await a.post("/v1/objects?tag=goal&tag=final&name=a/b@c%20d&summary=3-3!", content=content)
        assert (put.status_code, put.json()["key"], put.json()["own"]) == (201, "a/b@c d@1", True)
        async with stream(b, f"/v1/subscriptions/{sid}/events") as told:
            event = await anext(told)
            assert (event["event"], event["data"]["object"]["summary_text"]) == ("notified", "3-3!")
        where = "/v1/contents/a%2Fb%40c%20d%401"
        assert (await b.get(where)).content == content
        part = await b.get(where, headers={"range": "bytes=1000-1999"})
        assert (part.status_code, part.content) == (206, content[1000:2000])
        assert (await b.delete("/v1/objects/a%2Fb@c%20d@1")).status_code == 403
        assert (await a.delete("/v1/objects/a%2Fb@c%20d@1")).status_code == 204
        assert (await a.get("/v1/objects/a%2Fb@c%20d@1")).status_code == 404
        assert (await b.delete(f"/v1/subscriptions/{sid}")).status_code == 204
        assert (await b.get("/v1/subscriptions")).json() == []

    scene(play, tmp_path)


def test_an_object_expires_whichever_way_it_was_inserted(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        sid = (await b.post("/v1/subscriptions", json={"query": "goal"})).json()["sid"]
        put = await a.post("/v1/objects?tag=goal&name=short&lasts_s=3", content=b"3-3!")
        assert put.json()["expires_s"] == pytest.approx(put.json()["published_s"] + 3.0, abs=0.01)
        begun = await a.post("/v1/uploads", json={"tags": ["goal"], "size_bytes": 1, "name": "part", "lasts_s": 600})
        sent = await a.patch(f"/v1/uploads/{begun.json()['upload']}", content=b"x", headers={"upload-offset": "0"})
        assert sent.json()["object"]["expires_s"] > put.json()["expires_s"]
        async with stream(b, f"/v1/subscriptions/{sid}/events") as told:
            seen = [(await anext(told))["data"]["object"] for _ in range(2)]
        assert [each["expires_s"] is None for each in seen] == [False, False]
        while (left := (await b.get("/v1/found?query=goal")).json()) and len(left) > 1:
            await asyncio.sleep(0.1)
        assert [each["key"] for each in left] == ["part@1"]
        assert (await b.get("/v1/contents/short@1")).status_code >= 400
        for wrong in ("0", "-1", "nan", "inf", "soon"):
            refused = await a.post(f"/v1/objects?tag=goal&lasts_s={wrong}", content=b"x")
            assert (refused.status_code, "lasts_s is" in refused.json()["error"]["message"]) == (400, True)

    scene(play, tmp_path)


def test_an_upload_goes_on_where_it_broke_off(tmp_path: Path) -> None:
    content = b"0123456789" * 1_000

    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        begun = await a.post("/v1/uploads", json={"tags": ["goal"], "size_bytes": len(content), "name": "big"})
        where = f"/v1/uploads/{begun.json()['upload']}"
        first = await a.patch(where, content=content[:4_000], headers={"upload-offset": "0"})
        assert (first.json()["offset"], first.json()["object"]) == (4_000, None)
        wrong = await a.patch(where, content=content[5_000:], headers={"upload-offset": "5000"})
        assert wrong.status_code == 409
        assert "4000 bytes were received" in wrong.json()["error"]["message"]
        assert (await a.get(where)).json()["offset"] == 4_000
        last = await a.patch(where, content=content[4_000:], headers={"upload-offset": "4000"})
        assert last.json()["object"]["key"] == "big@1"
        assert (await a.get(where)).status_code == 404
        assert (await a.get("/v1/contents/big@1")).content == content

    scene(play, tmp_path)


def test_a_stream_goes_on_behind_the_last_event_that_was_heard(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        sid = (await b.post("/v1/subscriptions", json={"query": "goal", "frame": "future"})).json()["sid"]
        path = f"/v1/subscriptions/{sid}/events"
        for name in ("one", "two"):
            await a.post(f"/v1/objects?tag=goal&name={name}", content=b"x")
        async with stream(b, path) as told:
            heard = [await anext(told), await anext(told)]
        assert [each["data"]["object"]["name"] for each in heard] == ["one", "two"]
        await a.post("/v1/objects?tag=goal&name=three", content=b"x")
        async with stream(b, path, after=heard[0]["id"]) as told:
            assert [(await anext(told))["data"]["object"]["name"] for _ in range(2)] == ["two", "three"]
        await b.delete(f"/v1/subscriptions/{sid}")

    scene(play, tmp_path)


def test_who_reads_too_late_is_told_how_much_was_lost(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        first = (await a.get("/v1/status")).json()["last_event"]
        for i in range(9):
            await a.post(f"/v1/objects?tag=goal&name={i}", content=b"x")
        async with stream(a, "/v1/events", after=first) as told:
            event = await anext(told)
            assert (event["event"], event["data"]) == ("lost", {"events": 6})
            assert [(await anext(told))["data"]["name"] for _ in range(3)] == ["6", "7", "8"]

    scene(play, tmp_path, HttpOptions(kept_events=3))


def test_retrievals_tell_their_progress_and_their_end(tmp_path: Path) -> None:
    content = b"much" * 400_000

    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        sid = (await b.post("/v1/subscriptions", json={"query": "film", "last_s": 600})).json()["sid"]
        await a.post("/v1/objects?tag=film&name=film", content=content)
        async with stream(b, f"/v1/subscriptions/{sid}/events") as told:
            await anext(told)
        async with stream(b, "/v1/events") as told:
            assert (await b.post("/v1/retrievals", json={"key": "film@1"})).json()["state"] == "running"
            states: list[str] = []
            while not states or states[-1] != "done":
                event = await anext(told)
                if event["event"] == "retrieval":
                    states.append(event["data"]["state"])
        assert states[0] == "running"
        assert (await b.get("/v1/retrievals/film@1")).json()["have_bytes"] == len(content)

    scene(play, tmp_path)


def test_errors_are_one_json_form_that_says_what_was_wrong(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, _: HttpServer) -> None:
        cases = [
            (await a.post("/v1/objects?name=x", content=b"x"), 400, "no tags"),
            (await a.post("/v1/subscriptions", json={"query": "goal &"}), 400, "expected a tag"),
            (await a.post("/v1/subscriptions", json={"query": "goal", "frame": "soon"}), 400, "past, future or always"),
            (await a.post("/v1/subscriptions", json={"query": 7}), 400, "cannot be read"),
            (await a.post("/v1/subscriptions", content=b"query=goal"), 415, "JSON"),
            (await a.post("/v1/subscriptions", json={"query": "x" * 100_000}), 413, "more than 65536 bytes"),
            (await a.post("/v1/objects?tag=a", content=b"x" * 1_001), 413, "at most 1000 bytes"),
            (await a.get("/v1/contents/never@7"), 404, "no object"),
            (await a.get("/v1/contents/never"), 400, "NAME@NODE"),
            (await a.delete("/v1/subscriptions/7"), 404, "no subscription 7"),
            (await a.get("/v1/nothing"), 404, "Not Found"),
            (await a.put("/v1/objects"), 405, "Method Not Allowed"),
        ]
        for response, status, words in cases:
            assert response.status_code == status, response.text
            assert words in response.json()["error"]["message"], response.text
        assert (await a.get("/v1/query?text=goal+%26")).json()["error"]["position"] == 6

    scene(play, tmp_path, HttpOptions(upload_bytes=1_000))


def test_numbers_of_any_length_are_a_request_that_is_wrong(tmp_path: Path) -> None:
    long = "9" * 5_000

    async def play(a: httpx.AsyncClient, _: httpx.AsyncClient, server: HttpServer) -> None:
        for path in (
            f"/v1/objects/kick@{long}",
            f"/v1/contents/kick@{long}",
            f"/v1/retrievals/kick@{long}",
            f"/v1/subscriptions/{long}",
            f"/v1/objects?skip={long}",
            f"/v1/found?query=goal&last_s={long}",
        ):
            answer = await a.get(path)
            assert answer.status_code == 400, (path, answer.text)
            assert len(answer.text) < 1_000
        answer = await a.put("/v1/objects")
        assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, {"GET", "HEAD", "POST"})

    scene(play, tmp_path)


def test_connections_that_ask_nothing_hold_nobody_up(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, server: HttpServer) -> None:
        port = int(server.address.rpartition(":")[2])
        idle = []
        for i in range(60):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /v1/status HT" if i % 2 else b"")
            idle.append((reader, writer))
        assert (await a.get("/v1/status")).status_code == 200
        for reader, _ in idle:  # the oldest were closed at once, and the others in time
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), 10.0) == b""
        for _, writer in idle:
            writer.close()

    scene(play, tmp_path, HttpOptions(connections=20, header_s=0.5))


def test_strangers_other_sites_and_foreign_names_cannot_drive_the_node(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, server: HttpServer) -> None:
        good = {"authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(base_url=server.address) as stranger:
            cases: list[tuple[dict[str, str], int]] = [
                ({}, 401),
                ({"authorization": "Bearer wrong"}, 401),
                ({"cookie": f"thyme-{server.address.rpartition(':')[2]}=wrong"}, 401),
                ({**good, "host": "evil.example"}, 421),
                ({**good, "host": "evil.example", "origin": "http://evil.example"}, 421),
                ({**good, "origin": "http://evil.example"}, 403),
                ({**good, "origin": "null"}, 403),
                ({**good, "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
                (good, 200),
                ({**good, "origin": server.address, "sec-fetch-site": "same-origin"}, 200),
            ]
            for headers, status in cases:
                response = await stranger.get("/v1/status", headers=headers)
                assert response.status_code == status, headers
                assert "access-control-allow-origin" not in response.headers
            assert (await stranger.post("/v1/session")).status_code == 401
            session = await stranger.post("/v1/session", headers=good)
            assert "HttpOnly; SameSite=Strict" in session.headers["set-cookie"]
            assert (await stranger.get("/v1/status")).status_code == 200, "with the cookie"

    scene(play, tmp_path)


def test_the_token_is_kept_over_restarts_and_is_only_the_owners(tmp_path: Path) -> None:
    async def run() -> None:
        tokens = []
        for _ in range(2):
            async with (
                Node(1, store="memory", settings=QUICK) as node,
                HttpServer(node, listen="127.0.0.1:0", folder=tmp_path) as server,
            ):
                tokens.append(server.token)
        assert tokens[0] == tokens[1]
        assert (tmp_path / "http-token").stat().st_mode & 0o077 == 0

    asyncio.run(run())


def test_a_unix_socket_serves_its_owner_without_a_token(tmp_path: Path) -> None:
    async def run() -> None:
        path = tmp_path / "control" / "node.sock"
        for _ in range(2):
            async with Node(1, store="memory", settings=QUICK) as node, HttpServer(node, unix=path):
                assert (path.stat().st_mode & 0o077, path.parent.stat().st_mode & 0o077) == (0, 0)
                transport = httpx.AsyncHTTPTransport(uds=str(path))
                async with httpx.AsyncClient(transport=transport, base_url="http://node") as client:
                    assert (await client.get("/v1/status")).json()["node"] == "1"
        assert not path.exists()

    asyncio.run(run())


def test_the_document_describes_every_route(tmp_path: Path) -> None:
    async def play(a: httpx.AsyncClient, b: httpx.AsyncClient, server: HttpServer) -> None:
        document = (await a.get("/openapi.json")).json()
        described = {(method, path) for path, methods in document["paths"].items() for method in methods}
        assert ("post", "/v1/subscriptions/{sid}/more") in described
        assert ("patch", "/v1/uploads/{upload}") in described
        assert len(described) >= 20
        references = set(json.dumps(document).split('"#/components/schemas/')[1:])
        for reference in references:
            assert reference.partition('"')[0] in document["components"]["schemas"]

    scene(play, tmp_path)
