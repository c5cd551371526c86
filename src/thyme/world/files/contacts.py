"""Contact traces: reading and writing lists of who met whom.

Three formats: `t i j` lists, where a contact is active in the window up to t (SocioPatterns, 20 s windows);
The ONE's connection events `time CONN a b up|down`; and Haggle lists `a b start end …`. A reader gives nodes
numbers from 0 and keeps their names. `read_contacts` finds out by content which format a file has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from thyme.model.errors import InputError
from thyme.world.contacts.contact_table import Contacts, contacts_from
from thyme.world.files.lines import TraceLine, in_order, read_lines
from thyme.world.mobility.model import Crowd, Mobility
from thyme.world.mobility.placement import static
from thyme.world.movement import Movement

ContactFormat = Literal["tij", "one", "haggle"]
WINDOW_S = 20.0

_ONE = "`time CONN a b up|down`"
_TIJ = "`t i j`: a time in seconds and two different nodes"
_HAGGLE = "`a b start end`: two different nodes and two times in ascending order"


class RecordedContacts(Mobility, frozen=True, tag="contacts"):
    """A contact trace without positions: pairs of nodes and the times of their contacts (SocioPatterns, The ONE or
    Haggle)."""

    knows_places: ClassVar[bool] = False
    file: str
    """The contact trace; its format is recognised."""
    begin_s: float | None = None
    """The instant of the trace at which the run begins; that of the first contact if none is given."""

    @property
    def source(self) -> str:
        return self.file

    def make(self, crowd: Crowd) -> Movement:
        return static(np.zeros((crowd.nodes, 2)), crowd.venue.width_m, crowd.venue.height_m)

    def contacts(self, crowd: Crowd, movement: Movement, range_m: float) -> Contacts | None:
        """The contacts of the trace, in the run's time."""
        contacts = read_contacts(Path(self.file)).contacts
        if contacts.nodes > crowd.nodes:
            raise InputError(f"{self.file} has {contacts.nodes} nodes; the scenario has {crowd.nodes}")
        begin_s = contacts.span_s[0] if self.begin_s is None else self.begin_s
        inside = contacts.between(begin_s, begin_s + crowd.until_s).shifted(-begin_s)
        return Contacts(crowd.nodes, inside.start_s, inside.end_s, inside.a, inside.b)


@dataclass(frozen=True, slots=True)
class TracedContacts:
    """Contacts from a file, and the name that each node has in it."""

    contacts: Contacts
    names: tuple[str, ...]


def contact_format(lines: Sequence[TraceLine]) -> ContactFormat:
    """Which format these lines are in, by their first few."""
    sample = [line.fields for line in lines[:20]]
    if any("CONN" in (field.upper() for field in fields) for fields in sample):
        return "one"
    if all(len(fields) >= 4 and all(map(_is_number, fields[:4])) for fields in sample):
        return "haggle"
    if all(len(fields) >= 3 and _is_number(fields[0]) for fields in sample):
        return "tij"
    raise lines[0].wrong(f"a contact trace: {_TIJ}; {_ONE}; or {_HAGGLE}")


def read_contacts(path: Path, form: ContactFormat | None = None, window_s: float = WINDOW_S) -> TracedContacts:
    """Read a contact trace; `window_s` is the length of a window of a `t i j` list."""
    lines = read_lines(path)
    match form if form is not None else contact_format(lines):
        case "tij":
            return _of_rows([_tij_row(line, window_s) for line in lines])
        case "one":
            return _of_rows(_one_rows(lines))
        case "haggle":
            return _of_rows([_haggle_row(line) for line in lines])


def write_contacts(
    path: Path,
    contacts: Contacts,
    form: ContactFormat,
    names: Sequence[str] | None = None,
    window_s: float = WINDOW_S,
) -> None:
    """Write a contact trace; only a `t i j` list loses something: times become whole windows."""
    names = names if names is not None else [str(node) for node in range(contacts.nodes)]
    if len(names) != contacts.nodes:
        raise InputError(f"{len(names)} names for {contacts.nodes} nodes; every node needs one")
    lines = _WRITERS[form](contacts, names, window_s)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


_Row = tuple[float, float, str, str]


def _of_rows(rows: list[_Row]) -> TracedContacts:
    names = in_order([name for row in rows for name in row[2:]])
    number = {name: node for node, name in enumerate(names)}
    start_s, end_s, a, b = zip(*rows, strict=True)
    contacts = contacts_from(len(names), start_s, end_s, (number[name] for name in a), (number[name] for name in b))
    return TracedContacts(contacts, names)


def _tij_row(line: TraceLine, window_s: float) -> _Row:
    fields = line.fields
    if len(fields) < 3 or fields[1] == fields[2]:
        raise line.wrong(_TIJ)
    (at_s,) = line.numbers(fields[:1], _TIJ)
    return at_s - window_s, at_s, fields[1], fields[2]


def _haggle_row(line: TraceLine) -> _Row:
    fields = line.fields
    if len(fields) < 4 or fields[0] == fields[1]:
        raise line.wrong(_HAGGLE)
    start_s, end_s = line.numbers(fields[2:4], _HAGGLE)
    if end_s < start_s:
        raise line.wrong(_HAGGLE)
    return start_s, end_s, fields[0], fields[1]


def _one_rows(lines: Sequence[TraceLine]) -> list[_Row]:
    """Pair each `up` with its `down`; contacts still up at the end last until the last event."""
    rows: list[_Row] = []
    since_s: dict[tuple[str, str], float] = {}
    last_s = float("-inf")
    for line in lines:
        fields = line.fields
        if len(fields) != 5 or fields[1].upper() != "CONN" or fields[2] == fields[3]:
            raise line.wrong(_ONE)
        (at_s,) = line.numbers(fields[:1], _ONE)
        if at_s < last_s:
            raise line.wrong(f"times in ascending order (the line before is at {last_s:g} s)")
        last_s = at_s
        pair = (min(fields[2:4]), max(fields[2:4]))
        match fields[4].lower():
            case "up" if pair not in since_s:
                since_s[pair] = at_s
            case "down" if pair in since_s:
                rows.append((since_s.pop(pair), at_s, *pair))
            case "up" | "down" as state:
                raise line.wrong(f"a connection that is not {state} already")
            case _:
                raise line.wrong(_ONE)
    rows.extend((start_s, last_s, *pair) for pair, start_s in since_s.items())
    return rows


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _tij_lines(contacts: Contacts, names: Sequence[str], window_s: float) -> list[str]:
    """One line for each window that a contact covers at least half of, or for the one its middle is in."""
    rows: list[tuple[int, int, int]] = []
    for start_s, end_s, a, b in _rows(contacts):
        low, high = round(start_s / window_s), round(end_s / window_s)
        if low == high:
            low = floor((start_s + end_s) / 2.0 / window_s)
            high = low + 1
        rows.extend((window + 1, a, b) for window in range(low, high))
    rows = sorted(set(rows))
    return [f"{_number(window * window_s)} {names[a]} {names[b]}" for window, a, b in rows]


def _one_lines(contacts: Contacts, names: Sequence[str], _: float) -> list[str]:
    events = [(start_s, 1, a, b) for start_s, _end_s, a, b in _rows(contacts)]
    events += [(end_s, 0, a, b) for _start_s, end_s, a, b in _rows(contacts)]
    return [f"{_number(at_s)} CONN {names[a]} {names[b]} {'up' if up else 'down'}" for at_s, up, a, b in sorted(events)]


def _haggle_lines(contacts: Contacts, names: Sequence[str], _: float) -> list[str]:
    """With the two further columns of the published lists: the how-manieth contact of the pair, and the gap."""
    lines: list[str] = []
    before: dict[tuple[int, int], tuple[int, float]] = {}
    for start_s, end_s, a, b in _rows(contacts):
        count, last_s = before.get((a, b), (0, start_s))
        before[(a, b)] = (count + 1, end_s)
        gap_s = start_s - last_s
        lines.append(f"{names[a]} {names[b]} {_number(start_s)} {_number(end_s)} {count + 1} {_number(gap_s)}")
    return lines


def _rows(contacts: Contacts) -> list[tuple[float, float, int, int]]:
    columns = (contacts.start_s, contacts.end_s, contacts.a, contacts.b)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _number(value: float) -> str:
    """The shortest spelling that reads back as the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


_WRITERS: dict[ContactFormat, Callable[[Contacts, Sequence[str], float], list[str]]] = {
    "tij": _tij_lines,
    "one": _one_lines,
    "haggle": _haggle_lines,
}
