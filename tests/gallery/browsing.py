"""A browser for tests: windows on real pages, whose errors fail the test."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
BROWSER = next((found for name in BROWSERS if (found := shutil.which(name))), None)
NO_BROWSER = f"no browser on the PATH ({', '.join(BROWSERS)})"

PATIENCE_S = 90.0
WAIT_MS = 20_000
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
ARGS = ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-gpu"]
Open = Callable[..., Awaitable[Any]]


def browse(play: Callable[[Open], Awaitable[None]]) -> None:
    """Run a scene with a browser; `open_page(application)` opens its page in a window of its own."""

    async def run() -> None:
        async with asyncio.timeout(PATIENCE_S), pages() as open_page:
            await play(open_page)

    asyncio.run(run())


@asynccontextmanager
async def pages(program: str | None = BROWSER) -> AsyncIterator[Open]:
    async with playwright.async_playwright() as started:
        browser = await started.chromium.launch(executable_path=program, args=ARGS)
        complaints: list[str] = []

        async def open_page(address: str, size: dict[str, int] = DESK, ready: str = ".tabs", **more: Any) -> Any:
            context = await browser.new_context(viewport=size, locale="en-GB", **more)
            context.set_default_timeout(WAIT_MS)
            page = await context.new_page()
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda said: complaints.append(said.text) if "Security Policy" in said.text else None)
            await page.goto(address)
            await page.wait_for_selector(ready)
            return page

        yield open_page
        assert complaints == [], "the pages have no errors and break no policy"
        await browser.close()
