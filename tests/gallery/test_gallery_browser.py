"""The gallery as people see it: real pages in a real browser, on nodes that hear each other over loopback."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, DESK, NO_BROWSER, PATIENCE_S, PHONE, WAIT_MS, Open, browse, pages, playwright
from gallery_scene import gallery, holds, jpeg, node_of, post
from networks import network, refusal

import thyme.gallery
from thyme.approaches.interface import Failure
from thyme.gallery.application import Application
from thyme.gallery.cards import card_bytes
from thyme.gallery.forms import NewGallery

axe = pytest.importorskip("axe_core_python.async_playwright", reason="axe-core-python is not installed")
pytestmark = pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)


async def subscribe(page: Any, query: str, frame: str = "always") -> None:
    await page.click("[data-name=bell]")
    await page.fill("[data-name=query]", query)
    await page.check(f"input[value={frame}]", force=True)
    await page.click("[data-name=subscribe]:enabled")
    await page.wait_for_selector(".subscription [data-name=unsubscribe]")
    await page.keyboard.press("Escape")


async def publish(page: Any, data: bytes, name: str, tag: str) -> None:
    """From the tab of private photos, with a tag."""
    await page.evaluate("location.hash = 'private'")
    await page.wait_for_selector("a[data-tab=private][aria-current]")
    file = {"name": f"{name}.jpg", "mimeType": "image/jpeg", "buffer": data}
    await page.set_input_files("input[data-name=files]", file)
    await page.click(".tile [data-name=publish]")
    await page.fill("[data-name=tags]", tag)
    await page.click("[data-name=publish-now]")
    await page.wait_for_selector("dialog", state="detached")


def tile(page: Any, name: str) -> Any:
    return page.locator(".tile", has=page.get_by_text(name, exact=True))


def test_a_photo_goes_from_one_to_the_other_and_outlives_its_publisher(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with (
            gallery(tmp_path / "two", by="Bea") as two,
            own_process_beside(tmp_path / "one", node_of(two).address) as (process, address),
        ):
            one = await open_page(address)
            second = await open_page(two.page)
            await subscribe(second, "goal & !replay", "future")
            await publish(one, jpeg(7), "kick", "goal")
            await tile(second, "kick").locator("[data-name=download]").click()
            await tiles(second, 0)
            await second.click("a[data-tab=downloads]")
            shown = tile(second, "kick").locator("img")
            await shown.wait_for()
            assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 480
            os.kill(process.pid, signal.SIGKILL)
            await process.wait()
            async with gallery(tmp_path / "three", node_of(two).address, by="Cem") as three:
                third = await open_page(three.page)
                await subscribe(third, "goal", "past")
                await tile(third, "kick").locator("[data-name=download]").click()
                await third.click("a[data-tab=downloads]")
                await tile(third, "kick").wait_for()

    browse(play)


async def tiles(page: Any, count: int) -> None:
    """Wait until there are so many in this tab; those out of sight are counted and not drawn."""
    here = page.locator("a[aria-current] .count")
    await playwright.expect(here).to_have_text(str(count or ""), timeout=WAIT_MS)


@asynccontextmanager
async def own_process_beside(folder: Path, peer: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """A gallery in a process of its own, which can be killed, and its page."""
    command = "from thyme.cli.main import run; run()"
    arguments = ("gallery", "--port", "0", "--name", "Test", "--listen", "127.0.0.1:0", "--peer", peer)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", command, *arguments, "--by", "Ana", "--at", "10,10", "--folder", str(folder)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        found = re.search(r"open (\S+)", line)
        assert found is not None, line
        yield process, found[1]
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


def test_photos_are_postponed_dismissed_asked_for_unsubscribed_and_deleted(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with gallery(tmp_path / "one", by="Ana") as one:
            for i in range(30):
                await post(node_of(one), f"photo {i}", "goal", seed=i)
            async with gallery(tmp_path / "two", node_of(one).address, by="Bea") as two:
                await holds(node_of(two), 30)
                page = await open_page(two.page)
                await subscribe(page, "goal", "past")
                await tiles(page, 24)
                await page.click("[data-name=bell]")
                row = page.locator(".subscription")
                await row.get_by_text("24 of 30 shown").wait_for()
                await row.locator("[data-name=more]").click()
                await row.get_by_text("30 shown").wait_for()
                await row.locator("[data-name=unsubscribe]").click()
                await page.get_by_text("You are not subscribed to anything.").wait_for()
                await page.keyboard.press("Escape")
                await tiles(page, 30)
                await tile(page, "photo 29").locator("[data-name=later]").click()
                await page.wait_for_selector(".tile.later")
                await tile(page, "photo 28").locator("[data-name=dismiss]").click()
                await tiles(page, 29)
                await page.fill("[data-name=search]", "photo 29")
                await playwright.expect(page.locator(".tile")).to_have_count(1)
                await delete_with_second_thoughts(page)

    browse(play)


async def delete_with_second_thoughts(page: Any) -> None:
    await page.fill("[data-name=search]", "")
    await page.click("a[data-tab=private]")
    await publish(page, jpeg(3), "mine", "goal")
    await page.click("a[data-tab=publications]")
    for undone in (True, False):
        await page.click(".tile .open")
        await page.keyboard.press("ArrowRight")
        await page.click(".viewer [data-name=delete]")
        await page.get_by_text("Copies that people have downloaded remain with them.").wait_for()
        await page.click("[data-name=delete-now]")
        await page.wait_for_selector("[data-name=sure]", state="detached")
        await page.keyboard.press("Escape")
        if undone:
            await page.click(".tile.deleting [data-name=undo]")
            await page.wait_for_selector(".tile.published")
        else:
            await page.wait_for_selector(".tile.deleting")
            await page.wait_for_selector(".tile", state="detached")


def test_what_others_wrote_never_becomes_markup(tmp_path: Path) -> None:
    evil = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"

    async def play(open_page: Open) -> None:
        async with gallery(tmp_path / "one") as one:
            node = node_of(one)
            await node.insert(
                f"{evil}1", b"<script>window.hit=1</script>", [evil, "goal"], card_bytes(evil, evil, 1, 1, b"<svg>")
            )
            await node.insert(f"{evil}2", b"no photo", ["goal"], evil.encode())
            async with gallery(tmp_path / "two", node.address, by=evil) as two:
                page = await open_page(two.page)
                await subscribe(page, "goal")
                await tiles(page, 2)
                await page.click(".tile .open")
                await page.wait_for_selector(".viewer h2")
                await page.keyboard.press("Escape")
                await page.click("[data-name=bell]")
                await page.fill("[data-name=query]", f'"{evil}" & (')
                await page.wait_for_selector(".explained.error")
                await page.keyboard.press("Escape")
                await page.locator(".tile [data-name=download]").first.click()
                await page.wait_for_selector(".tile.failed .error")
                assert "not a photo" in await page.inner_text(".tile.failed .error")
                await page.evaluate("location.hash = 'map'")
                await page.wait_for_selector(".cells")
                assert await page.evaluate("[window.hit, document.querySelectorAll('img[src=x]').length]") == [None, 0]

    browse(play)


@pytest.mark.parametrize("right", [True, False], ids=["right", "wrong"])
def test_a_closed_gallery_is_entered_with_the_right_passphrase_only(tmp_path: Path, right: bool) -> None:
    closed = NewGallery(name="Wedding", passphrase="four words nobody guesses")

    async def play(open_page: Open) -> None:
        async with (
            gallery(tmp_path / "host", first=closed) as host,
            gallery(tmp_path / "guest", node_of(host).address) as guest,
        ):
            await post(node_of(host), "cake", "cake")
            page = await open_page(guest.page)
            await page.click("[data-name=galleries]")
            await page.fill("#new-name", closed.name)
            await page.fill("#new-passphrase", closed.passphrase if right else "three words nobody guesses")
            await page.click("[data-name=go]")
            await page.locator(".gallery-name", has_text=closed.name).wait_for()
            await subscribe(page, "cake")
            await page.locator("[data-name=people]", has_text="One device" if right else "Nobody").wait_for()
            await tiles(page, 1 if right else 0)
            announced = node_of(host).device.host.link.discovery.directory.announcement()
            assert node_of(guest).device.host.link.discovery.directory.receive(announced), "as multicast carries it"
            await page.reload()
            await page.wait_for_selector("[data-name=people].some" if right else ".banner.bad")
            warning = page.get_by_text("a gallery of this name with another passphrase")
            assert await warning.count() == (0 if right else 1)

    browse(play)


def guest_page(application: Application) -> str:
    assert application.sessions is not None
    return f"{application.page.partition('#')[0]}#guest={application.sessions.key}"


async def enter(open_page: Open, address: str, name: str) -> Any:
    """The page of a guest who scanned the code, and who is then called so."""
    return await name_oneself(await open_page(address, PHONE, ready="[data-name=guest]"), name)


async def name_oneself(page: Any, name: str) -> Any:
    await page.fill("[data-name=guest]", name)
    await page.click("[data-name=enter]")
    await page.wait_for_selector(".tabs")
    return page


def photo_file(seed: int, name: str) -> dict[str, Any]:
    return {"name": f"{name}.jpg", "mimeType": "image/jpeg", "buffer": jpeg(seed)}


def test_a_host_and_two_guests_share_photos_and_nothing_else(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with gallery(tmp_path, subscribe="photo") as application:
            host = await open_page(application.page)
            await publish(host, jpeg(1), "cake", "cake")
            await host.evaluate("location.hash = 'private'")
            await host.set_input_files("input[data-name=files]", photo_file(2, "secret"))
            await tile(host, "secret").wait_for()
            bob, cem = [await enter(open_page, guest_page(application), name) for name in ("Bob", "Cem")]
            await bob.get_by_text("You are here as a guest of Ana.").wait_for()
            for guest in (bob, cem):
                await tile(guest, "cake").wait_for()
                assert await guest.locator(".bar [data-name=status]").count() == 0
            await bob.set_input_files("input[data-name=files]", photo_file(3, "dance"))
            await bob.get_by_text("One photo shared with everybody").wait_for()
            await host.evaluate("location.hash = 'available'")
            for page in (host, cem):
                await tile(page, "dance").get_by_text("Bob, guest of Ana").wait_for()
                assert await tile(page, "secret").count() == 0
            await bob.reload()
            await bob.click("a[data-tab=publications]")
            await tile(bob, "dance").locator(".open").click()
            await bob.click(".viewer [data-name=delete]")
            await bob.click("[data-name=delete-now]")
            await cem.get_by_text("Bob, guest of Ana deleted “dance”").wait_for()
            await tiles(cem, 1)
            await host.click("[data-name=profile]")
            await host.locator("[data-name=guests] .subscription", has_text="Cem").get_by_text("Remove").click()
            await cem.get_by_text("This page needs its key").or_(cem.locator("[data-name=guest]")).first.wait_for()
            await host.locator("[data-name=guests]", has_text="Bob").wait_for()

    browse(play)


@pytest.mark.long
@pytest.mark.skipif(bool(refusal()), reason=refusal() or "-")
@pytest.mark.parametrize("https", [False, True], ids=["http", "https"])
def test_a_host_and_two_phones_on_three_machines_share_photos(tmp_path: Path, https: bool) -> None:
    """Each in a network namespace of its own, so that no page is of the browser's own machine."""

    def browser_in(machine: str) -> str:
        program = tmp_path / f"browser-{machine}"
        program.write_text(f'#!/bin/sh\nexec ip netns exec {machine} {BROWSER} "$@"\n')
        program.chmod(0o700)
        return str(program)

    async def run(host: str, *machines: str) -> None:
        async with (
            asyncio.timeout(PATIENCE_S),
            shared_gallery(tmp_path, host, *(["--https"] if https else [])) as address,
            pages(browser_in(machines[0])) as on_one,
            pages(browser_in(machines[1])) as on_other,
        ):
            assert address.startswith("http://10.77.0.1:")
            bob = await enter_from_afar(on_one, address, "Bob", https)
            cem = await enter_from_afar(on_other, address, "Cem", https)
            await bob.set_input_files("input[data-name=files]", photo_file(3, "dance"))
            await tile(cem, "dance").get_by_text("Bob, guest of Ana").wait_for()
            await tile(cem, "dance").locator("[data-name=download]").click()
            async with cem.expect_download() as saving:
                await cem.get_by_text("Save file").click()
            assert (await saving.value).suggested_filename == "dance.jpg"
            await cem.click("[data-name=invite]")
            await cem.click("[data-name=copy]")
            await cem.get_by_text("Copied", exact=True).wait_for()
            refused = await cem.evaluate("fetch('/v1/objects').then((answer) => answer.status)")
            assert (refused, await cem.evaluate("window.isSecureContext")) == (403, https)
            if https:
                assert all(each["secure"] for each in await cem.context.cookies())

    with network(3) as machines:
        asyncio.run(run(*machines))


async def enter_from_afar(open_page: Open, address: str, name: str, https: bool) -> Any:
    """The guest who scanned the code; over https, somebody who reads why the browser warns and goes on."""
    if not https:
        return await enter(open_page, address, name)
    page = await open_page(address, PHONE, ready="[data-name=continue]", ignore_https_errors=True)
    assert not await page.evaluate("window.isSecureContext")
    refused = await page.evaluate("fetch('/v1/gallery/state').then((answer) => answer.status)")
    assert refused == 404, "over http there is nothing else"
    await page.click("[data-name=continue]")
    return await name_oneself(page, name)


@asynccontextmanager
async def shared_gallery(folder: Path, host: str, *options: str) -> AsyncIterator[str]:
    """A gallery in a process of its own on a network of its own, and the address that guests scan there."""
    command = "from thyme.cli.main import run; run()"
    process = await asyncio.create_subprocess_exec(
        *("ip", "netns", "exec", host, sys.executable, "-c", command, "gallery", "--share", "--port", "0"),
        *("--name", "Test", "--by", "Ana", "--folder", str(folder / "host"), *options),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async for line in process.stdout:
            if found := re.search(r"Guests on this network: scan, or open (\S+)", line.decode()):
                yield found[1]
                break
    finally:
        process.kill()
        await process.wait()
        process._transport.close()  # type: ignore[attr-defined]


SCREENS = ("private", "publications", "downloads", "available", "map", "status")
DIALOGS = ("bell", "invite", "galleries", "profile")
ON_A_PHONE = ("available", "bell", "viewer")
"""Screens whose parts are others on a phone; of the rest only the width is looked at there."""


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")], ids=["desk", "phone"])
def test_every_screen_is_usable_by_everybody(tmp_path: Path, size: dict[str, int], scheme: str) -> None:
    async def play(open_page: Open) -> None:
        async with gallery(tmp_path / "one", subscribe="goal") as one:
            page = await open_page(
                one.page, size, color_scheme=scheme, has_touch=size is PHONE, reduced_motion="reduce"
            )
            async with gallery(tmp_path / "two", node_of(one).address) as two:
                for i in range(3):
                    await post(node_of(two), f"photo {i}", "goal", seed=i)
                await tiles(page, 3)
                await page.locator(".tile [data-name=download]").first.click()
                await tiles(page, 2)
                await look_at_all(page, one, size)

    browse(play)


async def look_at_all(page: Any, application: Application, size: dict[str, int]) -> None:
    findings: list[str] = []

    async def look(where: str) -> None:
        if size is DESK or where in ON_A_PHONE:
            found = await axe.Axe().run(page)
            findings.extend(
                f"{where}: {each['id']} {each['nodes'][0]['html'][:160]}"
                for each in found["violations"]
                if each["impact"] in ("serious", "critical")
            )
        wide = await page.evaluate("document.documentElement.scrollWidth")
        if wide > size["width"]:
            findings.append(f"{where}: {wide} px wide")

    await publish(page, jpeg(5), "mine", "goal")
    for screen in SCREENS:
        await page.evaluate(f"location.hash = '{screen}'")
        await page.wait_for_timeout(150)
        await look(screen)
    await page.evaluate("location.hash = 'available'")
    for name in DIALOGS:
        await page.click(f".bar [data-name={name}]")
        await page.wait_for_selector("dialog[open]")
        await look(name)
        await page.keyboard.press("Escape")
        await page.wait_for_selector("dialog", state="detached")
    await page.click(".tile .open")
    await page.wait_for_selector(".viewer .places svg")
    await look("viewer")
    assert findings == []


def errors_of(room: Path) -> list[str]:
    """What the code of a room may say of errors, with a number wherever it puts a value."""
    found = []
    for file in room.glob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                text = call.args[-1]
                prefix = {"InputError": "", "Fault": "", "not_found": "there is no "}.get(call.func.id)
                if prefix is not None and isinstance(text, ast.JoinedStr | ast.Constant):
                    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                    said = "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in parts)
                    found.append(prefix + said)
    return found


NODE_SAYS = {"pt": "O nó diz, em inglês: ", "es": "El nodo dice, en inglés: ", "fr": "Le nœud dit, en anglais : "}


@pytest.mark.parametrize("language", NODE_SAYS)
def test_what_the_node_says_of_errors_is_said_in_the_readers_language(tmp_path: Path, language: str) -> None:
    room = Path(thyme.gallery.__file__).parent
    sentences = [one for one in errors_of(room) if "newer version" not in one]
    assert len(sentences) > 12
    assert "give the gallery a name" in sentences
    failures = [f"retrieve failed: {failure.value}" for failure in Failure if failure is not Failure.NONE]

    async def play(open_page: Open) -> None:
        async with gallery(tmp_path) as one:
            page = await open_page(f"{one.page.replace('/#', f'/?lang={language}#')}")
            told = await page.evaluate(
                """async (sentences) => {
                    const { told } = await import("/static/words.js");
                    return sentences.map((each) => [each, told(each)]);
                }""",
                [*sentences, *failures, "no such sentence"],
            )
            *known, unknown = [words for _, words in told]
            assert unknown == f"{NODE_SAYS[language]}no such sentence"
            assert [each for each, words in told[:-1] if words == each or words.startswith(NODE_SAYS[language])] == []
            assert len(known) == len(sentences) + len(failures)

    browse(play)


def test_all_languages_have_every_message(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with gallery(tmp_path) as one:
            page = await open_page(f"{one.page.replace('/#', '/?lang=pt#')}")
            assert await page.inner_text("a[data-tab=available] .word") == "Disponíveis"
            missing = await page.evaluate(
                """async () => {
                    const { messages } = await import("/static/messages.js");
                    const holes = (text) => [...text.matchAll(/\\{\\w+\\}/g)].map(String).sort().join();
                    const keys = new Set(Object.values(messages).flatMap(Object.keys));
                    const { en } = messages;
                    const wrong = (words, key) => !(key in words && key in en) || holes(words[key]) !== holes(en[key]);
                    return Object.entries(messages).flatMap(([language, words]) =>
                        [...keys].filter((key) => wrong(words, key)).map((key) => `${language} ${key}`));
                }"""
            )
            assert missing == []

    browse(play)
