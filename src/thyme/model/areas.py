"""Areas on the Earth: a reference point, sides and a direction, from which all devices derive the same metres
(Thyme FGCS §4.3, §7.2).

The reference point is the corner from which x and y count. With bearing 0, x points east and y north; a bearing turns
both clockwise by as many degrees. Latitudes and longitudes (WGS84) become metres by an equirectangular projection at
the reference point, on the ellipsoid: linear, so that all devices agree and the way back is exact. At a distance d it
is off by about d² tan(latitude) / (2 × 6,371 km): 3 cm at 500 m and 60° north.
"""

from __future__ import annotations

from math import cos, hypot, isfinite, radians, sin, sqrt

import msgspec

from thyme.model.errors import InputError
from thyme.model.geometry import Point

EQUATOR_M = 6_378_137.0
FLATTENING = 1.0 / 298.257223563
"""Of the ellipsoid of WGS84: its larger half axis and how flat it is."""
MAX_REFERENCE_LATITUDE = 85.0
"""Nearer to a pole, meridians are no parallels any more."""
MAX_DISTANCE_M = 100_000.0
"""A device further from the reference point has another area, or latitude and longitude exchanged."""
RADIO_RANGES_M = {"802.11g": 113.0, "bluetooth": 10.0}
"""How far radios reach: 802.11g in the papers (Thyme FGCS §8), Bluetooth as its class 2 promises. The size of cells
follows, on which all members must agree: values never change, a radio that reaches further gets another name."""
DEFAULT_RADIO = "802.11g"


class Area(msgspec.Struct, frozen=True, array_like=True):
    """A rectangle on the ground; `bearing` is the direction of its side `height_m`, in degrees clockwise from north."""

    latitude: float
    longitude: float
    width_m: float
    height_m: float
    bearing: float = 0.0
    radio: str = DEFAULT_RADIO

    def __post_init__(self) -> None:
        for name in ("latitude", "longitude", "width_m", "height_m", "bearing"):
            _number(name, getattr(self, name))
        check_coordinates(self.latitude, self.longitude)
        if abs(self.latitude) > MAX_REFERENCE_LATITUDE:
            raise InputError(
                f"the reference point's latitude is {self.latitude:g}; expected -{MAX_REFERENCE_LATITUDE:g} to "
                f"{MAX_REFERENCE_LATITUDE:g} degrees"
            )
        if min(self.width_m, self.height_m) <= 0.0:
            raise InputError(f"an area of {self.width_m:g} x {self.height_m:g} m; give two positive numbers")
        if not -360.0 <= self.bearing <= 360.0:
            raise InputError(f"the area's bearing is {self.bearing:g}; give degrees clockwise from north, 0 to 360")
        if self.radio not in RADIO_RANGES_M:
            raise InputError(f"the area's radio is {self.radio[:40]!r}; expected one of {', '.join(RADIO_RANGES_M)}")

    @property
    def range_m(self) -> float:
        return RADIO_RANGES_M[self.radio]

    def point(self, latitude: object, longitude: object) -> Point:
        """Where in the area a device is, or how far outside."""
        here, there = check_coordinates(latitude, longitude)
        north_m = (here - self.latitude) * self._degree_north_m
        east_m = ((there - self.longitude + 180.0) % 360.0 - 180.0) * self._degree_east_m
        away_m = hypot(east_m, north_m)
        if away_m > MAX_DISTANCE_M:
            raise InputError(
                f"latitude {here:g}, longitude {there:g} is {away_m / 1e3:,.0f} km from the area's reference point "
                f"{self.latitude:g},{self.longitude:g}; expected at most {MAX_DISTANCE_M / 1e3:g} km"
            )
        turn = radians(self.bearing)
        return Point(east_m * cos(turn) - north_m * sin(turn), east_m * sin(turn) + north_m * cos(turn))

    def coordinates(self, point: Point) -> tuple[float, float]:
        """Latitude and longitude of a point of the area."""
        turn = radians(self.bearing)
        east_m = point.x_m * cos(turn) + point.y_m * sin(turn)
        north_m = point.y_m * cos(turn) - point.x_m * sin(turn)
        longitude = self.longitude + east_m / self._degree_east_m
        return self.latitude + north_m / self._degree_north_m, (longitude + 180.0) % 360.0 - 180.0

    @property
    def _degree_north_m(self) -> float:
        return radians(1.0) * EQUATOR_M * (1.0 - _ECCENTRICITY_2) / self._bulge**3

    @property
    def _degree_east_m(self) -> float:
        return radians(1.0) * EQUATOR_M * cos(radians(self.latitude)) / self._bulge

    @property
    def _bulge(self) -> float:
        """The ellipsoid's deviation from a sphere, at the reference point."""
        return sqrt(1.0 - _ECCENTRICITY_2 * sin(radians(self.latitude)) ** 2)


_ECCENTRICITY_2 = FLATTENING * (2.0 - FLATTENING)


def check_coordinates(latitude: object, longitude: object) -> tuple[float, float]:
    here, there = _number("latitude", latitude), _number("longitude", longitude)
    if not (-90.0 <= here <= 90.0 and -180.0 <= there <= 180.0):
        raise InputError(
            f"latitude {here:g}, longitude {there:g}: expected degrees from -90 to 90 and from -180 to 180"
        )
    return here, there


def _number(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise InputError(f"{name} is {given!r}; give a number")
    return float(given)
