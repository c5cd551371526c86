"""`--set KEY=VALUE` of commands whose options are a record: any key of it, and `--set list` shows what there is."""

from __future__ import annotations

from typing import Annotated, TypeVar

import msgspec
import typer

from thyme.model.settings import changed
from thyme.model.settings.describing import keys_of
from thyme.model.settings.writing import keys_text

Record = TypeVar("Record", bound=msgspec.Struct)

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change any other setting; may be repeated. `--set list` shows all keys."
    ),
]


def with_settings(record: Record, settings: list[str] | None) -> Record:
    """The record with what `--set` gave; `--set list` prints its keys instead and ends the command."""
    if settings and "list" in settings:
        print(keys_text(keys_of(type(record), record)))
        raise typer.Exit
    return changed(record, settings)
