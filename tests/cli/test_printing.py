"""Text from others never reaches a terminal as it is: names, summaries, errors and warnings may hold control codes."""

from __future__ import annotations

import io
import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thyme.cli.main import errors_in_one_line, warn_in_one_line
from thyme.cli.verbs import bar
from thyme.model.errors import InputError
from thyme.model.terminal import printable

EVIL = "\x1b]0;PWNED\x07\x1b[31mred\r\nfake line\x9b5m\u202e"


@given(st.text())
def test_what_is_printed_holds_no_control_codes_and_keeps_its_length(text: str) -> None:
    assert printable(text).isprintable()
    assert len(printable(text)) == len(text)


def test_an_error_that_names_an_object_of_others_is_one_harmless_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), errors_in_one_line("thyme"):
        raise InputError(f"several objects are called {EVIL}")
    said = capsys.readouterr().err
    assert said.endswith("\n")
    assert said[:-1].isprintable()


def test_a_warning_of_a_node_is_one_harmless_line() -> None:
    out = io.StringIO()
    handler = warn_in_one_line(out)
    try:
        logging.getLogger("thyme.live").warning("node %d runs %s", 1, EVIL)
    finally:
        logging.getLogger().removeHandler(handler)
    assert out.getvalue()[:-1].isprintable()


def test_progress_shows_a_harmless_name(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(out, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", out)
    draw = bar("get", EVIL)
    assert draw is not None
    monkeypatch.setattr("thyme.cli.verbs.SHOW_S", -1.0)
    draw(1, 2)
    assert out.getvalue().removeprefix("\r").removesuffix("\x1b[K").isprintable()
