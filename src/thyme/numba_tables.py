"""Tables in memory that Python owns, as code compiled by numba sees them: at an address, or many behind one pointer.

Compiled code takes what it is given apart into plain values, seven for an array, at every call of every function. A
radio of nineteen arrays would hand on 133 values each time, and most of the time to compile it would go there. So its
functions are given one pointer, and a table is made of it where it is used; and a table is less than an array, an
address and a number of rows. These are numba's own means of extension
(https://numba.readthedocs.io/en/stable/extending/low-level.html); modules get them through `thyme.compiled`.
"""

from __future__ import annotations

import operator
from hashlib import blake2b
from typing import Any

import numpy as np
from llvmlite.ir import Constant, FunctionType, IntType, Undefined, VoidType
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.core.datamodel import models
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_global
from numba.extending import infer_getattr, intrinsic, register_model
from numba.np.numpy_support import from_dtype


def _pointer(typing_context: Any, address: Any) -> Any:
    """An address as something `carray` takes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))

    return types.voidptr(address), generate


pointer: Any = intrinsic(_pointer)


def _fetch(context: Any, builder: Any, place: Any) -> Any:
    anything, number = context.get_value_type(types.voidptr), IntType(32)
    kind = FunctionType(VoidType(), [anything, number, number, number])
    fetch = get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(fetch, [place, number(0), number(3), number(1)])
    return context.get_dummy_value()


def _prefetch(typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line at an address; an invalid address has no effect."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = builder.inttoptr(arguments[0], context.get_value_type(types.voidptr))
        return _fetch(context, builder, place)

    return types.none(address), generate


def _prefetch_row(typing_context: Any, table: Any, at: Any) -> Any:
    """The same for the beginning of a row of a table."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at = context.cast(builder, arguments[1], signature.args[1], types.intp)
        place = _place(context, builder, signature.args[0].row, arguments[0], at)
        return _fetch(context, builder, builder.bitcast(place, context.get_value_type(types.voidptr)))

    return types.none(table, at), generate


prefetch: Any = intrinsic(_prefetch)
prefetch_row: Any = intrinsic(_prefetch_row)


def _brief(kind: str, description: str) -> str:
    """What a type is called in the names of functions: one that spells out the rows of twenty tables has thousands of
    letters, in every function and at every call, and LLVM reads them all."""
    return f"{kind}{blake2b(description.encode(), digest_size=6).hexdigest()}"


class _Table(types.Type):  # type: ignore[misc]
    """Rows in memory, known by their address and number. Positions are not checked and do not count from the end."""

    def __init__(self, row: Any) -> None:
        self.row = row
        super().__init__(_brief("Table", str(row)))


class _Tables(types.Type):  # type: ignore[misc]
    """Several tables, known by a pointer to the addresses and numbers of all, which stay as they are."""

    def __init__(self, row_types: dict[str, np.dtype[Any]]) -> None:
        self.tables = {name: (at, _Table(from_dtype(row))) for at, (name, row) in enumerate(row_types.items())}
        super().__init__(_brief("Tables", ", ".join(f"{name}: {table}" for name, (_, table) in self.tables.items())))


register_model(_Tables)(models.OpaqueModel)


@register_model(_Table)
class _TableModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, table: _Table) -> None:
        super().__init__(manager, table, [("address", types.voidptr), ("rows", types.intp)])


@infer_getattr
class _Attributes(AttributeTemplate):  # type: ignore[misc]
    key = _Tables

    def generic_resolve(self, tables: _Tables, name: str) -> Any:
        return tables.tables[name][1] if name in tables.tables else None


TRIED_FIRST: dict[str, Any] = {"target": "cpu"}
"""numba asks compilers for one target before those for any target, of which there are dozens."""


@infer_global(len)
class _Length(AbstractTemplate):  # type: ignore[misc]
    metadata = TRIED_FIRST

    def generic(self, given: Any, named: Any) -> Any:
        return types.intp(*given) if isinstance(given[0], _Table) else None


@infer_global(operator.getitem)
class _Reading(AbstractTemplate):  # type: ignore[misc]
    metadata = TRIED_FIRST

    def generic(self, given: Any, named: Any) -> Any:
        table, at = given
        if isinstance(table, _Table) and isinstance(at, types.Integer):
            return table.row(table, types.intp)
        return None


@infer_global(operator.setitem)
class _Writing(AbstractTemplate):  # type: ignore[misc]
    metadata = TRIED_FIRST

    def generic(self, given: Any, named: Any) -> Any:
        table, at, _ = given
        if isinstance(table, _Table) and isinstance(at, types.Integer):
            return types.none(table, types.intp, table.row)
        return None


def _made(context: Any, builder: Any, table: _Table, address: Any, rows: Any) -> Any:
    value = Constant(context.get_value_type(table), Undefined)
    return builder.insert_value(builder.insert_value(value, address, 0), rows, 1)


@lower_getattr_generic(_Tables)  # type: ignore[untyped-decorator]
def _table(context: Any, builder: Any, tables: _Tables, book: Any, name: str) -> Any:
    at, table = tables.tables[name]
    word, anything = context.get_value_type(types.intp), context.get_value_type(types.voidptr)
    book = builder.bitcast(book, word.as_pointer())
    address, rows = (builder.load(builder.gep(book, [word(2 * at + k)])) for k in range(2))
    for said in (address, rows):
        said.set_metadata("invariant.load", builder.module.add_metadata([]))
    return _made(context, builder, table, builder.inttoptr(address, anything), rows)


def _carray(typing_context: Any, address: Any, rows: Any, row: Any) -> Any:
    """Rows at an address, as numba's function of this name gives them, but as a table."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return _made(context, builder, signature.return_type, arguments[0], rows)

    return _Table(row.dtype)(address, rows, row), generate


carray: Any = intrinsic(_carray)


def _place(context: Any, builder: Any, row: Any, table: Any, at: Any) -> Any:
    data = builder.bitcast(builder.extract_value(table, 0), context.get_data_type(row).as_pointer())
    return builder.gep(data, [at])


@lower_builtin(len, _Table)  # type: ignore[untyped-decorator]
def _rows(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.extract_value(arguments[0], 1)


@lower_builtin(operator.getitem, _Table, types.Integer)  # type: ignore[untyped-decorator]
def _read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    row = signature.args[0].row
    return context.unpack_value(builder, row, _place(context, builder, row, *arguments))


@lower_builtin(operator.setitem, _Table, types.Integer, types.Any)  # type: ignore[untyped-decorator]
def _write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, at, value = arguments
    row = signature.args[0].row
    context.pack_value(builder, row, value, _place(context, builder, row, table, at))
    return context.get_dummy_value()


def opener(row_types: dict[str, np.dtype[Any]]) -> Any:
    """A function for compiled code, from the address of a book (an array with a row of address and length for each
    table) to something that has these tables as attributes. Handing that on costs one pointer, where twenty arrays
    would be a hundred."""
    tables = _Tables(row_types)

    def opened(typing_context: Any, book: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(tables))

        return tables(book), generate

    return intrinsic(opened)
