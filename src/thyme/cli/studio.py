"""`thyme studio`: plan and run a study in the browser."""

from __future__ import annotations

import asyncio
import signal
import webbrowser
from pathlib import Path
from typing import Annotated

import typer


def studio(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for studies and results.")] = Path(
        "out/studio"
    ),
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port of the page; 0: a free one.")] = 0,
    open_page: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Plan an event in the browser: describe it, run the study, read which approach fits.

    The page is for this machine only. Stop with Ctrl-C; a study that is interrupted continues from there next time.
    """
    asyncio.run(_run(out, port, open_page))


async def _run(out: Path, port: int, open_page: bool) -> None:
    from thyme.studio.application import studio as served_studio

    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    async with served_studio(out, port) as page:
        print(f"Thyme studio: open {page}\nStudies are kept in {out}. Ctrl-C ends it.", flush=True)
        if open_page:
            webbrowser.open(page)
        await ended.wait()
