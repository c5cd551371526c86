"""The command language of a live node: one line, one command.

Words are split as in a shell, so a query or a text with spaces stands in quotes.
"""

from __future__ import annotations

import argparse
import shlex
from typing import NoReturn

from thyme.model.errors import InputError

MAX_COMMAND_CHARS = 100_000

HELP = """\
insert NAME --tags a,b TEXT         store a text under tags (or --file PATH; --summary TEXT is shown to subscribers)
subscribe "goal & !replay"          be notified of what matches; --past, --future or --always (the default)
retrieve NAME@NODE                  fetch an object you were notified of; --to FILE keeps it in a file
more NUMBER                         ask for older matches of one of your subscriptions
unsubscribe NUMBER                  end one of your subscriptions
delete NAME                         remove one of your own objects
list                                neighbours, subscriptions, and objects known here
quit                                leave"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {message}; `help` shows how it is used")


def parse_command(line: str) -> argparse.Namespace:
    """The command and its arguments, in `.command` and fields named after them."""
    if len(line) > MAX_COMMAND_CHARS:
        raise InputError(f"the command has {len(line)} characters: at most {MAX_COMMAND_CHARS} are read; use --file")
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise InputError(f"{error}; put texts with spaces or quotes in quotes".lower()) from error
    if not words or words[0] not in PARSERS:
        raise InputError(f"there is no command {words[0] if words else ''!r}; expected one of {', '.join(PARSERS)}")
    command = PARSERS[words[0]].parse_intermixed_args(words[1:])
    command.command = words[0]
    if words[0] == "insert" and (command.file is None) == (command.text is None):
        raise InputError("insert: expected a text or --file PATH, one of them; `help` shows how it is used")
    return command


def parse_number(text: str) -> int:
    """A subscription's number, alone or as `number@node`."""
    number = text.partition("@")[0]
    if not (number.isascii() and number.isdigit()):
        raise InputError(f"subscription {text!r}: expected its number; `list` shows them")
    return int(number)


def _parsers() -> dict[str, _Parser]:
    names = ("insert", "subscribe", "retrieve", "more", "unsubscribe", "delete", "list", "help", "quit")
    parsers = {name: _Parser(prog=name, add_help=False, allow_abbrev=False) for name in names}
    insert = parsers["insert"]
    insert.add_argument("name")
    insert.add_argument("text", nargs="?")
    insert.add_argument("--tags", required=True)
    insert.add_argument("--summary")
    insert.add_argument("--file")
    parsers["subscribe"].add_argument("query")
    frame = parsers["subscribe"].add_mutually_exclusive_group()
    for choice in ("past", "future", "always"):
        frame.add_argument(f"--{choice}", dest="frame", action="store_const", const=choice, default="always")
    parsers["retrieve"].add_argument("key")
    parsers["retrieve"].add_argument("--to")
    parsers["delete"].add_argument("name")
    for name in ("more", "unsubscribe"):
        parsers[name].add_argument("number")
    return parsers


PARSERS = _parsers()
