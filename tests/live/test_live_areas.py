"""Areas with a reference point: devices agree on the origin, are placed by hand or by gpsd, and cells follow from the
radio."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import thyme
from thyme.cli import namespaces as namespace_commands
from thyme.cli import node as node_commands
from thyme.cli.node import position_arguments
from thyme.gallery.forms import NewGallery
from thyme.gallery.galleries import gallery_namespace
from thyme.live.daemon.client import Client
from thyme.live.daemon.service import HttpAccess, served
from thyme.live.link.addresses import Address
from thyme.live.node import gpsd
from thyme.live.node.gpsd import Gpsd, gpsd_address
from thyme.live.trust.namespaces import Namespace
from thyme.model.areas import RADIO_RANGES_M, Area
from thyme.model.errors import InputError
from thyme.model.geometry import Point

SQUARE = Area(38.7075, -9.1365, 200.0, 120.0, 30.0)
THERE = Point(150.0, 60.0)
LATITUDE, LONGITUDE = SQUARE.coordinates(THERE)
QUICK = {"join_wait_s": 0.05, "beacons": {"period_s": 0.1}}
PATIENCE_S = 30.0

VERSION = b'{"class":"VERSION","release":"3.25","rev":"3.25","proto_major":3,"proto_minor":15}\n'
SATELLITES = b'{"class":"SKY","device":"/dev/ttyACM0","satellites":[{"PRN":5,"used":true}]}\n'
NO_FIX = b'{"class":"TPV","device":"/dev/ttyACM0","mode":1}\n'


def fix(point: Point) -> bytes:
    latitude, longitude = SQUARE.coordinates(point)
    return f'{{"class":"TPV","mode":3,"lat":{latitude:.9f},"lon":{longitude:.9f},"alt":12.5}}\n'.encode()


def square(area: Area | None = SQUARE) -> Namespace:
    return msgspec.structs.replace(Namespace.drawn("square", "dcs"), area=area)


def node_in(namespace: Namespace, **options: Any) -> thyme.Node:
    return thyme.Node(1, store="memory", namespace=namespace.invitation(), settings=QUICK, **options)


def is_near(point: Point, other: Point = THERE) -> bool:
    return point.distance_m(other) < 0.01


def test_an_invitation_says_where_the_area_is() -> None:
    namespace = square()
    assert Namespace.invited(namespace.invitation()) == namespace
    assert namespace.renewed(b"").area == SQUARE


def test_an_invitation_with_a_radio_of_the_future_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setitem(RADIO_RANGES_M, "halow", 500.0)
        text = square(msgspec.structs.replace(SQUARE, radio="halow")).invitation()
    with pytest.raises(InputError, match="the area's radio is 'halow'; expected one of 802"):
        Namespace.invited(text)


@pytest.mark.parametrize(("radio", "cell_m"), [("802.11g", 40.0), ("bluetooth", 3.5)])
def test_the_grid_follows_from_the_area_and_its_radio(radio: str, cell_m: float) -> None:
    namespace = square(msgspec.structs.replace(SQUARE, radio=radio))
    grid = {"width_m": 200.0, "height_m": 120.0, "cell_m": cell_m}
    assert node_in(namespace).options.settings == {**QUICK, "grid": grid}
    assert node_in(namespace, approach="ls").options.settings == QUICK, "an approach without cells has no grid"
    finer = msgspec.structs.replace(namespace, settings={"grid": {"cell_m": 20.0}})
    assert node_in(finer).options.settings["grid"] == {**grid, "cell_m": 20.0}
    gallery = gallery_namespace(NewGallery(invitation=namespace.invitation()))
    assert (gallery.settings, gallery.area) == ({"grid": grid}, namespace.area)


def test_a_node_is_placed_by_latitude_and_longitude_also_from_outside(tmp_path: Path) -> None:
    async def run() -> None:
        async with node_in(square()) as node:
            node.place(latitude=LATITUDE, longitude=LONGITUDE)
            assert is_near(node.device.host.position())
            assert node.coordinates() == pytest.approx((LATITUDE, LONGITUDE))
            with pytest.raises(InputError, match="but not both"):
                node.place(1.0, 2.0, latitude=LATITUDE, longitude=LONGITUDE)
            with pytest.raises(InputError, match="x_m is None"):
                node.place()
            control = tmp_path / "control.sock"
            async with served(node, HttpAccess(control), lambda: None):
                client = Client(control)
                await asyncio.to_thread(client.place, 10.0, 10.0)
                assert node.device.host.position() == Point(10.0, 10.0)
                words = ["place", "--coordinates", f"{LATITUDE},{LONGITUDE}", "--control", str(control)]
                said = await asyncio.to_thread(CliRunner().invoke, node_commands.app, words)
                assert said.exit_code == 0, said.output
                assert is_near(node.device.host.position())
                status = await asyncio.to_thread(client.status)
                assert status.coordinates == pytest.approx((LATITUDE, LONGITUDE))

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_who_joins_by_invitation_has_the_same_origin(tmp_path: Path) -> None:
    async def run() -> None:
        quick: Any = {"listen": "127.0.0.1:0", "discover": False}
        async with thyme.Spaces(tmp_path / "a", **quick) as one, thyme.Spaces(tmp_path / "b", **quick) as other:
            nodes = [await one.create("square", closed=True, area=SQUARE), await other.join(one.invitation("square"))]
            for node in nodes:
                node.place(latitude=LATITUDE, longitude=LONGITUDE)
                assert is_near(node.device.host.position())

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


def test_without_a_reference_point_latitude_and_longitude_are_refused() -> None:
    async def run() -> None:
        async with node_in(square(None)) as node:
            assert node.coordinates() is None
            with pytest.raises(InputError, match="'square' has no reference point"):
                node.place(latitude=LATITUDE, longitude=LONGITUDE)

    asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    with pytest.raises(InputError, match="'square' has no reference point"):
        node_in(square(None), position_source="gpsd")


def test_a_namespace_is_made_with_a_reference_point(tmp_path: Path) -> None:
    def new(*words: str) -> tuple[int, str]:
        said = CliRunner().invoke(namespace_commands.app, ["new", "square", "--store", str(tmp_path), *words])
        return said.exit_code, said.output if said.exception is None or said.exit_code != 1 else str(said.exception)

    for words, why in [
        (("--reference", "38.7075,-9.1365"), "give the area's sides as well"),
        (("--bearing", "30"), "are for an area with a --reference"),
        (("--area", "200x120", "--reference", "here"), "expected two numbers of degrees"),
        (("--area", "200x120", "--reference", "1,2", "--radio", "smoke"), "expected one of 802.11g, bluetooth"),
        (("--area", "200x120"), "--area without --reference"),
    ]:
        code, output = new(*words)
        assert code != 0
        assert why in output
    code, output = new("--area", "200x120", "--reference", "38.7075,-9.1365", "--bearing", "30")
    assert code == 0, output
    made = Namespace.invited(output.strip())
    assert (made.approach, made.area, made.settings) == ("dcs", SQUARE, {})


Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter, int], Any]


@asynccontextmanager
async def fake_gpsd(talk: Talk) -> AsyncIterator[Address]:
    """A server for which `talk` speaks to the n-th client once it has asked to watch."""
    served_clients = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal served_clients
        served_clients += 1
        number = served_clients
        try:
            writer.write(VERSION)
            assert await reader.readline() == b'?WATCH={"enable":true,"json":true};\n'
            await talk(reader, writer, number)
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


def test_a_node_is_where_gpsd_says_and_connects_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gpsd, "FIRST_WAIT_S", 0.01)
    elsewhere, moved = Point(20.0, 20.0), asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        if number == 1:
            writer.write(SATELLITES + NO_FIX + fix(THERE))
            await moved.wait()
            return  # gpsd ends, and another is started
        if number == 2:
            writer.write(b"SSH-2.0\n")
        else:
            writer.write(fix(elsewhere))
        await reader.read()

    async def run() -> None:
        async with fake_gpsd(talk) as (host, port), node_in(square(), position_source=f"gpsd://{host}:{port}") as node:
            await until(lambda: is_near(node.device.host.position()))
            assert node.notes() == []
            moved.set()
            await until(lambda: is_near(node.device.host.position(), elsewhere))
            assert node.device.host.moving()

    with caplog.at_level(logging.WARNING, "thyme.live"):
        asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    warnings = [record.message for record in caplog.records if "gpsd at" in record.message]
    assert len(warnings) == 2, "one for no fix, one for the end of the connection and what followed"
    assert "has no fix yet; the device stays where it was" in warnings[0]
    assert "it closed the connection" in warnings[1]


def follow(talk: Talk, place: Callable[[float, float], object], give_up: Callable[[Gpsd], bool]) -> str:
    """The problem that a client has in the end."""

    async def run() -> str:
        async with fake_gpsd(talk) as address:
            client = Gpsd(address, place)
            client.begin()
            await until(lambda: give_up(client))
            await client.close()
            return client.problem

    return asyncio.run(asyncio.wait_for(run(), PATIENCE_S))


async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    await reader.read()


async def an_error(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(b'{"class":"ERROR","message":"Unrecognized request"}\n')
    await reader.read()


async def a_long_line(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(b" " * (2 * gpsd.MAX_LINE_BYTES))
    await reader.read()


async def a_place_far_away(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
    writer.write(b'{"class":"TPV","mode":2,"lat":-9.1365,"lon":38.7075}\n')
    await reader.read()


@pytest.mark.parametrize(
    ("talk", "why"),
    [
        (nothing, "says nothing for 0.05 s: it may have no receiver"),
        (an_error, "says: 'Unrecognized request'"),
        (a_long_line, "does not speak its JSON protocol"),
        (a_place_far_away, "gives a position that is not used: latitude -9.1365, longitude 38.7075 is 6"),
    ],
)
def test_what_is_wrong_with_gpsd_is_said(talk: Talk, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if talk is nothing:
        monkeypatch.setattr(gpsd, "SILENT_S", 0.05)
    said = follow(talk, lambda latitude, longitude: SQUARE.point(latitude, longitude), lambda c: why in c.problem)
    assert said.startswith("gpsd at 127.0.0.1:")


def test_connections_to_a_gpsd_that_gives_no_position_are_bounded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gpsd, "FIRST_WAIT_S", 0.001)
    monkeypatch.setattr(gpsd, "MAX_TRIES", 3)
    connections = []

    async def ending(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        connections.append(number)

    follow(ending, lambda latitude, longitude: None, lambda client: "asks no more" in caplog.text)
    assert connections == [1, 2, 3]
    assert "it closed the connection; after 3 connections the node asks no more: start it again" in caplog.text


def test_a_gpsd_that_does_not_run_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()

    async def run() -> str:
        client = Gpsd(address, lambda latitude, longitude: None)
        client.begin()
        await until(lambda: bool(client.problem))
        await client.close()
        return client.problem

    said = asyncio.run(asyncio.wait_for(run(), PATIENCE_S))
    assert said == f"gpsd at 127.0.0.1:{address[1]} does not answer: it may not be running"


def test_sources_of_positions_are_gpsd_here_or_elsewhere() -> None:
    assert gpsd_address("gpsd") == ("127.0.0.1", 2947)
    assert gpsd_address("gpsd://[::1]:3000") == ("::1", 3000)
    for wrong in ("gps", "gpsd:2947", "gpsd://here"):
        with pytest.raises(InputError, match="position source"):
            gpsd_address(wrong)


@pytest.mark.parametrize("more", [("--at", "1,1"), ("--position-file", "here")])
def test_a_source_and_another_position_are_one_too_many(more: tuple[str, str]) -> None:
    words = ["start", "--id", "1", "--store", "memory", "--position", "gpsd", *more]
    said = CliRunner().invoke(node_commands.app, words)
    assert said.exit_code == 2
    assert "--position replaces --at and --position-file" in said.output


def test_a_device_may_start_at_a_fixed_latitude_and_longitude() -> None:
    options = position_arguments(square(), "", "", f"{LATITUDE},{LONGITUDE}")
    assert is_near(options["position"])
    assert position_arguments(square(), "", "", "gpsd") == {"position_source": "gpsd"}
    with pytest.raises(InputError, match="--position there: expected two numbers of degrees, such as"):
        position_arguments(square(), "", "", "there")
