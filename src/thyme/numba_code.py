"""Functions compiled by numba at their first call, with their machine code kept on disk (`thyme.compiled`).

numba's own cache sees a change of the file in which a function stands, and of no other; but a function is compiled
together with the functions and constants that it uses, wherever they stand. So the code of all is kept in a folder
named by the digest of all sources that are compiled (the modules that import `thyme.compiled`, and what they reach) and
of the versions of numba and llvmlite: whoever changes any of them begins an empty folder. Processes may share a folder,
since files appear in it whole; if no folder can be written, functions are compiled in every process.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.event import Event, Listener, register
from numba.core.runtime import rtsys
from numba.core.typed_passes import NopythonRewrites
from numba.core.typing.templates import ConcreteTemplate, builtin_registry
from numba.core.untyped_passes import InlineClosureLikes
from platformdirs import user_cache_path

from thyme.numba_tables import TRIED_FIRST
from thyme.sources import own_sources

COMPILED = "thyme.compiled"
"""The module that others import."""

MAX_KEPT = 16
"""Folders of code that are kept; beyond them, the one not used for longest goes. A folder takes a few megabytes."""

_NO_C_DOOR = {"no_cfunc_wrapper": True}
_NO_DOORS = {"no_cpython_wrapper": True, **_NO_C_DOOR}
"""Nobody calls compiled functions from C, and Python calls only entries: what would make that possible takes longer to
compile than most functions do."""

_NEEDLESS = (InlineClosureLikes, NopythonRewrites)
"""Steps of numba for what entries and their parts do not have: functions within functions, comprehensions, and
arithmetic of whole arrays."""

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """A function that Python or compiled code calls, kept on disk; divisions by zero raise, as in Python."""
    return _kept(function, _WholeCompiler, **_NO_C_DOOR)


def entry(function: Function) -> Function:
    """A function that Python calls, kept on disk; divisions are not checked."""
    return _kept(function, _EntryCompiler, error_model="numpy", **_NO_C_DOOR)


def tried(function: Function) -> Function:
    """A function that Python calls and that is not kept: for who tries out parts, such as a test. numba's own `njit`
    does not take the parts along, and its code would jump nowhere."""
    return cast(Function, njit(error_model="numpy", pipeline_class=_WholeCompiler, **_NO_C_DOOR)(function))


def inner(function: Function) -> Function:
    """A function that only compiled code calls, as a part of its entries; divisions are not checked."""
    return cast(Function, _plain(njit(error_model="numpy", pipeline_class=_PartCompiler, **_NO_DOORS)(function)))


def borrowing(function: Function) -> Function:
    """An inner function that makes no arrays of its own: those that it is given need not be counted."""
    return cast(
        Function, _plain(njit(error_model="numpy", _nrt=False, pipeline_class=_PartCompiler, **_NO_DOORS)(function))
    )


def _try_numbers_first() -> None:
    """Operators are mostly those of numbers. numba would try those of arrays, sets, texts and more before, at each."""
    for function, kind in builtin_registry.globals:
        if getattr(function, "__module__", "") == "_operator":
            for template in kind.templates:
                if issubclass(template, ConcreteTemplate):
                    template.metadata = TRIED_FIRST


_try_numbers_first()


@cache
def _skip_blas() -> None:
    """Before its first compilation, numba imports scipy.linalg to see whether there is a BLAS, which takes a tenth of a
    short run. No compiled function here multiplies matrices."""
    from numba.np import linalg

    def no_blas() -> None:
        raise ImportError

    ensure_blas, linalg.ensure_blas = linalg.ensure_blas, no_blas
    try:
        import_module("numba.np.arraymath")
    finally:
        linalg.ensure_blas = ensure_blas


class _Undisturbed(Listener):  # type: ignore[misc]
    """Garbage is not looked for while numba compiles: it makes millions of objects that all stay until it is done, and
    to look through them again and again takes a twelfth of the time."""

    def __init__(self) -> None:
        self._depth = 0
        self._collects = False

    def on_start(self, event: Event) -> None:
        if self._depth == 0:
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collects:
            gc.enable()


register("numba:compile", _Undisturbed())


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """The code of an entry: optimised and made machine code, with all its parts in it."""

    def finalize(self) -> None:
        parts = self._linking_libraries
        for library in parts:  # which grows meanwhile
            if isinstance(library, _Part):
                parts.extend(further for further in library._linking_libraries if further not in parts)
        super().finalize()


class _Scalar(_Whole):
    """The same of functions that add no arrays up: nothing is gained by doing several rows at once, and to find that
    out takes long."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False)
        passes.run(self._final_module, builder)


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """The code of an inner function, which waits for its entries. numba would optimise it and make machine code of it,
    with all that it calls in it, and do so again with every function on the way to an entry."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _WholeCompiler(Compiler):  # type: ignore[misc]
    library: type[_Whole] = _Whole

    def define_pipelines(self) -> Any:
        self.state.library = _library(self.library, self.state)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


class _EntryCompiler(_WholeCompiler):
    library = _Scalar

    def define_pipelines(self) -> Any:
        return _short(super().define_pipelines())


class _PartCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        self.state.library = _library(_Part, self.state)
        self.state.flags.no_compile = True
        return _short(super().define_pipelines())


def _short(pipelines: Any) -> Any:
    """Without the needless steps."""
    for pipeline in pipelines:
        pipeline.passes = [step for step in pipeline.passes if step[0] not in _NEEDLESS]
    return pipelines


def _library(kind: type, state: Any) -> Any:
    return kind(state.targetctx.codegen(), state.func_id.func_qualname)


def _plain(dispatcher: Any) -> Any:
    """A function that is compiled once for a type, not once for every constant that it is called with, and that Python
    cannot call."""
    find = getattr(dispatcher, "get_call_template", None)
    if find is None:  # as it is where numba is told not to compile
        return dispatcher

    def find_plain(given: Any, named: Any) -> Any:
        return find(tuple(map(types.unliteral, given)), {name: types.unliteral(one) for name, one in named.items()})

    def keep(result: Any) -> None:
        key = object()
        result.target_context.insert_user_function(key, result.fndesc, [result.library])
        dispatcher.overloads[tuple(result.signature.args)] = result._replace(entry_point=key)

    def refuse(*_: Any, **__: Any) -> Any:
        raise TypeError(f"{dispatcher.__name__} is a part of compiled functions; Python calls only their entries")

    dispatcher.get_call_template = find_plain
    dispatcher.add_overload = keep
    dispatcher._compile_for_args = refuse
    return dispatcher


def _kept(function: Function, compiler: type, **options: Any) -> Function:
    dispatcher = njit(pipeline_class=compiler, **options)(function)
    if dispatcher is not function:  # as it is where numba is told not to compile
        dispatcher._cache = KeptCode(function)
    return cast(Function, dispatcher)


@cache
def code_folder() -> Path | None:
    """Where the code of these sources is kept; nothing if no folder can be written."""
    digest = sources_digest()
    for root in (user_cache_path("thyme"), Path(__file__).parent / "__pycache__"):
        folder = root / "compiled" / digest
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
            forget_old(folder.parent)
            return folder
    return None


def sources_digest() -> str:
    """A name that changes with every source that is compiled, and with the compiler."""
    versions = f"{numba.__version__} {llvmlite.__version__}".encode()
    return hashlib.sha256(versions + own_sources().digest(compiled_modules())).hexdigest()[:20]


@cache
def compiled_modules() -> tuple[str, ...]:
    """The modules that import `thyme.compiled`, and all that they reach."""
    sources = own_sources()
    return sources.reach(sources.importing(COMPILED))


def forget_old(root: Path) -> None:
    """Remove the folders not used for longest. Whoever uses one of them still compiles once more."""
    ages = []
    for folder in root.iterdir():
        with suppress(OSError):
            ages.append((folder.stat().st_mtime_ns, folder))
    for _, folder in sorted(ages, reverse=True)[MAX_KEPT:]:
        shutil.rmtree(folder, ignore_errors=True)


class _Place:
    """What numba calls a locator."""

    def __init__(self, file: str) -> None:
        self._py_file = file

    def ensure_cache_path(self) -> None:
        folder = code_folder()
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)


class _Code(CompileResultCacheImpl):  # type: ignore[misc]
    """How machine code becomes bytes and is called: by its module, since different ones may have equal functions."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = function.__code__
        self._lineno = code.co_firstlineno
        self._locator = _Place(code.co_filename)
        version = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
        self._filename_base = f"{function.__module__}.{function.__name__}-{self._lineno}.{version}"


class KeptCode(FunctionCache):  # type: ignore[misc]
    """numba's cache of one function, in our folder. Nothing is looked for before the first call."""

    _impl_class = _Code

    def __init__(self, function: Callable[..., Any]) -> None:
        self._name = repr(function)
        self._py_func = function
        self._impl = _Code(function)
        self.enable()

    @cached_property
    def _cache_path(self) -> str:
        return str(code_folder() or "")

    @cached_property
    def _cache_file(self) -> Any:
        return IndexDataCacheFile(self._cache_path, self._impl.filename_base, Path(self._cache_path).name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """As numba's, but the compiler is not prepared before, which takes long: stored code does not need it."""
        found = None
        if self._cache_path:
            rtsys.initialize(context)
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(signature, context)
        if found is None:
            _skip_blas()
        return found

    def save_overload(self, signature: Any, result: Any) -> None:
        """Nothing is kept if a source has changed since this process started: it may hold a mixture of both."""
        with suppress(OSError):
            if self._cache_path and sources_digest() == Path(self._cache_path).name:
                super().save_overload(signature, result)
