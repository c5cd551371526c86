"""Import cycles are found between the members of each package, and between modules."""

from __future__ import annotations

from benchmarks.house import cycles_of, module_cycles, report


def test_packages_that_import_each_other_are_a_cycle_though_their_modules_are_not() -> None:
    imports = {("a.b.x", "a.c.y"), ("a.c.z", "a.b.w"), ("a.d", "a.b.x")}
    assert cycles_of(imports) == [["a.b", "a.c"]]
    assert module_cycles(imports) == []


def test_modules_with_one_importer_are_counted() -> None:
    told = report({"a": 1, "a.b": 100, "a.c": 20, "a.d": 30}, {("a.b", "a.c"), ("a.c", "a.d"), ("a.b", "a.d")})
    assert "modules 4, lines 151" in told
    assert "modules with one importer 1, of at most 70 lines 1" in told
