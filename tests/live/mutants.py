"""Mutants: how many small mistakes in the link, the store, Thyme-LS and Thyme-DCS the judge of live histories finds.

As a program it changes one place of a copy of the package at a time (a comparison, a condition, a number, a call that
is left out) and plays histories with it: `python tests/live/mutants.py 50`, or `21-30` for those. It takes
up to 20 CPU seconds for each mutant. Among those that it does not find are changes that change nothing.
"""

from __future__ import annotations

import ast
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import thyme
from thyme.cli.fuzz import parse_seeds

ROOMS = {"live/link": 2, "live/store": 1, "approaches/dcs": 2, "approaches/ls": 1}
"""Folders, and how often each is drawn."""
LEFT_OUT = ("entry.py", "options.py", "sockets.py", "backup.py", "folders.py", "__init__.py")
"""Files that simulated nodes do not run, or that hold no code."""
HISTORIES = 40
MAX_CPU_S = 120
"""A mutant that takes longer counts as found."""
PLAY = """
import sys
from pathlib import Path
from thyme.fuzz.live.histories import draw_history, read_history
from thyme.fuzz.live.search import judge_history
for approach in ("ls", "dcs"):
    for seed in range(1, int(sys.argv[1]) // 2 + 1):
        broken = judge_history(draw_history(approach, seed)).broken
        if broken:
            sys.exit(f"{approach} {seed}: {broken[0]}")
for path in sorted(Path(sys.argv[2]).iterdir()):
    broken = judge_history(read_history(path)).broken
    if broken:
        sys.exit(f"{path.stem}: {broken[0]}")
"""
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Mutant(ast.NodeTransformer):
    """Changes the place with a number, counting those that can be changed; -1 only counts."""

    def __init__(self, place: int) -> None:
        self._place = place
        self.places = 0
        self.what = ""

    def _here(self, node: ast.AST, what: str) -> bool:
        self.places += 1
        if self.places - 1 != self._place:
            return False
        self.what = f"line {getattr(node, 'lineno', 0)}: {what}"
        return True

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        other = OTHER.get(type(node.ops[0]))
        if other is not None and self._here(node, f"{ast.unparse(node)} compared by {other.__name__}"):
            node.ops[0] = other()
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if self._here(node, f"if not ({ast.unparse(node.test)})"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self._here(node, f"and for or, or the other way: {ast.unparse(node)}"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Call) and self._here(node, f"left out: {ast.unparse(node)}"):
            return ast.Pass()
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if is_number and self._here(node, f"{value!r} + 1"):
            assert isinstance(value, int | float)
            return ast.Constant(value + 1)
        return node


def files(package: Path) -> dict[str, list[Path]]:
    return {
        room: [path for path in sorted((package / room).glob("*.py")) if path.name not in LEFT_OUT] for room in ROOMS
    }


def mutated(path: Path, draw: Random) -> tuple[str, str]:
    """What was changed, and the changed source."""
    source = path.read_text()
    counted = Mutant(-1)
    counted.visit(ast.parse(source))
    mutant = Mutant(draw.randrange(max(1, counted.places)))
    tree = ast.fix_missing_locations(mutant.visit(ast.parse(source)))
    return mutant.what, ast.unparse(tree)


def verdicts(numbers: range) -> Iterator[tuple[str, str]]:
    """Each mutant, and how it was found: nothing if it was not."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "thyme"
        shutil.copytree(Path(thyme.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        rooms = files(package)
        kept = Path(__file__).parent / "histories"
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        for number in numbers:
            draw = Random(f"mutant/{number}")
            room = draw.choices(list(ROOMS), list(ROOMS.values()))[0]
            path = draw.choice(rooms[room])
            what, source = mutated(path, draw)
            before = path.read_text()
            path.write_text(source)
            command = [sys.executable, "-c", PLAY, str(HISTORIES), str(kept)]
            try:
                done = subprocess.run(
                    command, env=environment, capture_output=True, text=True, preexec_fn=_limit, check=False
                )
            finally:
                path.write_text(before)
            lines = done.stderr.strip().splitlines()
            found = (lines[-1] if lines else "it did not end") if done.returncode else ""
            yield f"{path.relative_to(package)} {what}", found


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))


def main() -> None:
    numbers = parse_seeds(sys.argv[1] if len(sys.argv) > 1 else "50")
    found = 0
    for what, how in verdicts(numbers):
        found += bool(how)
        print(f"{'found' if how else 'not found'}: {what}" + (f" ({how[:90]})" if how else ""), flush=True)  # noqa: T201
    print(f"{found} of {len(numbers)} mutants found")  # noqa: T201


if __name__ == "__main__":
    main()
