"""The one way this package compiles a function: ahead of its first call, cached on disk, types kept.

numba's own decorator is untyped; this one hands back the type it was given, so that mypy still reads the
kernels as the plain functions they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    return cast(Function, njit(cache=True)(function))
