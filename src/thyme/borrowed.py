"""Memory that Python owns, as compiled code sees it: arrays at an address, and many tables behind one pointer.

Compiled code takes what it is given apart into plain values, seven for an array, at every call of every function. A
radio of nineteen tables would hand on 133 values each time, and most of the time to compile it would go there; so its
functions are given one pointer, and a table is made of it where it is used. These are numba's own means of extension
(https://numba.readthedocs.io/en/stable/extending/low-level.html); modules get them through `thyme.compiled`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, register_model
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import from_dtype


def _pointer(typing_context: Any, address: Any) -> Any:
    """An address as something `carray` takes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


pointer: Any = intrinsic(_pointer)


def _carray(typing_context: Any, address: Any, length: Any, row: Any) -> Any:
    """What numba's function of this name does, without compiling a function for every type of row."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        length = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return _array(context, builder, signature.return_type, arguments[0], length)

    return types.Array(row.dtype, 1, "C")(address, length, row), generate


def _array(context: Any, builder: Any, kind: Any, address: Any, length: Any) -> Any:
    """An array that somebody else owns."""
    array = make_array(kind)(context, builder)
    row_bytes = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    data = builder.bitcast(address, array.data.type)
    populate_array(array, data=data, shape=[length], strides=[row_bytes], itemsize=row_bytes, meminfo=None)
    return array._getvalue()


carray: Any = intrinsic(_carray)


class _Tables(types.Type):  # type: ignore[misc]
    """Several tables, known by one pointer: to a list of their addresses and lengths, which stays as it is."""

    def __init__(self, row_types: dict[str, np.dtype[Any]]) -> None:
        self.columns = {
            name: (at, types.Array(from_dtype(row), 1, "C")) for at, (name, row) in enumerate(row_types.items())
        }
        super().__init__(f"Tables({', '.join(f'{name}: {row}' for name, row in row_types.items())})")


register_model(_Tables)(models.OpaqueModel)


@infer_getattr
class _TableTypes(AttributeTemplate):  # type: ignore[misc]
    key = _Tables

    def generic_resolve(self, tables: _Tables, name: str) -> Any:
        return tables.columns[name][1] if name in tables.columns else None


@lower_getattr_generic(_Tables)  # type: ignore[untyped-decorator]
def _table(context: Any, builder: Any, tables: _Tables, book: Any, name: str) -> Any:
    at, kind = tables.columns[name]
    word = context.get_value_type(types.intp)
    book = builder.bitcast(book, word.as_pointer())
    found = [builder.load(builder.gep(book, [word(2 * at + k)], inbounds=True)) for k in range(2)]
    for load in found:
        load.set_metadata("invariant.load", builder.module.add_metadata([]))
    address = builder.inttoptr(found[0], context.get_value_type(types.voidptr))
    return _array(context, builder, kind, address, found[1])


def opener(row_types: dict[str, np.dtype[Any]]) -> Any:
    """A function for compiled code, from a book (an array with a row of address and length for each table) to something
    that has these tables as attributes. Handing that on costs one pointer, where twenty arrays would be a hundred."""
    tables = _Tables(row_types)

    def opened(typing_context: Any, book: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(data, context.get_value_type(tables))

        return tables(book), generate

    return intrinsic(opened)
