"""The shape of the package: its size, its import cycles, and modules that import much or serve one other only.

    python -m benchmarks.house [SRC]

SRC is a folder with the package `thyme` (default: `src` of this clone), so that an earlier commit can be compared.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
import networkx as nx

ROOT = Path(__file__).parents[1]
SMALL_LINES = 70


def cycles_of(imports: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Groups of modules that import each other in a circle, at the level where their names part.

    `a.b.x` importing `a.c.y` counts as an import of `a.c` by `a.b`; in each package, every circle is one group.
    """
    siblings: dict[str, nx.DiGraph[str]] = {}
    for importer, imported in imports:
        one, other = importer.split("."), imported.split(".")
        same = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
        if same is not None:
            siblings.setdefault(".".join(one[:same]), nx.DiGraph()).add_edge(
                ".".join(one[: same + 1]), ".".join(other[: same + 1])
            )
    return [
        sorted(group)
        for graph in siblings.values()
        for group in nx.strongly_connected_components(graph)
        if len(group) > 1
    ]


def module_cycles(imports: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Modules that import each other in a circle, wherever they are."""
    graph: nx.DiGraph[str] = nx.DiGraph(list(imports))
    return [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]


def line_counts(folder: Path) -> dict[str, int]:
    """The lines of each module of the package."""
    counts = {}
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder.parent).with_suffix("").parts
        counts[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = len(file.read_text("utf-8").splitlines())
    return counts


def report(lines: Mapping[str, int], imports: set[tuple[str, str]]) -> str:
    importers: dict[str, set[str]] = {}
    fan_out: dict[str, int] = {}
    for importer, imported in imports:
        importers.setdefault(imported, set()).add(importer)
        fan_out[importer] = fan_out.get(importer, 0) + 1
    single = [module for module, users in importers.items() if len(users) == 1 and lines.get(module)]
    small = [module for module in single if lines[module] <= SMALL_LINES]
    rooms: dict[str, list[int]] = {}
    for module, count in lines.items():
        rooms.setdefault(module.split(".")[1] if "." in module else module, []).append(count)
    widest = sorted(fan_out.items(), key=lambda item: -item[1])[:5]
    packages, modules = cycles_of(imports), module_cycles(imports)
    return "\n".join(
        [
            f"modules {len(lines)}, lines {sum(lines.values()):,}",
            *(
                f"  {room:12s} {len(counts):4d} modules {sum(counts):7,d} lines"
                for room, counts in sorted(rooms.items())
            ),
            f"modules with one importer {len(single)}, of at most {SMALL_LINES} lines {len(small)}",
            f"largest fan-out {', '.join(f'{module} {count}' for module, count in widest)}",
            f"cycles between the members of a package {len(packages)}",
            *(f"  {', '.join(group)}" for group in sorted(packages)),
            f"cycles between modules {len(modules)}",
            *(f"  {', '.join(group)}" for group in sorted(modules)),
        ]
    )


def main(sources: Path) -> None:
    sys.path.insert(0, str(sources))
    graph = grimp.build_graph("thyme", cache_dir=None)
    imports = {
        (importer, imported)
        for importer in graph.modules
        for imported in graph.find_modules_directly_imported_by(importer)
    }
    print(report(line_counts(sources / "thyme"), imports))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src")
