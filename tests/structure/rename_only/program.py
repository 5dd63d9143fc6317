"""The old tree as a whole: what each module and class defines, where an imported name comes from, its new name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tests.structure.rename_only.mapping import Entry, Mapping
from tests.structure.rename_only.scopes import Scope, build_scopes, parameters


@dataclass(eq=False)
class OldModule:
    name: str
    path: str
    tree: ast.Module
    scopes: dict[ast.AST, Scope]

    @property
    def top(self) -> Scope:
        return self.scopes[self.tree]


@dataclass(eq=False)
class OldClass:
    module: OldModule
    scope: Scope
    node: ast.ClassDef
    members: set[str] = field(default_factory=set)  #: names of its body, and those that its methods assign to `self`


class Program:
    """Names of the old tree, and what the mapping makes of them."""

    def __init__(self, files: dict[str, ast.Module], mapping: Mapping) -> None:
        self.mapping = mapping
        self.modules: dict[str, OldModule] = {}
        self.classes: dict[tuple[str, str], OldClass] = {}
        self.attributes: dict[str, set[tuple[str, str]]] = {}  #: name: module and class ("" if unknown) that define it
        for path, tree in files.items():
            name = module_name(path)
            module = OldModule(name, path, tree, build_scopes(tree, name, is_package(path)))
            self.modules[name] = module
            self._add_classes(module)

    def _add_classes(self, module: OldModule) -> None:
        for node, scope in module.scopes.items():
            if isinstance(node, ast.ClassDef):
                members = set(scope.bound).union(*(_self_attributes(method) for method in node.body))
                self.classes[module.name, scope.name] = OldClass(module, scope, node, members)
                for member in members:
                    self.attributes.setdefault(member, set()).add((module.name, scope.name))
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and not _is_self(node.value):
                self.attributes.setdefault(node.attr, set()).add((module.name, ""))

    def origin(self, module: str, name: str | None) -> tuple[str, str | None]:
        """Where an imported name is defined: a module (and None), or a module and a name of its own."""
        visited = set()
        while name is not None and (module, name) not in visited:
            visited.add((module, name))
            if f"{module}.{name}" in self.modules:
                return f"{module}.{name}", None
            scope = self.modules[module].top if module in self.modules else None
            if scope is None or name not in scope.imports or scope.bound[name] != {"import"}:
                break
            module, name = scope.imports[name]
        return module, name

    def rename_global(self, module: str, name: str, visited: frozenset[tuple[str, str]] = frozenset()) -> str:
        """The new name of what a module defines, imports or contains under a name."""
        if f"{module}.{name}" in self.modules:
            return self.mapping.rename_module(f"{module}.{name}").rpartition(".")[2]
        top = self.modules[module].top if module in self.modules else None
        if top is None or name not in top.bound or (module, name) in visited:
            return name
        if top.bound[name] != {"import"}:
            return self.mapping.rename(_kinds(top.bound[name]), module, "", name)
        source, imported_name = top.imports[name]
        if imported_name == name:
            return self.rename_global(source, imported_name, visited | {(module, name)})
        if imported_name is None and source == name:  # `import db.queue.job_changes` binds db
            return self.mapping.rename_module(name).partition(".")[0]
        return self.mapping.rename(("variable",), module, "", name)

    def rename_import(self, module: str, name: str | None) -> tuple[str, str | None]:
        """What an import must name in the new tree."""
        if name is not None and f"{module}.{name}" in self.modules:
            parent, _, leaf = self.mapping.rename_module(f"{module}.{name}").rpartition(".")
            return parent, leaf
        return self.mapping.rename_module(module), name and self.rename_global(module, name)

    def resolve(self, node: ast.expr, scope: Scope, module: str) -> tuple[str, str | None] | None:
        """The module (and the name in it) that an expression denotes, where imports tell; otherwise None."""
        if isinstance(node, ast.Name):
            holder = scope.resolve(node.id)
            if holder is None or holder.kind == "class":
                return None
            if holder.bound[node.id] == {"import"}:
                return self.origin(*holder.imports[node.id])
            return (module, node.id) if holder.kind == "module" else None
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value, scope, module)
            if base and base[1] is None:
                return self.origin(base[0], node.attr)
        return None

    def _is_package(self, name: str) -> bool:
        return any(module.startswith(f"{name}.") for module in self.modules)

    def class_of(self, target: tuple[str, str | None] | None) -> OldClass | None:
        return self.classes.get((target[0], target[1])) if target and target[1] else None

    def bases(self, of: OldClass) -> Iterator[OldClass]:
        """A class and its bases in the tree, each before its own bases."""
        queue, visited = [of], set()
        while queue:
            current = queue.pop(0)
            if current in visited:
                continue
            visited.add(current)
            yield current
            scope = current.scope.parent or current.module.top
            for base in current.node.bases:
                base = base.value if isinstance(base, ast.Subscript) else base
                parent = self.class_of(self.resolve(base, scope, current.module.name))
                if parent:
                    queue.append(parent)

    def rename_member(self, of: OldClass, name: str) -> str | None:
        """The new name of an attribute or method of a class; None if neither it nor a base in the tree defines it."""
        for definer in self.bases(of):
            if name in definer.members:
                return self.rename_own_member(definer, name)
        return None

    def rename_own_member(self, definer: OldClass, name: str) -> str:
        kinds = member_kinds(definer, name)
        return self.mapping.rename(kinds, definer.module.name, definer.scope.name, name)

    def member_entries(self, name: str) -> dict[tuple[str, str], list[Entry]]:
        """For each module and class ("" if unknown) that defines an attribute: the entries that rename it there."""
        definers = {}
        for module, owner in sorted(self.attributes.get(name, ())):
            kinds = member_kinds(self.classes[module, owner], name) if owner else ("attribute",)
            entries = self.mapping.named(name, kinds)
            definers[module, owner] = [entry for entry in entries if entry.applies(module, owner)]
        return definers

    def rename_keyword(self, target: tuple[str, str | None] | None, keyword: str) -> str | None:
        """The new name of a keyword at the call of a function or class of the tree; None if that is not known."""
        if target is None or target[1] is None:
            return None
        if target[0] not in self.modules:
            return None if self._is_package(target[0]) else keyword
        callee = self.class_of(target)
        if callee is None:
            return self._rename_parameter(self.modules[target[0]], target[1], keyword)
        for definer in self.bases(callee):
            if "function" in definer.scope.bound.get("__init__", ()):
                new = self._rename_parameter(definer.module, f"{definer.scope.name}.__init__", keyword)
                if new is not None:
                    return new
        return self.rename_member(callee, keyword)

    def _rename_parameter(self, module: OldModule, function: str, keyword: str) -> str | None:
        for node, scope in module.scopes.items():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and scope.name == function:
                names = {argument.arg for argument, has_name in parameters(node.args) if has_name}
                if keyword in names:
                    return self.mapping.rename(("parameter",), module.name, function, keyword)
        return None

    def find_clashes(self) -> Iterator[tuple[str, int, str]]:
        """Classes in which two members get one name, or of which a member no longer overrides that of a base."""
        words = self.mapping.words() | {entry.new for entry in self.mapping.entries}
        for name in self.classes.values():
            news: dict[str, set[str]] = {}
            olds: dict[str, set[str]] = {}
            for definer in self.bases(name):
                for member in definer.members & words:
                    new = self.rename_own_member(definer, member)
                    news.setdefault(member, set()).add(new)
                    olds.setdefault(new, set()).add(member)
            location = (name.module.path, name.node.lineno)
            for member, targets in news.items():
                if len(targets) > 1:
                    yield *location, f"'{name.scope.name}.{member}' and that of a base class get different names"
            for new, members in olds.items():
                if len(members) > 1:
                    yield *location, f"{_join(members)} of '{name.scope.name}' become one name, '{new}'"


def module_name(path: str) -> str:
    """`db/queue/job_changes.py` is db.queue.job_changes, `db/__init__.py` is db."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def is_package(path: str) -> bool:
    return path.endswith("/__init__.py")


def member_kinds(definer: OldClass, name: str) -> tuple[str, ...]:
    """The kinds of entries that rename a member of a class; a method, such as a property, may be an attribute."""
    bindings = definer.scope.bound.get(name, set())
    if "class" in bindings:
        return ("class",)
    return ("function", "attribute") if "function" in bindings else ("attribute",)


def _kinds(bindings: set[str]) -> list[str]:
    """The kinds of entries that rename what is bound in these ways at the top of a module."""
    return [kind for kind in ("function", "class", "variable") if kind in bindings]


def _self_attributes(method: ast.stmt) -> set[str]:
    return {
        node.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value)
    }


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}


def _join(names: set[str]) -> str:
    return " and ".join(f"'{name}'" for name in sorted(names))
