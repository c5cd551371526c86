"""Positions from gpsd: a client of its JSON protocol (gpsd_json(5)).

gpsd reports a position about once a second as a TPV object, of which latitude and longitude count if there is a fix
(mode 2 or 3). A connection that is refused, ends, is silent or says what is not the protocol's is opened again after
a wait that doubles; after `MAX_TRIES` in a row without a position the device stays where it was. What goes wrong is
logged once until there is a position again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import msgspec

from thyme.live.link.addresses import Address, address_text, parse_address
from thyme.model.errors import InputError

logger = logging.getLogger("thyme.live")

SOURCE = "gpsd"
SCHEME = "gpsd://"
USUAL = "127.0.0.1:2947"
WATCH = b'?WATCH={"enable":true,"json":true};\n'
MAX_LINE_BYTES = 65_536
"""Several times what gpsd sends in one line."""
CONNECT_S = 5.0
SILENT_S = 30.0
"""gpsd reports every second, also without a fix, as long as it has a receiver."""
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
MAX_TRIES = 12
"""Within some 13 minutes, if gpsd is silent; 7 if it does not run."""
LEAST_FIX = 2
"""Mode of a fix with latitude and longitude."""

Place = Callable[[float, float], object]
"""(latitude, longitude)"""


class GpsdReport(msgspec.Struct, frozen=True, rename={"kind": "class"}):
    """One line, as far as it counts here."""

    kind: str
    mode: int = 0
    lat: float | None = None
    lon: float | None = None
    message: str = ""
    """Of an error."""


_decoder = msgspec.json.Decoder(GpsdReport)


def gpsd_address(source: str) -> Address:
    """Of `gpsd` on this machine, or `gpsd://host:port`."""
    if source != SOURCE and not source.startswith(SCHEME):
        raise InputError(f"position source {source[:60]!r}: expected {SOURCE}, or {SCHEME}host:port")
    return parse_address(source.removeprefix(SCHEME) if source != SOURCE else USUAL, "position source")


class Gpsd:
    """Followed from `begin` on, until `close`."""

    def __init__(self, address: Address, place: Place) -> None:
        self._address, self._place = address, place
        self._following: asyncio.Task[None] | None = None
        self._tries = 0
        """Connections in a row without a position."""
        self.problem = ""
        """Why the last report, or the lack of one, is no position."""

    def begin(self) -> None:
        self._following = asyncio.get_running_loop().create_task(self._follow())

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    async def _follow(self) -> None:
        while self._tries < MAX_TRIES:
            self._tries += 1
            try:
                await self._listen()
            except TimeoutError:
                self._tell(f"says nothing for {SILENT_S:g} s: it may have no receiver")
            except ConnectionRefusedError:
                self._tell("does not answer: it may not be running")
            except OSError as error:
                self._tell(f"cannot be read: {error.strerror or error}")
            except (ValueError, msgspec.MsgspecError) as error:
                self._tell(f"does not speak its JSON protocol: {error}")
            await asyncio.sleep(min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** max(0, self._tries - 1)))
        logger.error("%s; after %d connections the node asks no more: start it again", self.problem, MAX_TRIES)

    async def _listen(self) -> None:
        """Report positions until the connection ends, which is always an error."""
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(*self._address, limit=MAX_LINE_BYTES)
        except TimeoutError as error:
            raise ConnectionError(f"no connection within {CONNECT_S:g} s") from error
        try:
            writer.write(WATCH)
            while True:
                async with asyncio.timeout(SILENT_S):
                    line = await reader.readline()
                if not line:
                    raise ConnectionError("it closed the connection")
                self._take(_decoder.decode(line))
        finally:
            writer.close()

    def _take(self, report: GpsdReport) -> None:
        if report.kind == "ERROR":
            self._tell(f"says: {report.message[:200]!r}")
        if report.kind != "TPV":
            return
        if report.mode < LEAST_FIX or report.lat is None or report.lon is None:
            self._tell("has no fix yet")
            return
        self._tries = 0
        try:
            self._place(report.lat, report.lon)
        except InputError as error:
            self._tell(f"gives a position that is not used: {error}")
            return
        self.problem = ""

    def _tell(self, what: str) -> None:
        known, self.problem = self.problem, f"gpsd at {address_text(self._address)} {what}"
        if not known:
            logger.warning("%s; the device stays where it was", self.problem)
