"""What has arrived and is not yet acknowledged: told to each sender at the end of a turn, many numbers at once."""

from __future__ import annotations

from collections.abc import Callable

from thyme.live.link.addresses import Address
from thyme.live.link.carrying.parcels import MAX_ACKNOWLEDGED
from thyme.model.ids import NodeId

Tell = Callable[[NodeId, Address, list[int]], None]


class Acknowledgements:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._owed: dict[tuple[NodeId, Address], list[int]] = {}

    def owe(self, to: NodeId, address: Address, number: int) -> None:
        numbers = self._owed.setdefault((to, address), [])
        numbers.append(number)
        if len(numbers) >= MAX_ACKNOWLEDGED:
            del self._owed[(to, address)]
            self._tell(to, address, numbers)

    def tell_all(self) -> None:
        if not self._owed:
            return
        owed, self._owed = self._owed, {}
        for (to, address), numbers in owed.items():
            self._tell(to, address, numbers)
