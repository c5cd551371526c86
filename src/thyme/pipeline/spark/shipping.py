"""The package as one archive that executors import from, wherever they are.

Its name carries a digest of its content, so machines keep what they have unpacked and never mix two versions. The
dependencies do not travel: a cluster's Python has to have them.
"""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import thyme
from thyme.drafts import drafted
from thyme.pipeline.spark import unpacking
from thyme.pipeline.spark.java import cache_folder

_EPOCH = (2020, 1, 1, 0, 0, 0)
"""The time of every file in the archive: equal packages give equal archives."""


def package_archive() -> Path:
    """The archive of this package, made now or earlier."""
    root = Path(thyme.__path__[0])
    files = {
        f"{unpacking.PAYLOAD}/thyme/{file.relative_to(root)}": file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    }
    files["thyme/__init__.py"] = Path(unpacking.__file__).read_bytes()
    digest = hashlib.blake2b(digest_size=8)
    for name, content in sorted(files.items()):
        digest.update(f"{name}\n{len(content)}\n".encode())
        digest.update(content)
    archive = cache_folder() / f"thyme-{digest.hexdigest()}.zip"
    if not archive.is_file():
        _write(archive, files)
    return archive


def _write(archive: Path, files: dict[str, bytes]) -> None:
    with drafted(archive) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as package:
        for name, content in sorted(files.items()):
            package.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
