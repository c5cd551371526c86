"""Pieces of HTML: text is escaped once, here, and tables carry what they need to become cards on a phone."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from thyme.study.figures.pictures import Picture

SORTING = """\
for (const head of document.querySelectorAll("th")) {
  head.title = "sort by this"; head.tabIndex = 0;
  head.onkeydown = event => { if (event.key === "Enter") head.click(); };
  head.onclick = () => {
    const body = head.closest("table").tBodies[0], at = head.cellIndex, down = head.ariaSort === "ascending" ? -1 : 1;
    const key = row => row.cells[at].dataset.rank ?? row.cells[at].innerText.trim();
    const order = (a, b) => down * (isNaN(key(a) - key(b)) ? key(a).localeCompare(key(b)) : key(a) - key(b));
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.ariaSort = down > 0 ? "ascending" : "descending";
    body.append(...[...body.rows].sort(order));
  };
}
"""
"""A click on a column's head sorts its table; the page is whole without it."""


def prose(text: str) -> str:
    """Text for people: escaped, with names such as Thyme-LS on one line, however narrow the page, and what stands
    between backticks as something to type."""
    named = re.sub(r"\bThyme-\w+", r'<span class="name">\g<0></span>', escape(text))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", named)


class Cell(msgspec.Struct, frozen=True):
    """A table's cell: text, or ready HTML."""

    text: str
    numeric: bool = False
    html: str = ""
    rank: float | None = None
    """What a sorted table goes by, if not by its text."""

    def render(self, label: str) -> str:
        kind = ' class="number"' if self.numeric else ""
        rank = "" if self.rank is None else f' data-rank="{self.rank:.9g}"'
        return f'<td{kind}{rank} data-label="{escape(label)}"><span>{self.html or prose(self.text)}</span></td>'


class Row(msgspec.Struct, frozen=True):
    cells: tuple[Cell, ...]
    chosen: bool = False


def table(headers: Sequence[str], rows: Iterable[Row]) -> str:
    listed = list(rows)
    numeric = [cell.numeric for cell in listed[0].cells] if listed else [False] * len(headers)
    head = "".join(
        f'<th scope="col"{" class=number" if is_number else ""}>{escape(header)}</th>'
        for header, is_number in zip(headers, numeric, strict=True)
    )
    body = "".join(
        f"<tr{' class=chosen' if row.chosen else ''}>"
        + "".join(cell.render(header) for header, cell in zip(headers, row.cells, strict=True))
        + "</tr>\n"
        for row in listed
    )
    return f'<table class="stack"><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>'


def badge(text: str, kind: str) -> str:
    """A short verdict; `kind` is best, good, fair or bad."""
    return f'<span class="badge {kind}">{escape(text)}</span>'


def section(title: str, body: str, lead: str = "") -> str:
    told = f'<p class="lead">{escape(lead)}</p>' if lead else ""
    return f"<section>\n<h2>{escape(title)}</h2>{told}\n{body}\n</section>\n"


def items(texts: Iterable[str], tag: str = "ul", kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f"<{tag}{attribute}>" + "".join(f"<li>{prose(text)}</li>" for text in texts) + f"</{tag}>"


def figure(picture: Picture) -> str:
    """A picture with its title and caption, which tells its numbers where somebody points at them."""
    data = base64.b64encode(picture.svg).decode()
    title = escape(picture.title)
    marks = "".join(
        f'<b style="left:{one.left:.2%};top:{one.top:.2%};width:{one.width:.2%};height:{one.height:.2%}" '
        f'data-told="{escape(one.told)}"{" class=right" if one.left + one.width / 2 > 0.5 else ""}></b>'
        for one in picture.marks
    )
    kind = ' class="wide"' if picture.wide else ""
    return (
        f'<figure{kind}><h3>{title}</h3><div class="plot"><img alt="{title}" src="data:image/svg+xml;base64,{data}">'
        f"{marks}</div><figcaption>{escape(picture.caption)}</figcaption></figure>\n"
    )


def folded(summary: str, text: str) -> str:
    return f"<details><summary>{escape(summary)}</summary><pre><code>{escape(text)}</code></pre></details>\n"


def page(title: str, css: str, masthead: str, body: str, footer: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{css}</style>\n</head>\n<body>\n"
        f'<header class="masthead"><div>{masthead}</div></header>\n<main>\n{body}</main>\n'
        f"<footer>{footer}</footer>\n<script>\n{SORTING}</script>\n</body>\n</html>\n"
    )
