"""The optional parts of an installation: a plain `pip install thyme-crowd` is a node, extras add the rest."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from thyme.model.errors import InputError

EXTRAS = {
    "gallery": ("PIL", "cryptography"),
    "study": ("jinja2", "matplotlib", "networkx", "numba", "pandas", "pyarrow", "pyspark", "scipy"),
}
"""By name of the extra, the packages that it installs and that are imported."""


@cache
def is_installed(extra: str) -> bool:
    return all(find_spec(package) is not None for package in EXTRAS[extra])


def install_command(extra: str) -> str:
    return f"pip install 'thyme-crowd[{extra}]' (in a clone: pip install '.[{extra}]')"


def require(extra: str, what: str) -> None:
    """InputError unless this extra, which `what` needs, is installed."""
    if not is_installed(extra):
        raise InputError(f"{what} needs the extra {extra!r}; install it: {install_command(extra)}")
