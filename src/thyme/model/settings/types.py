"""What msgspec knows about record types, in the few questions that settings ask of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import inspect

Fields = Mapping[str, inspect.Field]
TYPES_KEPT = 1_024


@lru_cache(maxsize=TYPES_KEPT)
def fields_of(record: type[msgspec.Struct]) -> Fields:
    info = inspect.type_info(record)
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


def models_in(kind: inspect.Type) -> dict[str, type[msgspec.Struct]]:
    """The records of a tagged union by their tags; none if the type is not such a union."""
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    tagged = [member for member in members if isinstance(member, inspect.StructType) and member.tag_field]
    return {str(member.tag): member.cls for member in tagged} if len(tagged) == len(members) else {}


def tag_field_in(kind: inspect.Type) -> str:
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return next(str(member.tag_field) for member in members if isinstance(member, inspect.StructType))


def record_in(kind: inspect.Type) -> type[msgspec.Struct] | None:
    """The one record that a value of this type may be (or None, in an optional one)."""
    members = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    records = [member.cls for member in members if isinstance(member, inspect.StructType)]
    return records[0] if len(records) == 1 else None


def default_of(field: inspect.Field) -> Any:
    """The default of a field as plain values; `msgspec.NODEFAULT` if it must be given."""
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    if field.default_factory is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    return msgspec.NODEFAULT


def choices_in(kind: inspect.Type) -> tuple[Any, ...]:
    """The values that a literal or an enumeration allows; none if the type is neither."""
    if isinstance(kind, inspect.LiteralType):
        return tuple(kind.values)
    if isinstance(kind, inspect.EnumType):
        return tuple(member.value for member in kind.cls)
    return ()


_WORDS: tuple[tuple[type[inspect.Type], str], ...] = (
    (inspect.BoolType, "true or false"),
    (inspect.IntType, "whole number"),
    (inspect.FloatType, "number"),
    (inspect.StrType, "text"),
    (inspect.DictType, "table"),
    (inspect.AnyType, "value"),
)


def words_for(kind: inspect.Type) -> str:
    """Description of a type in words, with its bounds."""
    if choices := choices_in(kind):
        return " | ".join(f'"{choice}"' if isinstance(choice, str) else str(choice) for choice in choices)
    if isinstance(kind, inspect.UnionType):
        return " or ".join(words_for(one) for one in kind.types if not isinstance(one, inspect.NoneType))
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return f"list of {words_for(kind.item_type)}s"
    if isinstance(kind, inspect.TupleType):
        return f"list of {len(kind.item_types)}"
    if isinstance(kind, inspect.StructType):
        return "table"
    word = next((word for one, word in _WORDS if isinstance(kind, one)), "value")
    return f"{word}{bounds_of(kind)}"


def bounds_of(kind: inspect.Type) -> str:
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return ""
    low = [f"{sign} {bound:g}" for sign, bound in (("≥", kind.ge), (">", kind.gt)) if bound is not None]
    high = [f"{sign} {bound:g}" for sign, bound in (("≤", kind.le), ("<", kind.lt)) if bound is not None]
    return "".join(f" {part}" for part in (" and ".join(low + high),) if part)
