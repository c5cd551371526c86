"""How the package stands up on a machine of a cluster that does not have it.

The archive that travels to executors (`pipeline.spark.shipping`) has this file as its `thyme/__init__.py`, and the
package itself under `package/`. Importing `thyme` there unpacks the package once per machine and content into the
user's cache and goes on from there: code that reads its own files finds them, and what is compiled for this machine
stays compiled for the next study. Nothing but the standard library may be imported here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from pathlib import Path

PAYLOAD = "package"


def unpack(archive: Path) -> Path:
    """The folder of the archive's package, unpacked now or earlier."""
    folder = _cache_folder() / archive.stem
    if not folder.is_dir():
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder.parent))
        try:
            with zipfile.ZipFile(archive) as package:
                package.extractall(draft, [name for name in package.namelist() if name.startswith(f"{PAYLOAD}/")])
            (draft / PAYLOAD).rename(folder)
        except OSError:
            if not folder.is_dir():  # else another executor of this machine was first
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder / "thyme"


def _cache_folder() -> Path:
    root = os.environ.get("XDG_CACHE_HOME")
    for folder in (Path(root) if root else Path("~/.cache").expanduser(), Path(tempfile.gettempdir())):
        place = folder / f"thyme-packages-{os.getuid()}"
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        return place
    raise OSError("neither the user's cache nor the temporary folder can be written to")


if __name__ == "thyme":
    __path__ = [str(unpack(Path(__file__).resolve().parents[1]))]
    __file__ = str(Path(__path__[0]) / "__init__.py")
    exec(compile(Path(__file__).read_bytes(), __file__, "exec"))
