"""The gallery behind its page: uploads are checked, and what it remembers outlives it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import httpx
import pytest
from gallery_scene import LIMITS, gallery, jpeg, node_of, post

from thyme.gallery.application import Application
from thyme.gallery.forms import NewGallery
from thyme.gallery.galleries import Galleries
from thyme.gallery.limits import DELETED_PHOTO, EVERY_PHOTO, GalleryOptions
from thyme.live.failures import RequestError
from thyme.live.link.directory import NearbyNamespace
from thyme.model.errors import InputError

PATIENCE_S = 60.0


def client_of(application: Application) -> httpx.AsyncClient:
    address, _, token = application.page.partition("/#token=")
    return httpx.AsyncClient(base_url=address, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S)


def scene(
    tmp_path: Path,
    play: Callable[[Application, httpx.AsyncClient], Awaitable[None]],
    limits: GalleryOptions = LIMITS,
) -> None:
    async def run() -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            gallery(tmp_path, limits=limits) as application,
            client_of(application) as client,
        ):
            await play(application, client)

    asyncio.run(run())


async def add(client: httpx.AsyncClient, data: bytes, name: str = "kick.jpg") -> httpx.Response:
    return await client.post("/v1/gallery/photos", params={"name": name}, content=data)


def test_a_photo_is_added_tagged_published_packed_and_deleted_after_second_thoughts(tmp_path: Path) -> None:
    async def play(_: Application, client: httpx.AsyncClient) -> None:
        photo = (await add(client, jpeg())).json()
        where = f"/v1/gallery/photos/{photo['id']}"
        assert (photo["state"], photo["name"], photo["width"]) == ("private", "kick", 640)
        assert (await client.patch(where, json={"tags": ["Goal"]})).json()["tags"] == ["goal"]
        published = (await client.post(f"{where}/publish", json={"tags": ["final"]})).json()
        assert (published["state"], published["tags"]) == ("published", ["final", "goal"])
        packed = await client.get("/v1/gallery/archive", params={"id": photo["id"]})
        assert ZipFile(BytesIO(packed.content)).namelist() == ["kick.jpg"]
        assert (await client.delete(where)).json()["state"] == "deleting"
        assert (await client.post(f"{where}/undo")).json()["state"] == "published"
        await client.delete(where)
        while (await client.get("/v1/gallery/state")).json()["photos"]:
            await asyncio.sleep(0.1)
        assert (await client.get(f"/v1/contents/{published['key']}")).status_code == 404

    scene(tmp_path, play)


def test_uploads_that_are_no_photos_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    async def play(application: Application, client: httpx.AsyncClient) -> None:
        cases = [(b"<script>alert(1)</script>", 400, "not a photo"), (jpeg()[:3_000], 400, "damaged")]
        for data, status, words in cases:
            response = await add(client, data)
            assert (response.status_code, words in response.json()["error"]["message"]) == (status, True)
        assert (await add(client, bytes(2**20 + 1))).status_code == 413

        async def unannounced() -> AsyncIterator[bytes]:
            for _ in range(20):
                yield bytes(2**16)

        assert (await client.post("/v1/gallery/photos", content=unannounced())).status_code == 413
        assert application.sessions is not None
        assert application.sessions.host.sharing.library.photos() == []
        assert list(tmp_path.rglob("*.original")) + list(tmp_path.rglob("*.plain")) == []

    scene(tmp_path, play)


def test_the_page_is_public_and_everything_else_is_not(tmp_path: Path) -> None:
    async def play(_: Application, client: httpx.AsyncClient) -> None:
        del client.headers["authorization"]
        page = await client.get("/")
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        for path in ("/sw.js", "/manifest.webmanifest", "/static/app.js", "/static/icon-192.png"):
            assert (await client.get(path)).status_code == 200
        for path in ("/v1/gallery/state", "/v1/gallery/photos/x/thumb", "/openapi.json", "/static/../__init__.py"):
            assert (await client.get(path)).status_code == 401 or path.startswith("/static")
        assert (await client.get("/static/%2e%2e/__init__.py")).status_code in (401, 404)

    scene(tmp_path, play)


def test_what_was_notified_of_can_still_be_downloaded_after_a_restart(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), gallery(tmp_path / "one", by="Bea") as one:
            at = node_of(one).address
            async with gallery(tmp_path / "two", at, subscribe="goal") as two:
                await post(node_of(one), "kick", "goal")
                await wait_for(two, "new")
            async with gallery(tmp_path / "two", at) as two, client_of(two) as client:
                state = (await client.get("/v1/gallery/state")).json()
                assert [each["query"] for each in state["subscriptions"]] == ["goal"]
                (photo,) = state["photos"]
                assert (photo["name"], photo["by"], photo["distance"]) == ("kick", "Bea", {"cells": 0, "metres": 0})
                await client.post(f"/v1/gallery/photos/{photo['id']}/download")
                await wait_for(two, "downloaded")

    asyncio.run(run())


def test_devices_have_names_where_people_gave_none(tmp_path: Path) -> None:
    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), gallery(tmp_path / "one") as one:
            node_of(one).rename("anna's phone")
            async with (
                gallery(tmp_path / "two", node_of(one).address, subscribe="goal") as two,
                client_of(two) as client,
            ):
                await post(node_of(one), "kick", "goal", by="")
                await wait_for(two, "new")
                (photo,) = (await client.get("/v1/gallery/state")).json()["photos"]
                assert photo["by"] == "anna's phone"
                status = (await client.get("/v1/gallery/status")).json()
                assert (status["name"], status["in_range"]) == (node_of(two).name, ["anna's phone"])

    asyncio.run(run())


async def wait_for(application: Application, state: str) -> None:
    assert application.sessions is not None
    while [photo.state for photo in application.sessions.host.sharing.library.photos()] != [state]:
        await asyncio.sleep(0.05)


def test_a_closed_gallery_is_another_one_with_a_wrong_passphrase(tmp_path: Path) -> None:
    closed = NewGallery(name="Wedding", passphrase="four words nobody guesses")
    wrong = NewGallery(name="Wedding", passphrase="three words nobody guesses")

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), gallery(tmp_path / "one", first=closed) as one:
            at = node_of(one).address
            async with (
                gallery(tmp_path / "guest", at, subscribe="cake", first=closed) as guest,
                gallery(tmp_path / "stranger", at, subscribe="cake", first=wrong) as stranger,
            ):
                await post(node_of(one), "cake", "cake")
                await wait_for(guest, "new")
                assert stranger.sessions is not None
                assert (stranger.sessions.host.sharing.library.photos(), node_of(stranger).device.neighbours()) == (
                    [],
                    {},
                )

    asyncio.run(run())


def test_galleries_are_remembered_and_joined_by_invitation(tmp_path: Path) -> None:
    galleries = Galleries(tmp_path)
    galleries.add(NewGallery(name="Wedding", passphrase="four words nobody guesses", width_m=200.0, height_m=100.0))
    invitation = galleries.current.invitation()
    assert [each.name for each in Galleries(tmp_path).views()] == ["Shared photos", "Wedding (200 × 100 m)"]
    assert Galleries(tmp_path).current.name == "Wedding (200 × 100 m)"
    other = Galleries(tmp_path / "other")
    other.add(NewGallery(invitation=invitation))
    assert (other.current.secret, other.current.settings) == (galleries.current.secret, galleries.current.settings)
    around = [
        NearbyNamespace("Fair (400 × 200 m)", "dcs"),
        NearbyNamespace("Walk", "ls"),
        NearbyNamespace("Wedding (200 × 100 m)", "dcs"),
    ]
    assert [each.name for each in other.views(around) if each.nearby] == ["Fair (400 × 200 m)"]
    other.add(NewGallery(name="Fair (400 × 200 m)"))
    assert other.current.settings["grid"]["width_m"] == 400.0
    with pytest.raises(InputError, match="the area is"):
        other.add(NewGallery(name="Vast (99999 × 1 m)"))
    with pytest.raises(RequestError, match="another gallery called"):
        other.add(NewGallery(name="Wedding (200 × 100 m)"))
    with pytest.raises(InputError, match="not an invitation"):
        other.add(NewGallery(invitation="thyme:nonsense"))


def guest_client(application: Application) -> httpx.AsyncClient:
    return httpx.AsyncClient(base_url=application.page.partition("/#")[0], timeout=PATIENCE_S)


async def enter(application: Application, guest: httpx.AsyncClient, name: str) -> httpx.Response:
    assert application.sessions is not None
    return await guest.post("/v1/gallery/enter", json={"key": application.sessions.key, "name": name})


async def seen(client: httpx.AsyncClient, name: str) -> dict[str, object]:
    """Wait until a session has a photo of this name."""
    while True:
        for photo in (await client.get("/v1/gallery/state")).json()["photos"]:
            if photo["name"] == name:
                return dict(photo)
        await asyncio.sleep(0.05)


async def share(client: httpx.AsyncClient, name: str, seed: int) -> dict[str, object]:
    photo = (await add(client, jpeg(seed), f"{name}.jpg")).json()
    return dict((await client.post(f"/v1/gallery/photos/{photo['id']}/publish", json={"tags": []})).json())


def test_a_guest_has_a_session_of_their_own(tmp_path: Path) -> None:
    async def play(application: Application, host: httpx.AsyncClient) -> None:
        async with guest_client(application) as bob, guest_client(application) as cem:
            assert (await bob.get("/v1/gallery/state")).status_code == 401
            assert (await bob.post("/v1/gallery/enter", json={"key": "guessed", "name": "Bob"})).status_code == 403
            assert (await enter(application, bob, "  ")).status_code == 400
            assert (await enter(application, bob, "Bob")).status_code == 204
            assert (await enter(application, cem, "Bob")).status_code == 409
            assert (await enter(application, cem, "Cem")).status_code == 204
            await host.post("/v1/gallery/subscriptions", json={"query": "photo"})
            private = (await add(host, jpeg(1), "secret.jpg")).json()
            await share(host, "cake", 2)
            cake = await seen(bob, "cake")
            assert (cake["state"], cake["by"], cake["own"]) == ("new", "Ana", False)
            for path in (f"photos/{private['id']}/view", f"photos/{private['id']}/original"):
                assert (await bob.get(f"/v1/gallery/{path}")).status_code == 404
            assert (await bob.delete(f"/v1/gallery/photos/{private['id']}")).status_code == 404
            for method, path in (
                ("GET", "/v1/gallery/guests"), ("GET", "/v1/gallery/status"), ("GET", "/v1/gallery/galleries"),
                ("POST", "/v1/gallery/switch"), ("POST", "/v1/gallery/place"), ("GET", "/v1/status"),
                ("GET", "/v1/objects"), ("GET", "/v1/events"), ("GET", "/v1/subscriptions"), ("POST", "/v1/session"),
            ):  # fmt: skip
                assert (await bob.request(method, path)).status_code == 403, path
            assert (await bob.get("/v1/gallery/invitation")).json()["gallery"] is None
            await share(bob, "dance", 3)
            for client in (host, cem):
                dance = await seen(client, "dance")
                assert (dance["by"], dance["own"]) == ("Bob, guest of Ana", False)
                assert (await client.delete(f"/v1/gallery/photos/{dance['id']}")).status_code == 409
            await bob.put("/v1/gallery/me", json={"by": "Bobby"})
            me = (await host.get("/v1/gallery/state")).json()["me"]
            assert (me["by"], me["guest_of"]) == ("Ana", None)
            assert {one["name"] for one in (await host.get("/v1/gallery/guests")).json()} == {"Bobby", "Cem"}

    scene(tmp_path, play)


def test_guests_survive_a_restart_until_the_host_removes_them(tmp_path: Path) -> None:
    async def run() -> None:
        async with gallery(tmp_path) as first, guest_client(first) as bob:
            await enter(first, bob, "Bob")
            await share(bob, "dance", 3)
            secret = next(iter(bob.cookies.jar)).value
        async with gallery(tmp_path) as again, client_of(again) as host, guest_client(again) as bob:
            port = again.page.partition("/#")[0].rpartition(":")[2]
            bob.cookies.set(f"thyme-guest-{port}", secret or "")
            state = (await bob.get("/v1/gallery/state")).json()
            assert (state["me"]["by"], [photo["name"] for photo in state["photos"]]) == ("Bob", ["dance"])
            assert [one["query"] for one in state["subscriptions"]] == ["photo"]
            assert (await host.get("/v1/gallery/state")).json()["subscriptions"] == []
            assert again.sessions is not None
            old_key = again.sessions.key
            guest = (await host.get("/v1/gallery/guests")).json()[0]
            assert (guest["name"], guest["published"]) == ("Bob", 1)
            assert (await host.delete(f"/v1/gallery/guests/{guest['id']}")).status_code == 204
            assert (await bob.get("/v1/gallery/state")).status_code == 401
            refused = await bob.post("/v1/gallery/enter", json={"key": old_key, "name": "Bob"})
            assert "ask the host for a new code" in refused.json()["error"]["message"]
            await host.post("/v1/gallery/subscriptions", json={"query": "photo"})
            assert (await seen(host, "dance"))["by"] == "Bob, guest of Ana", "published photos stay"

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_a_deleted_photo_disappears_where_it_was_offered(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            gallery(tmp_path / "one") as one,
            gallery(tmp_path / "two", node_of(one).address, by="Bea", subscribe="photo") as two,
            client_of(one) as ana,
            client_of(two) as bea,
            guest_client(one) as cem,
        ):
            await enter(one, cem, "Cem")
            published = await share(ana, "cake", 2)
            await seen(cem, "cake")
            offered = await seen(bea, "cake")
            await ana.delete(f"/v1/gallery/photos/{published['id']}")
            for other in (cem, bea):  # at once, on the same device and on another one
                while (await other.get("/v1/gallery/state")).json()["photos"]:
                    await asyncio.sleep(0.05)
            assert (await bea.get(f"/v1/gallery/photos/{offered['id']}/thumb")).status_code == 404
            assert [one["query"] for one in (await bea.get("/v1/gallery/subscriptions")).json()] == ["photo"]


def test_only_the_owner_of_a_photo_is_believed_to_have_deleted_it(tmp_path: Path) -> None:
    async def run() -> None:
        async with (
            gallery(tmp_path / "one") as one,
            gallery(tmp_path / "two", node_of(one).address, by="Bea", subscribe="photo") as two,
            client_of(one) as ana,
            client_of(two) as bea,
        ):
            await share(ana, "cake", 2)
            cake = await seen(bea, "cake")
            await node_of(two).insert("lie", b"", [DELETED_PHOTO], str(cake["key"]).encode())
            await node_of(two).insert("last", b"", [EVERY_PHOTO], b"last")
            await seen(bea, "last")
            assert (await seen(bea, "cake"))["state"] == "new"
            await node_of(one).delete(str(cake["key"]).partition("@")[0])  # not by a gallery, so nobody is told
            await bea.post(f"/v1/gallery/photos/{cake['id']}/download")
            while len((await bea.get("/v1/gallery/state")).json()["photos"]) > 1:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_what_guests_take_on_the_hosts_disk_is_bounded(tmp_path: Path) -> None:
    async def play(application: Application, _: httpx.AsyncClient) -> None:
        assert application.sessions is not None
        async with guest_client(application) as bob:
            await enter(application, bob, "Bob")
            answers = [(await add(bob, jpeg(seed))).status_code for seed in range(5)]
            assert answers == [201, 201, 201, 413, 413]

    limits = GalleryOptions(undo_s=1.5, photo_bytes=2**20, guest_bytes=200_000)
    scene(tmp_path, play, limits)
