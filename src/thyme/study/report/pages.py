"""The templates of reports, and the tables that they show: text is escaped by the templates, never here."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from thyme import __version__
from thyme.approaches.registry import with_plain_names


class TableCell(msgspec.Struct, frozen=True):
    """A cell of a table."""

    text: str
    numeric: bool = False
    kind: str = ""
    """A badge (best, good, fair, bad or plain), or an error message; plain text if empty."""
    spread: str = ""
    """The interval of a number, below it."""
    rank: float | None = None
    """What the column is sorted by, if not by its text."""


class TableRow(msgspec.Struct, frozen=True):
    cells: tuple[TableCell, ...]
    chosen: bool = False


class Table(msgspec.Struct, frozen=True):
    """A table with the title and the first sentence of its section."""

    title: str
    headers: Sequence[str] = ()
    rows: Sequence[TableRow] = ()
    lead: str = ""


def prose(text: str) -> Markup:
    """Escaped text in which approaches have their plain names too, on one line, and `code` in backticks is marked."""
    named = re.sub(r"\w+ \(Thyme-\w+\)", r'<span class="name">\g<0></span>', str(escape(with_plain_names(text))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", named))


def render_page(template: str, **context: Any) -> str:
    """A whole page that needs no other file."""
    return _templates().get_template(template).render(version=__version__, **context)


def _templates() -> Environment:
    found = Environment(
        loader=PackageLoader("thyme.study", "report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters |= {"prose": prose, "base64": _base64}
    found.globals["zip"] = zip
    return found


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
