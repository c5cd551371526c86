"""The command `thyme` and its subcommands.

A wrong argument or file ends in one line that says what, where and what was expected, with exit code 2. A traceback is
an internal error. Only the module of the given subcommand is imported (all of them for the overview), so that error
messages do not wait for Spark.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn, TextIO

import typer

from thyme import __version__, extras
from thyme.live.failures import OperationError
from thyme.model.errors import InputError
from thyme.model.terminal import printable

# Some releases of typer carry their own copy of click, so its error classes are reached through typer's own.
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickError: Any = _UsageError.__mro__[1]

PEOPLE: dict[str, tuple[str, str]] = {
    "node": ("node", "app"),
    "put": ("verbs", "put"),
    "sub": ("verbs", "sub"),
    "get": ("verbs", "get"),
    "rm": ("verbs", "rm"),
    "ls": ("verbs", "ls"),
    "peers": ("verbs", "peers"),
    "namespace": ("namespaces", "app"),
    "doctor": ("doctor", "doctor"),
    "crowd": ("crowd", "crowd"),
    "gallery": ("gallery", "gallery"),
    "watch": ("watch", "watch"),
}
STUDIES: dict[str, tuple[str, str]] = {
    "study": ("study", "study_app"),
    "studio": ("studio", "studio"),
    "simulate": ("simulate", "simulate"),
    "replay": ("replay", "replay"),
    "scenario": ("simulate", "scenario_app"),
    "posts": ("posts", "posts_app"),
    "trace": ("traces", "trace_app"),
    "world": ("world", "world_app"),
    "walks": ("walks", "walks"),
    "fuzz": ("fuzz", "fuzz"),
}
COMMANDS = PEOPLE | STUDIES
"""Subcommand: its module in `thyme.cli`, and its name there."""
EXTRAS = {"gallery": "gallery", "crowd": "study", "watch": "study"} | dict.fromkeys(STUDIES, "study")
"""Subcommand: the extra that it needs."""

app = typer.Typer(
    name="thyme",
    help="Time-aware reactive storage for crowds of devices with no infrastructure.",
    epilog="Start with: `thyme node start --background`"
    + (
        ", or `thyme study --preset fanzone`"
        if extras.is_installed("study")
        else "\n\nSimulations and studies: `" + extras.install_command("study") + "`"
    ),
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thyme {__version__}")
        raise typer.Exit


@app.callback()
def door(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Time-aware reactive storage for crowds of devices with no infrastructure."""


def _add(command: str) -> None:
    """InputError unless the extra that it needs is installed."""
    if extra := EXTRAS.get(command):
        extras.require(extra, f"thyme {command}")
    module, name = COMMANDS[command]
    part = getattr(import_module(f"thyme.cli.{module}"), name)
    panel = "Sharing with people nearby" if command in PEOPLE else "Studies: which approach fits a crowd"
    if isinstance(part, typer.Typer):
        app.add_typer(part, name=command, rich_help_panel=panel)
    else:
        app.command(command, rich_help_panel=panel)(part)


def _add_installed() -> None:
    """The commands whose extra is installed."""
    for command in COMMANDS:
        with suppress(InputError):
            _add(command)


def whole_app() -> typer.Typer:
    """All commands whose extra is installed."""
    _add_installed()
    return app


def run() -> None:
    """The entry point of the `thyme` command."""
    asked = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    warn_in_one_line(sys.stderr)
    with errors_in_one_line("thyme"):
        if asked in COMMANDS:
            _add(asked)
        else:
            _add_installed()
        code = app(standalone_mode=False)
    sys.exit(code if isinstance(code, int) else 0)


@contextmanager
def errors_in_one_line(program: str) -> Iterator[None]:
    """Print an error that a person can act on as one line, and exit."""
    try:
        yield
    except InputError as error:
        _end(program, str(error), 2)
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx else program
        message = error.format_message()
        if not message:  # a group without a subcommand, whose help is printed
            sys.exit(2)
        _end(where, f"{message} (see {where} --help)", 2)
    except _ClickError as error:
        _end(program, error.format_message(), error.exit_code)
    except ModuleNotFoundError as error:
        if (error.name or "thyme").startswith("thyme"):
            raise
        _end(program, f"this needs {error.name}; install it: {extras.install_command('all')}", 2)
    except OperationError as error:
        _end(program, str(error), 1)
    except (KeyboardInterrupt, typer.Abort):
        _end(program, "stopped", 130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.filename is None:
            raise
        _end(program, f"{error.filename}: {error.strerror or error}", 2)


def _end(program: str, message: str, code: int) -> NoReturn:
    print(f"{program}: {printable(message)}", file=sys.stderr)
    sys.exit(code)


def warn_in_one_line(to: TextIO) -> logging.Handler:
    """Print warnings, such as those of a live node, as printable text: they may quote other nodes."""
    handler = logging.StreamHandler(to)
    handler.setFormatter(_OneLine())
    logging.getLogger().addHandler(handler)
    return handler


class _OneLine(logging.Formatter):
    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return printable(super().formatMessage(record))
