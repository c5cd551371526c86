"""Writing about settings: a TOML file that has every key with its default, and tables for reference pages and help.

In a template, a line that begins with `#` and no blank is a key with its default: take the `#` away to set it. All
else after a `#` is explanation.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from thyme.model.settings.describing import Key, Model, Section, keys_of, sections_of

WIDTH = 100


def toml_value(value: Any) -> str:
    """A plain value as TOML writes it."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {toml_value(one)}" for key, one in value.items() if one is not None)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(one) for one in value)}]"
    return repr(value) if isinstance(value, float) else msgspec.json.encode(value).decode()


def toml_template(
    record: type[msgspec.Struct], chosen: Mapping[str, Any], records: Mapping[str, type[msgspec.Struct]]
) -> str:
    """Every section, model and key of a record; `chosen` are plain keys to set. `records` describe sections whose type
    the record leaves open; they come last."""
    keys, sections = sections_of(record)
    lines = list(_key_lines(keys, chosen))
    for section in sorted(sections, key=lambda section: section.name in records):
        lines += ["", *_section_lines(section, records.get(section.name))]
    return "\n".join(lines) + "\n"


def _section_lines(section: Section, record: type[msgspec.Struct] | None) -> Iterator[str]:
    yield from _comment(section.doc)
    if section.repeated:
        yield f"#[[{section.name}]]"
        yield from _key_lines(section.keys)
        return
    yield f"[{section.name}]"
    yield from _key_lines(keys_of(record) if record else section.keys)
    ordered = sorted(section.models, key=lambda model: model.name != section.default_model)
    for model in ordered:
        if model.name != section.default_model:
            yield ""
        yield from _comment(model.doc)
        yield f'{"" if model.name == section.default_model else "#"}{section.tag} = "{model.name}"'
        yield from _key_lines(model.keys)


def _key_lines(keys: Iterable[Key], chosen: Mapping[str, Any] | None = None) -> Iterator[str]:
    for key in keys:
        if chosen and key.name in chosen:
            yield from _comment(key.doc)
            yield f"{key.name} = {toml_value(chosen[key.name])}"
        elif key.default is None or key.required:
            state = "must be given" if key.required else "not set"
            yield from _comment(f"{key.name} ({key.words}; {state}){f': {key.doc}' if key.doc else ''}")
        else:
            choice = f"  # {key.words}" if "|" in key.words or "≥" in key.words or ">" in key.words else ""
            yield from _comment(key.doc)
            yield f"#{key.name} = {toml_value(key.default)}{choice}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="# ", subsequent_indent="# ")


def models_text(section: Section) -> str:
    """The models of a section with their keys, for a terminal."""
    lines = [f"[{section.name}]"]
    for model in section.models:
        mark = " (unless another is named)" if model.name == section.default_model else ""
        lines.append(f'  model = "{model.name}"{mark}')
        lines += textwrap.wrap(model.doc, WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += [f"      {key.name} = {_default(key)}  ({key.words})" for key in model.keys]
    return "\n".join(lines)


def keys_text(keys: Iterable[Key]) -> str:
    """Keys with their defaults and meaning, for a terminal."""
    lines: list[str] = []
    for key in keys:
        lines.append(f"{key.name} = {_default(key)}  ({key.words})")
        lines += textwrap.wrap(key.doc, WIDTH, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def markdown_section(section: Section) -> str:
    """A section of a reference page."""
    parts = [f"## `[{'[' if section.repeated else ''}{section.name}]{']' if section.repeated else ''}`"]
    if section.doc:
        parts.append(_wrapped(section.doc))
    if section.keys:
        parts.append(markdown_keys(section.keys))
    parts += [_markdown_model(section, model) for model in section.models]
    return "\n\n".join(parts)


def _markdown_model(section: Section, model: Model) -> str:
    default = ", the default" if model.name == section.default_model else ""
    told = f'### `{section.tag} = "{model.name}"`{default}\n\n{_wrapped(model.doc)}'
    return f"{told}\n\n{markdown_keys(model.keys)}" if model.keys else told


def markdown_keys(keys: Iterable[Key]) -> str:
    rows = ["| key | default | type | meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{key.name}` | {_default(key) if key.default is None or key.required else f'`{_default(key)}`'} "
        f"| {key.words.replace('|', chr(92) + '|')} | {key.doc.replace('|', chr(92) + '|')} |"
        for key in keys
    ]
    return "\n".join(rows)


def _default(key: Key) -> str:
    if key.required:
        return "must be given"
    return "not set" if key.default is None else toml_value(key.default)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False)
