"""The figures of a tree, as one object and as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.structure.annotations import count_code_lines, find_any, find_untyped_parameters, find_untyped_results
from tests.structure.bindings import EMPTY, GENERAL, find_bindings, select_bindings
from tests.structure.circles import ALL, RUN, TYPED, Circle, find_circles
from tests.structure.classes import find_repeated_classes
from tests.structure.imports import find_imports, join_neighbours, unit_of
from tests.structure.lengths import find_markers, find_skips, format_modules, function_lengths, measure, module_lengths
from tests.structure.names import find_leading_participles, find_participles
from tests.structure.source import Module, find_functions, read_modules

_KINDS = {
    "when a module is imported": RUN,
    "all, also inside functions": ALL,
    "all, and for type checkers": TYPED,
}


def measure_tree(root: Path, folders: list[str]) -> dict[str, Any]:
    """Return all figures with their lists. Each subfolder of the first folder, and each other folder, is a package."""
    modules = read_modules(root, folders)
    formatted_modules = format_modules(modules, folders)
    imports = find_imports(modules)
    neighbours = join_neighbours(imports, folders)
    lines = sum(map(count_code_lines, modules))
    anys = find_any(modules)
    bindings = find_bindings(modules)
    empty_names = select_bindings(bindings, EMPTY)
    markers = [marker for module in modules for marker in find_markers(module)]
    return {
        "folders": folders,
        "modules": len(modules),
        "functions": sum(len(find_functions(module)) for module in modules),
        "code_lines": lines,
        "packages": len({unit_of(module.name, folders) for module in modules}),
        "loose_modules": _loose(modules, folders[0]),
        "circles_of_packages": {name: _circles(find_circles(neighbours, kinds)) for name, kinds in _KINDS.items()},
        "circles_of_files": {name: _circles(find_circles(imports, kinds)) for name, kinds in _KINDS.items()},
        "lengths": {
            "module lines": asdict(measure(module_lengths(modules))),
            "module lines, formatted": asdict(measure(module_lengths(formatted_modules))),
            "function lines": asdict(measure(function_lengths(modules))),
            "function lines, formatted": asdict(measure(function_lengths(formatted_modules))),
        },
        "any": anys,
        "any_per_1000_code_lines": round(1000 * len(anys) / max(1, lines), 1),
        "untyped_parameters": find_untyped_parameters(modules),
        "untyped_results": find_untyped_results(modules),
        "fmt_skip": [location for kind, location in markers if kind == "skip"],
        "fmt_off": [location for kind, location in markers if kind == "off"],
        "fmt_skip_everywhere": find_skips(root),
        "bindings": len(bindings),
        "empty_names": empty_names,
        "empty_names_per_1000_bindings": round(1000 * len(empty_names) / max(1, len(bindings)), 1),
        "general_names": select_bindings(bindings, GENERAL),
        "functions_that_begin_with_a_participle": find_leading_participles(modules),
        "participles": find_participles(modules),
        "repeated_classes": find_repeated_classes(modules, private=False),
        "repeated_classes_with_private": find_repeated_classes(modules, private=True),
    }


def write_table(report: dict[str, Any], lists: bool) -> str:
    """Return one line for each figure; `lists`: with the counted places below it."""
    out = []
    for name, value, items in _rows(report):
        out.append(f"{name:<58} {value:>14}")
        if lists:
            out += [f"    {item}" for item in items]
    return "\n".join(out)


def _rows(report: dict[str, Any]) -> Iterator[tuple[str, str, list[str]]]:
    yield "modules", f"{report['modules']:,}", []
    yield "functions", f"{report['functions']:,}", []
    yield "code lines", f"{report['code_lines']:,}", []
    yield "packages", str(report["packages"]), []
    yield f"loose modules in {report['folders'][0]}/", str(len(report["loose_modules"])), report["loose_modules"]
    for of in ("packages", "files"):
        for name, circles in report[f"circles_of_{of}"].items():
            members = sum(len(circle["members"]) for circle in circles)
            yield f"circles of {of}, imports {name}", f"{len(circles)} (of {members})", _describe(circles)
    for name, spread in report["lengths"].items():
        value = f"{spread['median']} / {spread['p90']} / {spread['max']}"
        yield f"{name}, median / p90 / max", value, [f"longest: {spread['longest']}"]
    yield "Any per 1,000 code lines", f"{report['any_per_1000_code_lines']}", []
    for name, key in (
        ("unannotated parameters", "untyped_parameters"),
        ("functions without return annotation", "untyped_results"),
        ("fmt: skip", "fmt_skip"),
        ("fmt: skip in the whole checkout", "fmt_skip_everywhere"),
        ("fmt: off", "fmt_off"),
        ("public functions named by a bare participle", "participles"),
        ("public functions that begin with a participle", "functions_that_begin_with_a_participle"),
        ("variables named by a general word", "general_names"),
    ):
        yield name, str(len(report[key])), report[key]
    rate = f"{report['empty_names_per_1000_bindings']}"
    yield "pronouns and participles per 1,000 bound variables", rate, report["empty_names"]
    for name, key in (
        ("class names defined more than once", "repeated_classes"),
        ("    private ones included", "repeated_classes_with_private"),
    ):
        yield name, str(len(report[key])), [f"{of}: {', '.join(locations)}" for of, locations in report[key].items()]


def _loose(modules: list[Module], folder: str) -> list[str]:
    return [module.path for module in modules if module.path.count("/") == 1 and module.name.startswith(f"{folder}.")]


def _circles(circles: list[Circle]) -> list[dict[str, Any]]:
    return [
        {
            "members": circle.members,
            "arrows": [{"from": start, "to": end, "imports": locations} for start, end, locations in circle.arrows],
        }
        for circle in circles
    ]


def _describe(circles: list[dict[str, Any]]) -> list[str]:
    lines = []
    for circle in circles:
        lines.append(f"{len(circle['members'])}: {', '.join(circle['members'])}")
        for arrow in circle["arrows"]:
            locations = arrow["imports"]
            suffix = f" and {len(locations) - 1} more" if len(locations) > 1 else ""
            lines.append(f"    {arrow['from']} -> {arrow['to']}: {locations[0]}{suffix}")
    return lines
