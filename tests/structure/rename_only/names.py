"""Names as they are used in two files, and what each may have become."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tests.structure.rename_only.mapping import BUILTINS
from tests.structure.rename_only.program import OldModule, Program, is_package, module_name
from tests.structure.rename_only.scopes import Scope, build_scopes, parameters


@dataclass
class Findings:
    problems: list[str] = field(default_factory=list)
    to_check: list[str] = field(default_factory=list)
    renamed: int = 0  #: names of scopes, members and keywords that changed


class _Names:
    """The names of one scope: each old one has one new one, and the reverse."""

    def __init__(self) -> None:
        self.news: dict[str, tuple[str, int]] = {}
        self.olds: dict[str, str] = {}


class NameComparison:
    """The names that scopes bind."""

    def __init__(self, old: OldModule, path: str, tree: ast.Module, program: Program) -> None:
        self.old, self.path, self.program, self.mapping = old, path, program, program.mapping
        self.new_module = module_name(path)
        self.new_scopes = build_scopes(tree, self.new_module, is_package(path))
        self.scope, self.new_scope = old.top, self.new_scopes[tree]
        self.names: dict[Scope, _Names] = {}
        self.findings = Findings()
        self.line = 1  #: of the node that is compared
        calls = [node for node in ast.walk(old.tree) if isinstance(node, ast.Call)]
        self.keywords = {word.arg for call in calls for word in call.keywords}

    def refuse(self, text: str, line: int | None = None) -> None:
        self.findings.problems.append(f"{self.path}:{line or self.line}: {text}")

    def check(self, text: str, line: int | None = None) -> None:
        self.findings.to_check.append(f"{self.path}:{line or self.line}: {text}")

    def pair(self, old: str, new: str, line: int | None = None) -> None:
        """A name as it is used in the current scopes."""
        line = line or self.line
        holder, new_holder = self.scope.resolve(old), self.new_scope.resolve(new)
        if holder is None or new_holder is None:
            if holder is not new_holder:
                problem = f"a variable '{new}' captures it" if holder is None else f"nothing in the file binds '{new}'"
                self.refuse(f"'{old}' became '{new}', but {problem}", line)
            elif old != new:
                self.refuse(f"'{old}' became '{new}', which is bound outside of the file", line)
        elif holder.number != new_holder.number:
            self.refuse(f"'{old}' became '{new}', which is a variable of another scope", line)
        else:
            self.record(holder, old, new, line)

    def record(self, holder: Scope, old: str, new: str, line: int) -> None:
        names = self.names.setdefault(holder, _Names())
        first, first_line = names.news.setdefault(old, (new, line))
        if first != new:
            self.refuse(f"'{old}' became '{new}', but '{first}' in line {first_line}", line)
        elif names.olds.setdefault(new, old) != old:
            self.refuse(f"'{old}' and '{names.olds[new]}' became one name, '{new}'", line)

    def check_scopes(self) -> None:
        """May each name of a scope have become what it became?"""
        for scope, names in self.names.items():
            for old, (new, line) in names.news.items():
                self._check_name(scope, old, new, line)

    def _check_name(self, scope: Scope, old: str, new: str, line: int) -> None:
        bindings = scope.bound.get(old, set())
        expected = self._expect(scope, old, bindings)
        if expected is not None and new != expected:
            kind = next((kind for kind in ("parameter", "function", "class") if kind in bindings), "variable")
            kind = "attribute" if scope.kind == "class" and kind == "variable" else kind
            where = f" of {scope.name}" if scope.name else ""
            if old == expected:
                self.refuse(f"the {kind} '{old}'{where} became '{new}', which the mapping does not list", line)
            else:
                self.refuse(f"the {kind} '{old}'{where} is '{new}', by the mapping it must be '{expected}'", line)
        if new == old:
            return
        self.findings.renamed += 1
        if new in BUILTINS and scope.kind != "class":
            self.refuse(f"'{old}' became '{new}', which hides the builtin", line)
        if scope.reads_names:
            self.check(f"'{old}' became '{new}' where locals(), vars(), eval() or exec() is called", line)
        if "parameter" in bindings and self._is_option(scope, old):
            self.check(
                f"the parameter '{old}' of {scope.name} became '{new}': is it an option or a field of a form?", line
            )
        if scope.kind == "lambda" and old in self.keywords:
            self.check(f"'{old}' of a lambda became '{new}'; is it called with '{old}='?", line)
        if scope.kind == "class" and "variable" in bindings:
            self.check(f"the field '{old}' of {scope.name} became '{new}': is it a column, or a key of JSON?", line)

    def _is_option(self, scope: Scope, name: str) -> bool:
        """Has the annotation of a parameter a call, such as typer.Option() or Query()?"""
        arguments = getattr(scope.node, "args", None)
        annotations = [of.annotation for of, _ in parameters(arguments) if of.arg == name] if arguments else []
        return any(isinstance(node, ast.Call) for of in annotations if of for node in ast.walk(of))

    def _expect(self, scope: Scope, old: str, bindings: set[str]) -> str | None:
        """The name that the mapping asks for; None: any, a local variable."""
        module = self.old.name
        if scope.kind == "module":
            return self.program.rename_global(module, old)
        if scope.kind == "class":
            return self.program.rename_own_member(self.program.classes[module, scope.name], old)
        if "parameter" in bindings:
            return self.mapping.rename(("parameter",), module, scope.name, old)
        for kind in ("function", "class"):
            if kind in bindings:
                return self.mapping.rename((kind,), module, scope.name, old)
        return None


def show(node: object) -> str:
    """One line of a node or value, cut to 80 characters; an operator is shown by its name."""
    text = (ast.unparse(node) or type(node).__name__ if isinstance(node, ast.AST) else repr(node)).strip()
    text = text.partition("\n")[0]
    return text if len(text) <= 80 else f"{text[:77]}..."
