"""What could not be carried out; what could not even be meant is an `InputError`."""

from __future__ import annotations

from thyme.model.records import OperationKind


class OperationError(Exception):
    """The operation was understood and could not be carried out."""

    def __init__(self, kind: OperationKind, reason: str) -> None:
        super().__init__(f"{kind.value} failed: {reason}")
        self.reason = reason
