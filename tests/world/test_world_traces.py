"""Traces: every format reads back what it wrote, and says which line is wrong."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from presence import moving_nodes

from thyme.model.errors import InputError
from thyme.model.geometry import Point
from thyme.world.contacts.contact_table import Contacts, contacts_from
from thyme.world.files.contacts import ContactFormat, read_contacts, write_contacts
from thyme.world.files.movement import MovementFormat, read_movement, write_movement
from thyme.world.mobility.placement import uniform_places
from thyme.world.mobility.waypoint import Waypoint, random_waypoint
from thyme.world.movement import Leg, movement_of_legs

CONTACT_FORMATS: tuple[ContactFormat, ...] = get_args(ContactFormat)
MOVEMENT_FORMATS: tuple[MovementFormat, ...] = get_args(MovementFormat)


@st.composite
def contacts(draw: st.DrawFn, step_s: float) -> Contacts:
    """Contacts of up to five nodes on a raster, in which everybody meets somebody."""
    pair = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda two: two[0] != two[1])
    row = st.tuples(pair, st.integers(0, 30), st.integers(1, 5))
    pieces = draw(st.lists(row, min_size=1, max_size=12))
    everybody = sorted({node for (a, b), _, _ in pieces for node in (a, b)})
    number = {node: place for place, node in enumerate(everybody)}
    return contacts_from(
        len(everybody),
        [start * step_s for _, start, _ in pieces],
        [(start + length) * step_s for _, start, length in pieces],
        [number[a] for (a, _), _, _ in pieces],
        [number[b] for (_, b), _, _ in pieces],
    )


def same(one: Contacts, other: Contacts) -> bool:
    return one.nodes == other.nodes and all(
        getattr(one, column).tolist() == getattr(other, column).tolist() for column in ("start_s", "end_s", "a", "b")
    )


@pytest.mark.parametrize("form", CONTACT_FORMATS)
@settings(max_examples=40)
@given(data=st.data())
def test_contacts_read_back_what_was_written(form: ContactFormat, data: st.DataObject) -> None:
    written = data.draw(contacts(20.0 if form == "tij" else 1.7))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_contacts(path, written, form)
        found = read_contacts(path)
        assert same(found.contacts, written)
        assert found.names == tuple(str(node) for node in range(written.nodes))


def test_a_short_contact_still_fills_a_window(tmp_path: Path) -> None:
    write_contacts(tmp_path / "t", contacts_from(2, [41.0], [43.0], [0], [1]), "tij")
    assert (tmp_path / "t").read_text() == "60 0 1\n"


def test_windows_of_a_list_become_contacts(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("# office\n100 15 3\n120 15 3\n\n180 3 15 A B\n180 200 3\n")
    found = read_contacts(tmp_path / "t")
    assert found.names == ("3", "15", "200")
    assert found.contacts.start_s.tolist() == [80.0, 160.0, 160.0]
    assert found.contacts.end_s.tolist() == [120.0, 180.0, 180.0]
    assert found.contacts.b.tolist() == [1, 1, 2]


@pytest.mark.parametrize("suffix", [".gz", ".zip"])
def test_packed_traces_are_read(tmp_path: Path, suffix: str) -> None:
    path, text = tmp_path / f"t.dat{suffix}", b"1 2 0 5\n2 3 4 9\n"
    if suffix == ".gz":
        with gzip.open(path, "wb") as file:
            file.write(text)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("t.dat", text)
    assert len(read_contacts(path).contacts) == 2


def test_connections_still_up_last_until_the_last_event(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("1 CONN n1 n2 up\n3 CONN n2 n3 up\n9 CONN n3 n2 down\n")
    assert read_contacts(tmp_path / "t").contacts.end_s.tolist() == [9.0, 9.0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("100 1 2\n120 1\n", "line 2: expected `t i j`"),
        ("100 1 2\nsoon 1 2\n", "line 2"),
        ("100 1 2\n120 1 1\n", "line 2"),
        ("1 CONN 1 2 up\n2 CONN 1 2 up\n", "line 2: expected a connection that is not up"),
        ("1 CONN 1 2 up\n2 CONN 1 3 down\n", "line 2: expected a connection that is not down"),
        ("5 CONN 1 2 up\n2 CONN 1 2 down\n", "line 2: expected times in ascending order"),
        ("5 CONN 1 2 sideways\n", "line 1"),
        ("1 2 0 5\n1 2 9 5\n", "line 2: expected `a b start end`"),
        ("hello\n", "line 1: expected a contact trace"),
        ("# nothing\n", "no lines"),
    ],
)
def test_a_wrong_contact_trace_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "t").write_text(text)
    form: ContactFormat | None = "tij" if text.startswith("100") else None
    with pytest.raises(InputError, match=complaint):
        read_contacts(tmp_path / "t", form)


@pytest.mark.parametrize("form", MOVEMENT_FORMATS)
@settings(max_examples=20)
@given(seed=st.integers(0, 10_000), pause_s=st.floats(0.0, 30.0), until_s=st.floats(50.0, 400.0))
def test_movement_reads_back_what_was_written(form: MovementFormat, seed: int, pause_s: float, until_s: float) -> None:
    how = Waypoint(0.5, 15.0, 0.0, pause_s, mobile_fraction=0.8)
    written = random_waypoint(uniform_places(6, 300.0, 200.0, seed), 300.0, 200.0, how, 300.0, seed)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        write_movement(path, written, form, until_s)
        found = read_movement(path, width_m=300.0, height_m=200.0)
    assert found.names == tuple("012345")
    for at_s in np.linspace(0.0, until_s, 40):
        assert found.movement.positions(float(at_s)) == pytest.approx(written.positions(float(at_s)), abs=1e-5)
    assert not moving_nodes(found.movement, 1e6).any()


def test_a_new_order_replaces_one_that_is_not_finished(tmp_path: Path) -> None:
    (tmp_path / "t").write_text(
        "$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$node_(0) set Z_ 0\n"
        '$ns_ at 10 "$node_(0) setdest 100 0 5"\n'
        '$ns_ at 20 "$node_(0) setdest 50 40 4.0"\n'
        '$ns_ at 25 "$node_(0) setdest 0 0 0"\n'
    )
    movement = read_movement(tmp_path / "t", width_m=100.0, height_m=100.0).movement
    assert movement.position(0, 9.0) == Point(0.0, 0.0)
    assert movement.position(0, 20.0) == Point(50.0, 0.0)
    assert movement.position(0, 1e3) == Point(50.0, 20.0)


def test_bounds_of_the_one_are_the_origin(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("100 200 1000 1500 2000 2600\n100 p7 1010 2020\n150 p7 1060 2020\n")
    found = read_movement(tmp_path / "t")
    assert (found.movement.width_m, found.movement.height_m) == (500.0, 600.0)
    assert found.movement.position(0, 25.0) == Point(35.0, 20.0)
    assert found.names == ("p7",)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("$node_(0) set X_ 0\nset Y_ 0\n", "line 2: expected `\\$node_"),
        ('$ns_ at 10 "$node_(0) setdest 100 0 5"\n', "line 1: expected that X_ and Y_ of node 0"),
        ('$node_(0) set X_ 0\n$node_(0) set Y_ 0\n$ns_ at 1 "$node_(0) setdest a 0 5"\n', "line 3"),
        ("$node_(0) set X_ 0\n", "only one of X_ and Y_"),
        ("0 1 1 5 2 2\n0 1 1 5 2 2 9\n", "line 1: expected a movement trace"),
        ("0 1 1 5 2 2\n0 1 1 5 2 2\n0 1 1 0 2 2\n", "line 3: expected triples"),
        ("0 10 0 5 0 5\n0 a 1 1\n0 a 2 2\n", "line 3: expected a later time"),
        ("0 10 0 5 0 5\n0 a 1 9\n", "outside the area"),
        ("0 10 5 0 0 5\n0 a 1 1\n", "line 1: expected `minTime"),
        ("what\n", "line 1"),
    ],
)
def test_a_wrong_movement_trace_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_movement(tmp_path / "t")


def test_a_jump_cannot_be_written(tmp_path: Path) -> None:
    jumping = movement_of_legs(100.0, 100.0, [[Leg(0.0, 0.0, 0.0), Leg(5.0, 50.0, 0.0)]])
    with pytest.raises(InputError, match="node 0 jumps at 5 s"):
        write_movement(tmp_path / "t", jumping, "ns2", 10.0)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_movement(tmp_path / "missing")
    (tmp_path / "picture").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(InputError, match="not a text file"):
        read_contacts(tmp_path / "picture")
