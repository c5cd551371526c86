"""The studio as people see it: the form, the progress and the answer, in a real browser. The simulations are another
test's matter: a small program stands in for them, and plays what a study says of itself."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from browsing import BROWSER, DESK, NO_BROWSER, PHONE, Open, browse, playwright

from thyme.studio.application import studio
from thyme.studio.studies import Studies
from thyme.study.definition import load_study

axe = pytest.importorskip("axe_core_python.async_playwright", reason="axe-core-python is not installed")
needs_browser = pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)

PLAYER = """
import sys, time, pathlib
from thyme.pipeline.runs.sweep import SweepProgress
from thyme.study.definition import load_study
from thyme.study.stages import StageReport
from thyme.studio.play import Answer, ProgressLine, tell
people = load_study(pathlib.Path(sys.argv[1])).scenario["nodes"]
tell(ProgressLine(stage=StageReport("posts", "done", "4,000 posts")))
tell(ProgressLine(stage=StageReport("runs", "running")))
tell(ProgressLine(sweep=SweepProgress(total=8, done=3, running=2, left_s=60.0, share=0.4)))
if people == 13:
    sys.exit("no room on the disk")
go = pathlib.Path(sys.argv[2]).parent.parent / "go"
while not go.exists():
    time.sleep(0.05)
out = pathlib.Path(sys.argv[2])
out.mkdir(exist_ok=True)
(out / "report.html").write_text("<h1>All about it</h1><script>document.body.append('drawn')</script>")
tell(ProgressLine(stage=StageReport("runs", "done", "8 runs")))
tell(ProgressLine(answer=Answer("Phones alone can do it: use Cells.", ("100 % arrive",), ("If all walk: holds",), ())))
"""


def player(folder: Path) -> tuple[str, ...]:
    file = folder / "player.py"
    file.write_text(PLAYER)
    return (str(file),)


@needs_browser
def test_a_study_is_described_started_watched_read_and_downloaded(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with studio(tmp_path / "out", 0, player(tmp_path)) as address:
            page = await open_page(address, ready="#form")
            assert "token" not in page.url
            await page.get_by_text("This takes about").wait_for()
            await page.fill("#people", "one")
            await page.fill("#venue", "wide")
            await playwright.expect(page.locator("[data-error=people]")).to_have_text("give a whole number, such as 36")
            await playwright.expect(page.locator("[data-error=venue]")).to_contain_text("such as 200x100")
            await page.click("#start")
            assert await page.locator("#watch").is_hidden(), "nothing starts with wrong answers"
            await page.fill("#people", "12")
            await page.fill("#venue", "80x40")
            await page.get_by_text("Messages", exact=True).click()
            await page.get_by_text("No, phones alone").click()
            await page.click("#start")
            await page.get_by_text("3 of 8 runs done, 2 running, about 60 s left").wait_for()
            await page.reload()
            await page.get_by_text("3 of 8 runs done").wait_for()
            assert await page.input_value("#people") == "12"
            await no_barriers(page)
            (tmp_path / "out" / "go").touch()
            await page.get_by_role("heading", name="Phones alone can do it: use Cells.").wait_for()
            await page.frame_locator("#report").get_by_text("drawn").wait_for()
            async with page.expect_download() as downloading:
                await page.click("#download")
            saved = tmp_path / "study.toml"
            await (await downloading.value).save_as(saved)
            study = load_study(saved)
            assert study.scenario["nodes"] == 12
            assert study.scenario["venue"] == {"width_m": 80.0, "height_m": 40.0}
            assert "es" not in {one.name for one in study.approaches}
            await no_barriers(page)

    browse(play)


@needs_browser
def test_what_goes_wrong_is_said_and_a_study_can_be_stopped(tmp_path: Path) -> None:
    async def play(open_page: Open) -> None:
        async with studio(tmp_path / "out", 0, player(tmp_path)) as address:
            page = await open_page(address, PHONE, ready="#form", color_scheme="dark", reduced_motion="reduce")
            await page.fill("#people", "13")
            await page.click("#start")
            await page.get_by_text("no room on the disk").wait_for()
            await page.fill("#people", "14")
            await page.click("#start")
            await page.click("#stop")
            await page.get_by_text("Stopped.").wait_for()
            await no_barriers(page)
            stranger = await open_page(address.partition("#")[0], DESK, ready="#locked:not([hidden])")
            assert await stranger.locator("#form").is_hidden()

    browse(play)


async def no_barriers(page: Any) -> None:
    found = await axe.Axe().run(page)
    wrong = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"]) for each in wrong] == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_studio_answers_its_own_page_only(tmp_path: Path) -> None:
    async def run() -> None:
        async with studio(tmp_path, 0) as address, httpx.AsyncClient(base_url=address.partition("/#")[0]) as client:
            assert (await client.get("/")).status_code == 200
            assert (await client.get("/v1/questions")).status_code == 401
            token = {"authorization": f"Bearer {address.partition('=')[2]}"}
            assert (await client.get("/v1/questions", headers=token)).status_code == 200
            assert (await client.get("/v1/report", headers=token)).status_code == 404
            for foreign in ({"host": "evil.example"}, {"origin": "http://evil.example"}):
                assert (await client.post("/v1/stop", headers=token | foreign)).status_code in (403, 421)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("key", "answer", "said"),
    [
        ("people", "-3", "whole number"),
        ("people", "1", "from 2 to"),
        ("people", "9" * 30, "whole number"),
        ("size", "huge", "a size such as"),
        ("size", "100TB", "at most"),
        ("venue", "0x10", "positive"),
        ("venue", "nanxinf", "sides"),
        ("name", "../../etc", "letters"),
        ("name", "  ", "letters"),
        ("contents", "smells", "choose one"),
        ("priority", "", "choose one"),
    ],
)
def test_every_wrong_answer_is_refused_at_its_question(tmp_path: Path, key: str, answer: str, said: str) -> None:
    errors = Studies(tmp_path).check({key: answer}).errors
    assert set(errors) == {key}
    assert said in errors[key]
    assert "--" not in errors[key]
    assert not list(tmp_path.iterdir()), "what is checked leaves no files"
