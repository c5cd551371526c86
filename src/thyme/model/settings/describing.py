"""Describing settings: every key of a record with its type, default, bounds and what its class says about it.

The words are those of the code: the docstring of a class, and the string that follows a field. Tables within a section
are told as dotted keys (`energy.volts`), as TOML allows, so that a section has one list of keys per model.
"""

from __future__ import annotations

import ast
import inspect as python
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

from thyme.model.settings.types import default_of, fields_of, models_in, record_in, tag_field_in, words_for

CLASSES_KEPT = 1_024


class Key(msgspec.Struct, frozen=True):
    """`name` is dotted within its section; a `default` of None means that nothing is set."""

    name: str
    words: str
    default: Any
    doc: str = ""

    @property
    def required(self) -> bool:
        return self.default is msgspec.NODEFAULT


class Model(msgspec.Struct, frozen=True):
    """One of the records of a tagged union."""

    name: str
    doc: str
    keys: tuple[Key, ...]


class Section(msgspec.Struct, frozen=True):
    """A table of settings, which has either keys or models with keys of their own."""

    name: str
    doc: str
    keys: tuple[Key, ...] = ()
    models: tuple[Model, ...] = ()
    tag: str = ""
    """The key that names the model, and which one it is by default."""
    default_model: str = ""
    repeated: bool = False
    """Whether there may be several such tables (`[[name]]`)."""


def sections_of(record: type[msgspec.Struct]) -> tuple[tuple[Key, ...], tuple[Section, ...]]:
    """The plain keys of a record, and its sections, in the order of its fields."""
    docs = field_docs(record)
    keys: list[Key] = []
    sections: list[Section] = []
    for name, field in fields_of(record).items():
        section = _section(name, field, docs.get(name, ""))
        if section is None:
            keys.append(_key(name, field, docs.get(name, "")))
        else:
            sections.append(section)
    return tuple(keys), tuple(sections)


def keys_of(record: type[msgspec.Struct], default: msgspec.Struct | None = None) -> tuple[Key, ...]:
    """All keys of a record, dotted for nested tables; defaults are those of `default`, if given."""
    given = msgspec.to_builtins(default) if default is not None else {}
    return tuple(_keys(record, "", given))


def class_doc(record: type) -> str:
    own = record.__dict__.get("__doc__") or ""
    return " ".join(own.split())


@lru_cache(maxsize=CLASSES_KEPT)
def field_docs(record: type) -> dict[str, str]:
    """The docstring after each field, including inherited fields."""
    docs: dict[str, str] = {}
    for one in reversed(record.__mro__):
        if one is record or (issubclass(one, msgspec.Struct) and one is not msgspec.Struct):
            docs |= _own_field_docs(one)
    return docs


def _own_field_docs(record: type) -> dict[str, str]:
    try:
        source = python.getsource(record)
    except (OSError, TypeError):
        return {}
    (definition,) = ast.parse(textwrap.dedent(source)).body
    assert isinstance(definition, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, after in zip(definition.body, definition.body[1:], strict=False):
        if not (isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            docs[statement.target.id] = " ".join(after.value.value.split())
    return docs


def _section(name: str, field: inspect.Field, doc: str) -> Section | None:
    kind, default = field.type, default_of(field)
    if models := models_in(kind):
        told = tuple(Model(tag, class_doc(one), keys_of(one)) for tag, one in models.items())
        tag = tag_field_in(kind)
        return Section(name, doc, (), told, tag, default[tag] if isinstance(default, dict) else "")
    if isinstance(kind, inspect.VarTupleType | inspect.ListType) and (inner := record_in(kind.item_type)):
        return Section(name, doc or class_doc(inner), keys_of(inner), repeated=True)
    if record := record_in(kind):
        return Section(name, doc or class_doc(record), tuple(_keys(record, "", default or {})))
    if isinstance(kind, inspect.DictType):
        return Section(name, doc)
    return None


def _keys(record: type[msgspec.Struct], prefix: str, given: Any) -> Iterator[Key]:
    docs = field_docs(record)
    for name, field in fields_of(record).items():
        inner = record_in(field.type) if isinstance(field.type, inspect.StructType) else None
        default = given.get(name, default_of(field)) if isinstance(given, dict) else default_of(field)
        if inner is None:
            yield Key(f"{prefix}{name}", words_for(field.type), default, docs.get(name, ""))
        else:
            yield from _keys(inner, f"{prefix}{name}.", default)


def _key(name: str, field: inspect.Field, doc: str) -> Key:
    return Key(name, words_for(field.type), default_of(field), doc)
