"""Every option, and who sets it: tests, benchmarks, presets and papers that give it a value, pages that name it.

    python -m benchmarks.options [--unused]

An option is a field with a default in a settings record (`forbid_unknown_fields=True`); the bodies of HTTP requests are
not counted. A value counts for a record if it is given to its class, to a function (`replace`, a fixture), or under a
key that may hold the record. Pages are searched for the name alone.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from inspect import get_annotations
from pathlib import Path
from typing import Any

import msgspec

import thyme

ROOT = Path(__file__).parents[1]
REQUEST_BODIES = ("thyme.gallery.forms", "thyme.live.views", "thyme.live.daemon.service", "thyme.live.emulation.map")
PLACES = {
    "tests": ("tests/**/*.py", "tests/**/*.toml"),
    "benchmarks": ("benchmarks/**/*.py",),
    "presets": ("src/thyme/**/*.toml",),
    "papers": ("src/thyme/papers/**/*.py",),
    "random worlds": ("src/thyme/fuzz/worlds.py",),
    "package": ("src/thyme/**/*.py",),
    "pages": ("docs/**/*.md", "README.md", "deploy/*"),
}
DOTTED = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*")
Use = tuple[str, str]
"""Who takes a value (a class or function, or the key above; "" if none) and the name of the option."""


def option_records() -> list[type[msgspec.Struct]]:
    """The settings records of the package that declare options."""
    for module in pkgutil.walk_packages(thyme.__path__, "thyme."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: set[type[msgspec.Struct]] = set()
    waiting: list[type[msgspec.Struct]] = [msgspec.Struct]
    while waiting:
        for record in waiting.pop().__subclasses__():
            waiting.append(record)
            settings = record.__struct_config__.forbid_unknown_fields and record.__module__ not in REQUEST_BODIES
            if settings and options_of(record):
                found.add(record)
    return sorted(found, key=lambda record: (record.__module__, record.__qualname__))


def options_of(record: type[msgspec.Struct]) -> Sequence[str]:
    """The options that a record declares itself."""
    own = get_annotations(record)
    return [field.name for field in msgspec.structs.fields(record) if field.name in own and not field.required]


def values_in_table(table: Any, above: str) -> Iterator[Use]:
    if isinstance(table, list):
        for item in table:
            yield from values_in_table(item, above)
    elif isinstance(table, dict):
        for key, value in table.items():
            yield from values_in_key(key, above)
            yield from values_in_table(value, key.split(".")[-1])


def values_in_key(key: str, above: str) -> Iterator[Use]:
    """`a.b.c` gives values to `b` under `a`, and to `c` under `b`."""
    parts = key.split(".")
    yield from zip([above, *parts], parts, strict=False)


def values_in_code(text: str) -> Iterator[Use]:
    above: dict[ast.AST, str] = {}
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call():
                taker = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                for keyword in node.keywords:
                    if keyword.arg:
                        yield taker, keyword.arg
                        above[keyword.value] = keyword.arg
                yield from ((taker, f"#{place}") for place in range(len(node.args)))
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield from values_in_key(key.value, above.get(node, ""))
                        above[value] = key.value.split(".")[-1]
            case ast.Tuple(elts=[ast.Constant(value=str(name)), ast.Tuple()]):
                yield from values_in_key(name, "")
            case ast.Constant(value=str(words)):
                for word in words.split():
                    name, is_set, _ = word.partition("=")
                    if (is_set or "." in name) and DOTTED.fullmatch(name):
                        yield from values_in_key(name, "")
                if "\n" in words and "=" in words:
                    with suppress(tomllib.TOMLDecodeError):
                        yield from values_in_table(tomllib.loads(words), "")


def values_in(file: Path) -> set[Use]:
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        return set(values_in_code(text))
    if file.suffix == ".toml":
        return set(values_in_table(tomllib.loads(text), ""))
    return {("", name) for name in re.findall(r"\b[a-z][a-z0-9_]*\b", text)}


def uses() -> dict[str, dict[Path, set[Use]]]:
    """The values that the files of each place give."""
    return {
        place: {
            file: values_in(file)
            for file in sorted({file for glob in globs for file in ROOT.glob(glob) if file.is_file()})
            if file != Path(__file__) and not file.is_relative_to(ROOT / "docs" / "reference")
        }
        for place, globs in PLACES.items()
    }


def main() -> None:
    places, records = uses(), option_records()
    classes = {record.__name__ for record in records}
    holders: dict[str, set[str]] = {}
    for record in records:
        for field in msgspec.structs.fields(record):
            for name in re.findall(r"\w+", str(field.type)):
                holders.setdefault(name, set()).add(field.name)
    keys = {key for held in holders.values() for key in held}
    number = unused = 0
    for record in records:
        family = {record.__name__, *(heir.__name__ for heir in records if issubclass(heir, record))}
        own_keys = {key for name in family for key in holders.get(name, set())}

        def gives(use: Use, name: str, place: int, family: set[str] = family, own: set[str] = own_keys) -> bool:
            taker, given = use
            if taker in family:
                return given in (name, f"#{place}")
            return given == name and taker not in classes and (taker in own or taker not in keys)

        for place, name in enumerate(options_of(record)):
            counts = {
                where: sum(any(gives(use, name, place) for use in given) for given in files.values())
                for where, files in places.items()
            }
            number += 1
            used = any(count for where, count in counts.items() if where != "package")
            unused += not used
            if "--unused" not in sys.argv or not used:
                row = ", ".join(f"{where} {count}" for where, count in counts.items() if count)
                print(f"{record.__module__}.{record.__qualname__}.{name}: {row or 'nobody'}")
    print(f"{number} options in {len(records)} records, {unused} that no test, benchmark, preset, paper or page sets")


if __name__ == "__main__":
    main()
