"""Options shared by several commands: `--set KEY=VALUE` for any key of an options record (`--set list` shows them), and
`--master` and `--conf` for commands that start Spark."""

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
        "--set", metavar="KEY=VALUE", help="Change any other setting; repeatable. `--set list` shows all keys."
    ),
]


def _ask_of_spark(pairs: list[str] | None) -> list[str] | None:
    if pairs:
        from thyme.pipeline.spark.given import ask

        ask(pairs)
    return pairs


Master = Annotated[
    str,
    typer.Option(
        "--master",
        help="Where Spark runs: `local[*]`, spark://HOST:PORT, yarn, k8s://…, or sc://HOST:PORT of a Spark Connect "
        "server. Default: Spark's configuration, else `local[*]`.",
        show_default=False,
    ),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        "--conf",
        metavar="KEY=VALUE",
        help="A setting of Spark; overrides spark-defaults.conf; repeatable.",
        callback=_ask_of_spark,
    ),
]


def with_settings(record: Record, settings: list[str] | None) -> Record:
    """The record with the values of `--set`; `--set list` prints its keys instead and exits."""
    if settings and "list" in settings:
        print(keys_text(keys_of(type(record), record)))
        raise typer.Exit
    return changed(record, settings)
