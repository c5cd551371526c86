"""The documentation site: it builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from browsing import BROWSER, NO_BROWSER, PHONE, browse
from build_site import DOCS, run_zensical, write_sources

LOADED = re.compile(r'(?:<(?:script|img|source|iframe)[^>]*? src(?:set)?|<link[^>]*? href)="?(https?://[^"> ]+)')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("docs")
    write_sources(out)
    assert run_zensical(out) == ""
    return out / "site"


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    assert not [(page.name, url) for page in pages for url in LOADED.findall(page.read_text("utf-8"))]


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
def test_the_search_works_in_pages_opened_as_files(site: Path) -> None:
    async def play(open_page: Any) -> None:
        page = await open_page((site / "tutorials" / "study.html").as_uri(), ready=".md-search__button")
        await page.click(".md-search__button")
        await page.fill('input[aria-label="Search"]', "partitions")
        await page.get_by_role("option", name="Partitions").first.click()
        await page.wait_for_url("**/reference/link.html*#partitions")

    browse(play)


@pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER)
@pytest.mark.parametrize("part", ["tutorials", "guides", "reference", "explanation", "lab"])
def test_no_page_is_wider_than_a_phone(site: Path, part: str) -> None:
    """Wide tables and programs scroll by themselves."""
    wide = []

    async def visit(open_page: Any) -> None:
        page = await open_page((site / "index.html").as_uri(), size=PHONE, ready="h1")
        for file in sorted((site / part).rglob("*.html")):
            await page.goto(file.as_uri())
            if await page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append(file.name)

    browse(visit)
    assert wide == []


@pytest.mark.parametrize("broken", ["[gone](gone.md)", "[gone](index.md#gone)"])
def test_a_link_that_leads_nowhere_fails(broken: str, tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("site_name: Thyme\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Thyme\n\n{broken}\n")
    assert "does not exist" in run_zensical(tmp_path)


def test_every_key_of_the_reference_has_a_meaning(site: Path) -> None:
    pages = [site.parent / "docs" / "reference" / f"{name}.md" for name in ("settings", "scenarios", "studies")]
    keys = [row for page in pages for row in re.findall(r"^\| `.*\|$", page.read_text("utf-8"), re.MULTILINE)]
    assert len(keys) > 300
    assert [key for key in keys if re.search(r"\|\s*\|$", key)] == []


MOST_WORDS = 40_000


def test_the_documentation_is_short() -> None:
    """Reference that is built from the code, the lab and the changelog do not count."""
    pages = [page for page in DOCS.rglob("*.md") if "lab" not in page.parts]
    pages += [DOCS.parent / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    assert sum(len(page.read_text("utf-8").split()) for page in pages) <= MOST_WORDS


def test_every_page_of_the_lab_has_a_date() -> None:
    undated = [
        page.name for page in (DOCS / "lab").glob("*.md") if not re.search(r"20\d\d-\d\d-\d\d", page.read_text())
    ]
    assert undated == ["index.md"]


def test_every_figure_is_shown_on_a_page(site: Path) -> None:
    shown = "".join(
        page.read_text("utf-8") for page in [*(site.parent / "docs").rglob("*.md"), DOCS.parent / "README.md"]
    )
    assert [figure.name for figure in (DOCS / "figures").iterdir() if figure.name not in shown] == []
