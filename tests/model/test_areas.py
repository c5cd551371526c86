"""Latitude and longitude as metres of an area, compared with the geocentric formula."""

from __future__ import annotations

from math import cos, hypot, isclose, radians, sin, sqrt, tan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from thyme.model.areas import Area
from thyme.model.errors import InputError
from thyme.model.geometry import Point

SEMI_MAJOR_M, SEMI_MINOR_M = 6_378_137.0, 6_356_752.314245
MEAN_RADIUS_M = 6_371_000.0
CENTIMETRE_M = 0.01

areas = st.builds(
    Area,
    latitude=st.floats(-70.0, 70.0),
    longitude=st.floats(-180.0, 180.0),
    width_m=st.just(500.0),
    height_m=st.just(500.0),
    bearing=st.floats(-360.0, 360.0),
)
points = st.builds(Point, st.floats(-100.0, 600.0), st.floats(-100.0, 600.0))


def geocentric(latitude: float, longitude: float) -> np.ndarray:
    """Metres from the centre of the Earth, on the ellipsoid of WGS84."""
    lat, lon = radians(latitude), radians(longitude)
    curvature_m = SEMI_MAJOR_M**2 / sqrt((SEMI_MAJOR_M * cos(lat)) ** 2 + (SEMI_MINOR_M * sin(lat)) ** 2)
    polar_m = curvature_m * (SEMI_MINOR_M / SEMI_MAJOR_M) ** 2
    return np.array([curvature_m * cos(lat) * cos(lon), curvature_m * cos(lat) * sin(lon), polar_m * sin(lat)])


def seen_from(area: Area, latitude: float, longitude: float) -> tuple[float, float]:
    """Metres east and north of the reference point, in its tangent plane."""
    lat, lon = radians(area.latitude), radians(area.longitude)
    away = geocentric(latitude, longitude) - geocentric(area.latitude, area.longitude)
    east = np.array([-sin(lon), cos(lon), 0.0])
    north = np.array([-sin(lat) * cos(lon), -sin(lat) * sin(lon), cos(lat)])
    return float(away @ east), float(away @ north)


@given(areas, points)
def test_there_and_back_is_within_a_centimetre(area: Area, point: Point) -> None:
    back = area.point(*area.coordinates(point))
    assert back.distance_m(point) < CENTIMETRE_M


@given(areas, points)
def test_the_projection_agrees_with_the_geocentric_formula(area: Area, point: Point) -> None:
    east_m, north_m = seen_from(area, *area.coordinates(point))
    turn = radians(area.bearing)
    x_m, y_m = east_m * cos(turn) - north_m * sin(turn), east_m * sin(turn) + north_m * cos(turn)
    distance_m = hypot(point.x_m, point.y_m)
    off_m = distance_m**2 * tan(radians(abs(area.latitude))) / (2.0 * MEAN_RADIUS_M)
    assert hypot(x_m - point.x_m, y_m - point.y_m) < 1.25 * off_m + CENTIMETRE_M


@given(st.floats(-70.0, 70.0), st.floats(-180.0, 180.0), st.floats(0.0, 360.0), points)
def test_a_bearing_turns_and_keeps_distances(latitude: float, longitude: float, bearing: float, point: Point) -> None:
    assume(hypot(point.x_m, point.y_m) > 1.0)
    straight, turned = (Area(latitude, longitude, 500.0, 500.0, turn) for turn in (0.0, bearing))
    there = straight.coordinates(point)
    assert isclose(hypot(*_xy(turned.point(*there))), hypot(point.x_m, point.y_m), rel_tol=1e-6)


def _xy(point: Point) -> tuple[float, float]:
    return point.x_m, point.y_m


def test_with_a_bearing_of_90_degrees_the_height_points_east() -> None:
    north_up, east_up = (Area(0.0, 0.0, 100.0, 100.0, bearing) for bearing in (0.0, 90.0))
    east, north = (0.0, 0.001), (0.001, 0.0)
    assert _xy(north_up.point(*east)) == pytest.approx((111.319, 0.0), abs=0.001)
    assert _xy(north_up.point(*north)) == pytest.approx((0.0, 110.574), abs=0.001)
    assert _xy(east_up.point(*east)) == pytest.approx((0.0, 111.319), abs=0.001)
    assert _xy(east_up.point(*north)) == pytest.approx((-110.574, 0.0), abs=0.001)


def test_an_area_may_lie_across_the_antimeridian() -> None:
    fiji = Area(-17.0, 179.9999, 200.0, 200.0)
    point = fiji.point(-17.0, -179.9999)
    assert _xy(point) == pytest.approx((21.29, 0.0), abs=0.01)
    assert fiji.coordinates(point) == pytest.approx((-17.0, -179.9999))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"latitude": 91.0}, "expected degrees from -90 to 90"),
        ({"latitude": 89.0}, "reference point's latitude is 89"),
        ({"longitude": 181.0}, "from -180 to 180"),
        ({"longitude": float("nan")}, "longitude is nan; give a number"),
        ({"width_m": 0.0}, "give two positive numbers"),
        ({"bearing": 400.0}, "bearing is 400"),
        ({"radio": "smoke"}, "radio is 'smoke'; expected one of 802.11g, bluetooth"),
    ],
)
def test_an_area_that_cannot_be_is_refused(wrong: dict[str, Any], why: str) -> None:
    right: dict[str, Any] = {"latitude": 38.7, "longitude": -9.1, "width_m": 200.0, "height_m": 120.0}
    with pytest.raises(InputError, match=why):
        Area(**{**right, **wrong})


def test_latitude_and_longitude_exchanged_are_noticed() -> None:
    with pytest.raises(InputError, match=r"km from the area's reference point 38\.7,-9.1; expected at most 100 km"):
        Area(38.7, -9.1, 200.0, 120.0).point(-9.1, 38.7)
    with pytest.raises(InputError, match="longitude is None; give a number"):
        Area(38.7, -9.1, 200.0, 120.0).point(38.7, None)
