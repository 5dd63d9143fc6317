"""Strings that name something: where a name in a string follows a renaming, and where a string must not change."""

from __future__ import annotations

import ast
import re
from enum import StrEnum

from tests.structure.rename_only.program import Program

ATTRIBUTE_CALLS = {"getattr", "hasattr", "setattr", "delattr", "attrgetter", "methodcaller", "object"}
PARAMETER_CALLS = {"parametrize", "usefixtures", "getfixturevalue"}
ANNOTATION_CALLS = {"cast", "TypeVar", "NewType", "ForwardRef"}

_REFERENCE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?::[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)?")


class Role(StrEnum):
    EXPORT = "export"  #: in __all__
    SLOT = "slot"  #: in __slots__ or __match_args__
    ATTRIBUTE = "attribute"  #: the name that getattr() and its like take
    PARAMETER = "parameter"  #: names of parameters, separated by commas, for pytest
    ANNOTATION = "annotation"  #: code


def find_roles(tree: ast.Module) -> dict[ast.Constant, Role]:
    """The strings of a file that name something, by where they stand."""
    roles: dict[ast.Constant, Role] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            role = Role.EXPORT if "__all__" in names else Role.SLOT
            if names & {"__all__", "__slots__", "__match_args__"} and node.value:
                roles.update((text, role) for text in _strings(node.value))
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ATTRIBUTE_CALLS:
                roles.update((text, Role.ATTRIBUTE) for text in node.args[:2] if _is_string(text))
            elif name in PARAMETER_CALLS:
                roles.update(
                    (text, Role.PARAMETER)
                    for text in node.args[: 1 if name == "parametrize" else None]
                    if _is_string(text)
                )
            elif name == "cast" and node.args:
                roles.update((text, Role.ANNOTATION) for text in _annotations(node.args[0]))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.expr):
                roles.update((text, Role.ANNOTATION) for text in _annotations(annotation))
    return roles


def _strings(node: ast.AST) -> list[ast.Constant]:
    return [child for child in ast.walk(node) if _is_string(child)]


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _annotations(node: ast.expr) -> list[ast.Constant]:
    """The strings of an annotation that are code themselves: not those of Literal, and no metadata of Annotated."""
    if isinstance(node, ast.Call | ast.JoinedStr):
        return []
    if isinstance(node, ast.Subscript):
        name = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        if name == "Literal":
            return []
        if name == "Annotated" and isinstance(node.slice, ast.Tuple):
            return _annotations(node.slice.elts[0])
    if _is_string(node):
        return [node]  # type: ignore[list-item]
    children = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return [text for child in children for text in _annotations(child)]


def rename_references(text: str, program: Program) -> set[str]:
    """What `package.module`, `module:name` or `package/module.py` is called in the new tree; empty for other texts."""
    if text.endswith(".py") and "/" in text:
        old = text.removesuffix(".py").replace("/", ".")
        return {program.mapping.rename_module(old).replace(".", "/") + ".py"} if old in program.modules else set()
    if not _REFERENCE.fullmatch(text) or not ("." in text or ":" in text):
        return set()
    path, colon, names = text.partition(":")
    if colon:
        # A registry may leave the package out: `submit:submit_job` for lumos_queue.cli.submit.
        modules = [name for name in program.modules if name == path or name.endswith(f".{path}")]
        depth = path.count(".") + 1
        return {
            ".".join(program.mapping.rename_module(module).split(".")[-depth:])
            + ":"
            + _rename_path(module, names, program)
            for module in modules
            if names.partition(".")[0] in program.modules[module].top.bound
        }
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        module = ".".join(parts[:length])
        if module in program.modules:
            rest = _rename_path(module, ".".join(parts[length:]), program)
            return {program.mapping.rename_module(module) + (f".{rest}" if rest else "")}
    return set()


def _rename_path(module: str, names: str, program: Program) -> str:
    """`function`, `Class.method` in a module, by its new names."""
    first, dot, rest = names.partition(".")
    if not first:
        return ""
    owner = program.class_of(program.origin(module, first))
    member = program.rename_member(owner, rest) if owner and dot and "." not in rest else None
    return program.rename_global(module, first) + (f".{member or rest}" if dot else "")
