"""Checking settings: from tables to records, with one-line errors that say where, and what is allowed there.

Keys and choices are checked before msgspec converts, so that an error can list what exists and guess what was meant.
A table of a setting with several models may leave out its `model`: it then means that of the default.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from thyme.model.errors import InputError
from thyme.model.settings.reading import SettingsSource, parse_settings
from thyme.model.settings.types import (
    choices_in,
    default_of,
    fields_of,
    models_in,
    record_in,
    tag_field_in,
    words_for,
)

Record = TypeVar("Record", bound=msgspec.Struct)
Path = tuple[str, ...]
Models = Mapping[str, type[msgspec.Struct]]
MAX_SHOWN_CHARS = 60

_TOLD = re.compile(r"^(?P<what>.*?)(?: - at `(?:key in )?\$(?P<path>.*)`)?$", re.DOTALL)
_WORDS = {
    "float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def to_record(
    given: Mapping[str, Any], record: type[Record], where: str | SettingsSource, section: Path = ()
) -> Record:
    """Convert a table to a record; errors name the file and line, the whole key (from that of the table's `section`
    on), and what was expected."""
    source = SettingsSource(where) if isinstance(where, str) else where
    table = _checked_table(given, record, section, source)
    try:
        return msgspec.convert(table, record, strict=True)
    except msgspec.ValidationError as error:
        raise InputError(_told(str(error), table, source, section)) from error


def changed(record: Record, texts: Iterable[str] | None) -> Record:
    """A copy of a record with the changes of `--set KEY=VALUE`."""
    changes = parse_settings(texts)
    if not changes:
        return record
    table = msgspec.to_builtins(record)
    for key, value in changes.items():
        set_key(table, key, value, type(record))
    return to_record(table, type(record), SettingsSource("--set", changes=frozenset(changes)))


def set_keys(table: dict[str, Any], texts: Iterable[str] | None, record: type[msgspec.Struct]) -> dict[str, Any]:
    """The table of a record, with what `--set KEY=VALUE` gave."""
    for key, value in parse_settings(texts).items():
        set_key(table, key, value, record)
    return table


def set_key(table: dict[str, Any], dotted: str, value: Any, record: type[msgspec.Struct] | None = None) -> None:
    """Set `a.b.c` in nested tables, as `--set a.b.c=value` does. With the record that the table describes, another
    `model` takes those keys away that only the former one has, if they have its defaults; else it is refused."""
    *parents, last = dotted.split(".")
    field: inspect.Field | None = None
    fields = fields_of(record) if record else {}
    for parent in parents:
        below = table.setdefault(parent, {})
        if not isinstance(below, dict):
            raise InputError(f"{dotted}: {parent!r} is a value, not a section")
        field = fields.get(parent)
        fields = _fields_below(field, below)
        table = below
    if field is not None and models_in(field.type) and last == tag_field_in(field.type):
        _switch_model(table, field, dotted, value)
    table[last] = value


def model_of(record: msgspec.Struct) -> str:
    """The name of a model: the tag of its record."""
    return str(record.__struct_config__.tag)


class SettingsRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record of settings that is held to the bounds that its types declare when a program makes it, too."""

    def __post_init__(self) -> None:
        check_bounds(self)


def check_bounds(record: msgspec.Struct) -> None:
    """Hold a record that was made by a program to the bounds that its types declare; infinity is beyond all bounds."""
    for name, field in fields_of(type(record)).items():
        value = getattr(record, name)
        kind = field.type.types[0] if isinstance(field.type, inspect.UnionType) else field.type
        if not isinstance(kind, inspect.IntType | inspect.FloatType) or value is None:
            continue
        if (kind.ge, kind.gt, kind.le, kind.lt) == (None, None, None, None):
            continue
        low = (kind.ge is None or value >= kind.ge) and (kind.gt is None or value > kind.gt)
        if not (low and (kind.le is None or value <= kind.le) and (kind.lt is None or value < kind.lt)):
            raise InputError(f"{name} is {value:g}; expected a {words_for(kind)}")
        if value == inf:
            raise InputError(f"{name} is inf; expected a finite {words_for(kind)}")


def _fields_below(field: inspect.Field | None, table: Mapping[str, Any]) -> Mapping[str, inspect.Field]:
    if field is None:
        return {}
    models = models_in(field.type)
    record = models.get(str(_tag_in(table, field))) if models else record_in(field.type)
    return fields_of(record) if record else {}


def _tag_in(table: Mapping[str, Any], field: inspect.Field) -> Any:
    tag = tag_field_in(field.type)
    default = default_of(field)
    return table.get(tag, default.get(tag) if isinstance(default, dict) else None)


def _switch_model(table: dict[str, Any], field: inspect.Field, dotted: str, wanted: Any) -> None:
    models, former = models_in(field.type), str(_tag_in(table, field))
    if wanted == former or wanted not in models or former not in models:
        return
    kept, known = fields_of(models[str(wanted)]), fields_of(models[former])
    section = dotted.rpartition(".")[0]
    for key in [key for key in table if key in known and key not in kept]:
        if table[key] != default_of(known[key]):
            raise InputError(
                f'{dotted} = "{wanted}": {section}.{key} = {_shown(table[key])} is given too, which only the model '
                f'"{former}" has; take it out, or give the section anew: --set \'{section}={{model="{wanted}"}}\''
            )
        del table[key]


def _checked(value: Any, kind: inspect.Type, default: Any, path: Path, source: SettingsSource) -> Any:
    """A value whose keys and choices exist, with the model filled in where it was left out."""
    if isinstance(value, Mapping):
        if models := models_in(kind):
            tag = tag_field_in(kind)
            table = dict(value)
            if tag not in table and isinstance(default, dict):
                table[tag] = default[tag]
            _check_choice(table.get(tag), tuple(models), (*path, tag), source)
            return _checked_table(table, models[table[tag]], path, source, models)
        if record := record_in(kind):
            return _checked_table(value, record, path, source)
        if isinstance(kind, inspect.DictType):
            return {key: _checked(one, kind.value_type, None, (*path, str(key)), source) for key, one in value.items()}
    if isinstance(value, list | tuple) and isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return [_checked(one, kind.item_type, None, (*path, str(i)), source) for i, one in enumerate(value)]
    if choices := choices_in(kind):
        _check_choice(value, choices, path, source)
    return value


def _checked_table(
    given: Mapping[str, Any],
    record: type[msgspec.Struct],
    path: Path,
    source: SettingsSource,
    models: Models | None = None,
) -> dict[str, Any]:
    fields = fields_of(record)
    config = record.__struct_config__
    table: dict[str, Any] = {}
    for key, value in given.items():
        if key == config.tag_field:
            table[key] = value
        elif key not in fields:
            raise InputError(f"{source.at((*path, key))}: {_unknown_key(key, record, path, models or {})}")
        else:
            table[key] = _checked(value, fields[key].type, default_of(fields[key]), (*path, key), source)
    return table


def _check_choice(value: Any, choices: Sequence[Any], path: Path, source: SettingsSource) -> None:
    if value not in choices:
        raise InputError(
            f"{source.at(path)}: {'.'.join(path)} is {_shown(value)}; "
            f"expected one of {', '.join(map(str, choices))}{_meant(value, choices)}"
        )


def _unknown_key(key: str, record: type[msgspec.Struct], path: Path, models: Models) -> str:
    config, dotted = record.__struct_config__, ".".join((*path, key))
    known = ([config.tag_field] if config.tag_field else []) + list(fields_of(record))
    owner = f'{".".join(path)} with {config.tag_field} = "{config.tag}"' if config.tag_field else ".".join(path) or "it"
    others = [f'"{tag}"' for tag, other in models.items() if key in fields_of(other)]
    elsewhere = f"; a {config.tag_field} of {' or '.join(others)} has that key" if others else ""
    return f"there is no key {dotted!r}; {owner} has {', '.join(known)}{elsewhere or _meant(key, known)}"


def _meant(given: Any, known: Sequence[Any]) -> str:
    near = difflib.get_close_matches(str(given), [str(one) for one in known], n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _told(message: str, table: Mapping[str, Any], source: SettingsSource, section: Path) -> str:
    """One line of our own for what msgspec found wrong."""
    match = _TOLD.match(message)
    assert match is not None
    inside = _path_of(match["path"] or "")
    what, path = match["what"], (*section, *inside)
    key, place = ".".join(path), source.at(path)
    if missing := re.fullmatch(r"Object missing required field `(.+)`", what):
        return f"{place}: {'.'.join((*path, missing[1]))} is missing"
    if wanted := re.match(r"Expected `([^`]+)`(?:, got `[^`]+`|(.*))$", what):
        words = " or ".join(_WORDS.get(word, word) for word in wanted[1].split(" | ") if word != "null")
        return f"{place}: {key} is {_shown(_value_at(table, inside))}; expected {words}{wanted[2] or ''}"
    return f"{place}: {f'[{key}] ' if key else ''}{what}"


def _path_of(text: str) -> Path:
    return tuple(part for part in re.split(r"[.\[\]]+", text) if part)


def _value_at(table: Any, path: Path) -> Any:
    for part in path:
        if isinstance(table, Mapping):
            table = table.get(part, next(iter(table.values()), None) if part == "..." else None)
        elif isinstance(table, list | tuple) and part.isdigit() and int(part) < len(table):
            table = table[int(part)]
        else:
            return None
    return table


def _shown(value: Any) -> str:
    """A value as it was written, or nearly so."""
    text = msgspec.json.encode(value).decode() if isinstance(value, str | bool | list | dict) else str(value)
    return text if len(text) <= MAX_SHOWN_CHARS else f"{text[:MAX_SHOWN_CHARS]}…"
