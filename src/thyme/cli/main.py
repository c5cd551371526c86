"""The door: `thyme` and its subcommands.

Whatever a person got wrong ends in one line that says what, where and what was expected, with exit code 2; a
traceback means a defect of ours. Only the module of the subcommand that was asked for is imported (all of them for
the overview), so that nobody waits for Spark to hear that a file is missing.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer

from thyme.live.failures import OperationError
from thyme.model.errors import InputError

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
    "simulate": ("simulate", "simulate"),
    "replay": ("replay", "replay"),
    "scenario": ("simulate", "scenario_app"),
    "posts": ("posts", "posts_app"),
    "trace": ("traces", "trace_app"),
    "world": ("world", "world_app"),
    "radio": ("radio", "radio_app"),
    "walks": ("walks", "walks"),
    "fuzz": ("fuzz", "fuzz"),
    "bench": ("bench", "bench_app"),
}
COMMANDS = PEOPLE | STUDIES
"""Subcommand: the module of this room that has it, and its name there."""

app = typer.Typer(
    name="thyme",
    help="Time-aware reactive storage for crowds of devices with no infrastructure.",
    epilog="Start with: `thyme node start --background`, or `thyme study --preset fanzone`",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"thyme {version('thyme')}")
        raise typer.Exit


@app.callback()
def door(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Time-aware reactive storage for crowds of devices with no infrastructure."""


def _add(command: str) -> None:
    module, name = COMMANDS[command]
    part = getattr(import_module(f"thyme.cli.{module}"), name)
    panel = "Sharing with who is near" if command in PEOPLE else "Studies: which way of sharing suits a crowd"
    if isinstance(part, typer.Typer):
        app.add_typer(part, name=command, rich_help_panel=panel)
    else:
        app.command(command, rich_help_panel=panel)(part)


def _add_installed() -> None:
    """The commands of which all is here: a device need not have what studies need."""
    for command in COMMANDS:
        with suppress(ModuleNotFoundError):
            _add(command)


def run() -> None:
    """The entry point of the `thyme` command."""
    asked = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    try:
        if asked in COMMANDS:
            _add(asked)
        else:
            _add_installed()
        code = app(standalone_mode=False)
    except InputError as error:
        print(f"thyme: {error}", file=sys.stderr)
        sys.exit(2)
    except _UsageError as error:
        where = error.ctx.command_path if error.ctx else "thyme"
        print(f"{where}: {error.format_message()} (see {where} --help)", file=sys.stderr)
        sys.exit(2)
    except _ClickError as error:
        print(f"thyme: {error.format_message()}", file=sys.stderr)
        sys.exit(error.exit_code)
    except ModuleNotFoundError as error:
        if (error.name or "thyme").startswith("thyme"):
            raise
        print(f"thyme: this needs {error.name}, which is not installed here; pip install thyme has it", file=sys.stderr)
        sys.exit(2)
    except OperationError as error:
        print(f"thyme: {error}", file=sys.stderr)
        sys.exit(1)
    except (KeyboardInterrupt, typer.Abort):
        print("thyme: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.filename is None:
            raise
        print(f"thyme: {error.filename}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
