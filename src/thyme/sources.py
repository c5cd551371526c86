"""The package's own source files: which module imports which, and the digest of all that some modules can reach.

Read from the text, without importing anything: imports inside functions and those for types alone count, too. What a
module reaches is its imports, theirs, and so on, with the `__init__` of every package on the way; data files count for
the modules in the same folder. `thyme` itself is not followed, since it offers everything; nor is the registry of
approaches, which names modules but imports none.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "thyme"
_IMPORT = re.compile(rb"^[ \t]*(?:from[ \t]+(\S+)[ \t]+)?import[ \t]+(\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(rb"[\w.]+")


class Sources:
    """The modules below one folder, by their dotted names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules = {_name(file.relative_to(folder)): file for file in sorted(folder.rglob("*.py"))}
        self._imports: dict[str, frozenset[str]] = {}

    def reach(self, entries: Iterable[str]) -> tuple[str, ...]:
        """These modules and all that they can reach, in the order of their names."""
        reached: set[str] = set()
        waiting = list(entries)
        while waiting:
            module = waiting.pop()
            if module not in reached:
                reached.add(module)
                waiting.extend(self.imports(module))
        return tuple(sorted(reached))

    def imports(self, module: str) -> frozenset[str]:
        """The modules of the package that run when this one does."""
        found = self._imports.get(module)
        if found is None:
            named = {part for name in _named(self.file(module).read_bytes()) for part in _with_parents(name)}
            found = frozenset(named & self.modules.keys() - {PACKAGE, module})
            self._imports[module] = found
        return found

    def importing(self, module: str) -> tuple[str, ...]:
        """The modules that import this one themselves."""
        spelled = module.rpartition(".")[2].encode()
        likely = [name for name, file in self.modules.items() if spelled in file.read_bytes()]
        return tuple(name for name in likely if module in self.imports(name))

    def digest(self, modules: Iterable[str]) -> bytes:
        """A hash of the sources of these modules, of the data files beside them, and of all their names."""
        files = {self.file(module) for module in modules}
        data = {file for folder in {file.parent for file in files} for file in _data_files(folder)}
        digest = hashlib.sha256()
        for file in sorted(files | data):
            digest.update(file.relative_to(self.folder).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        return digest.digest()

    def file(self, module: str) -> Path:
        """The file of a module; LookupError if there is none, which would change a digest unnoticed."""
        file = self.modules.get(module)
        if file is None:
            raise LookupError(f"{self.folder} has no module {module!r}: it was moved or renamed; name it as it is now")
        return file


@cache
def own_sources() -> Sources:
    """Those of this very package."""
    return Sources(Path(__file__).parent)


def _name(file: Path) -> str:
    parts = (PACKAGE, *file.with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _named(text: bytes) -> Iterator[str]:
    """Every dotted name that may be a module: `from a import b` may mean the module a.b. Found by the lines that begin
    as an import, which takes a tenth of the time of parsing; one in a docstring counts, too."""
    for start, names in _IMPORT.findall(text):
        assert not start.startswith(b"."), "imports of the package are absolute"
        prefix = f"{start.decode()}." if start else ""
        yield from (prefix + name.decode() for name in _NAME.findall(names))


def _with_parents(name: str) -> Iterator[str]:
    while name:
        yield name
        name = name.rpartition(".")[0]


def _data_files(folder: Path) -> Iterator[Path]:
    """The files of a folder that are not Python, and those of its folders that hold no modules."""
    for file in folder.iterdir():
        if file.is_dir():
            if file.name != "__pycache__" and not (file / "__init__.py").exists():
                yield from _data_files(file)
        elif file.suffix not in (".py", ".pyc"):
            yield file
