"""The door: `thyme` and its subcommands.

Whatever a person got wrong ends in one line that says what, where and what was expected, with exit code 2; a
traceback means a defect of ours. Subcommands import what they need when they run, so that `thyme --help` is quick.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer

from thyme.cli.simulate import scenario_app, simulate
from thyme.model.errors import InputError

# Some releases of typer carry their own copy of click, so its error classes are reached through typer's own.
_UsageError: Any = typer.BadParameter.__mro__[1]
_ClickError: Any = _UsageError.__mro__[1]

app = typer.Typer(
    name="thyme",
    help="Time-aware reactive storage for crowds of devices with no infrastructure.",
    epilog="Start with: thyme study --preset quick",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
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


app.command()(simulate)
app.add_typer(scenario_app, name="scenario")


def run() -> None:
    """The entry point of the `thyme` command."""
    try:
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
    except (KeyboardInterrupt, typer.Abort):
        print("thyme: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
