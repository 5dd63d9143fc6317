"""Compare one file of the old tree with its successor, node by node, and every name with the scope that binds it."""

from __future__ import annotations

import ast

from tests.structure.rename_only.imports import pair_imports, split_runs
from tests.structure.rename_only.members import MemberComparison
from tests.structure.rename_only.names import Findings, show
from tests.structure.rename_only.program import OldModule, Program, is_package
from tests.structure.rename_only.scopes import COMPREHENSIONS, Comprehension, Function, Scope, parameters

_PLACES = {"lineno", "col_offset", "end_lineno", "end_col_offset", "type_comment", "kind", "ctx"}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def compare_files(old: OldModule, new_path: str, new_tree: ast.Module, program: Program) -> Findings:
    """Everything in which the new file differs, beyond what may be renamed. Line numbers are those of the new file."""
    comparison = FileComparison(old, new_path, new_tree, program)
    comparison.compare_bodies(old.tree, new_tree)
    comparison.check_scopes()
    return comparison.findings


class FileComparison(MemberComparison):
    """The nodes of a file, and the scopes that they open."""

    def compare(self, old: ast.AST, new: ast.AST) -> None:
        self.line = getattr(new, "lineno", self.line)
        if type(old) is not type(new):
            self.refuse(f"{show(old)} became {show(new)}")
        elif method := getattr(self, f"compare_{type(old).__name__}", None):
            method(old, new)
        elif isinstance(old, COMPREHENSIONS):
            self.compare_comprehension(old, new)  # type: ignore[arg-type]
        else:
            self.compare_fields(old, new)

    def compare_fields(self, old: ast.AST, new: ast.AST, without: tuple[str, ...] = ()) -> None:
        for name, value in ast.iter_fields(old):
            if name not in _PLACES and name not in without:
                self.compare_values(name, value, getattr(new, name), new)

    def compare_values(self, name: str, old: object, new: object, node: ast.AST) -> None:
        if isinstance(old, list) and isinstance(new, list):
            if any(isinstance(node, ast.stmt) for node in (*old, *new)):
                self.compare_statements(old, new)
            elif len(old) != len(new):
                self.refuse(f"{len(old)} of '{name}' became {len(new)} in {show(node)}", getattr(node, "lineno", None))
            else:
                for left, right in zip(old, new, strict=True):
                    self.compare_values(name, left, right, node)
        elif isinstance(old, ast.AST) and isinstance(new, ast.AST):
            self.compare(old, new)
        elif old != new or type(old) is not type(new):
            self.refuse(f"{name}: {show(old)} became {show(new)}", getattr(node, "lineno", None))

    def compare_bodies(self, old: ast.AST, new: ast.AST) -> None:
        statements = []
        for node in (old, new):
            docstring = isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None
            body = node.body[docstring:]  # type: ignore[attr-defined]
            statements.append([] if len(body) == 1 and isinstance(body[0], ast.Pass) else body)
        texts = [ast.get_docstring(node, clean=False) for node in (old, new)]  # type: ignore[arg-type]
        if texts[0] != texts[1] and self._reads_docstrings():
            self.check("a docstring changed, and this file reads __doc__", getattr(new, "lineno", 1))
        self.compare_statements(*statements)

    def _reads_docstrings(self) -> bool:
        return any(
            isinstance(node, ast.Attribute) and node.attr == "__doc__" for node in ast.walk(self.old.tree)
        ) or any(isinstance(node, ast.Name) and node.id == "__doc__" for node in ast.walk(self.old.tree))

    def compare_statements(self, old: list[ast.stmt], new: list[ast.stmt]) -> None:
        """A run of imports is compared as a whole: their order follows the new names."""
        runs, new_runs = split_runs(old), split_runs(new)
        for left, right in zip(runs, new_runs, strict=False):
            if isinstance(left, list) and isinstance(right, list):
                self.compare_imports(left, right)
            elif isinstance(left, ast.AST) and isinstance(right, ast.AST):
                before = len(self.findings.problems)
                self.compare(left, right)
                if len(self.findings.problems) > before and type(left) is not type(right):
                    return  # what follows is shifted
            else:
                self.line = getattr(right[0] if isinstance(right, list) else right, "lineno", self.line)
                self.refuse("an import stands where another statement stood, or the reverse")
                return
        if len(runs) > len(new_runs):
            run = runs[len(new_runs)]
            self.refuse(f"a statement is gone: {show(run[0] if isinstance(run, list) else run)}")
        elif len(new_runs) > len(runs):
            new_statement = new_runs[len(runs)]
            new_statement = new_statement[0] if isinstance(new_statement, list) else new_statement
            self.refuse(f"a statement was added: {show(new_statement)}", new_statement.lineno)

    def compare_imports(self, old: list[ast.stmt], new: list[ast.stmt]) -> None:
        self.line = new[0].lineno
        pairs = pair_imports(old, new, self.old, self.new_module, is_package(self.path), self.program)
        if isinstance(pairs, str):
            self.refuse(pairs)
            return
        for left, right, line in pairs:
            self.pair(left, right, line)

    # Names

    def compare_Name(self, old: ast.Name, new: ast.Name) -> None:
        if type(old.ctx) is not type(new.ctx):
            self.refuse(f"'{old.id}' is read where it was written, or the reverse")
        self.pair(old.id, new.id)

    def compare_optional_name(self, old: str | None, new: str | None) -> None:
        if old and new:
            self.pair(old, new)
        elif old or new:
            self.refuse(f"{show(old)} became {show(new)}")

    def compare_ExceptHandler(self, old: ast.ExceptHandler, new: ast.ExceptHandler) -> None:
        self.compare_optional_name(old.name, new.name)
        self.compare_fields(old, new, ("name",))

    def compare_MatchAs(self, old: ast.MatchAs, new: ast.MatchAs) -> None:
        self.compare_optional_name(old.name, new.name)
        self.compare_fields(old, new, ("name",))

    compare_MatchStar = compare_MatchAs

    def compare_MatchMapping(self, old: ast.MatchMapping, new: ast.MatchMapping) -> None:
        self.compare_optional_name(old.rest, new.rest)
        self.compare_fields(old, new, ("rest",))

    def compare_MatchClass(self, old: ast.MatchClass, new: ast.MatchClass) -> None:
        self.compare_fields(old, new, ("kwd_attrs",))
        owner = self.program.class_of(self.program.resolve(old.cls, self.scope, self.old.name))
        if len(old.kwd_attrs) == len(new.kwd_attrs):
            for left, right in zip(old.kwd_attrs, new.kwd_attrs, strict=True):
                self.compare_member(left, right, self.program.rename_member(owner, left) if owner else None)
        else:
            self.refuse("the keywords of a pattern changed")

    def compare_Global(self, old: ast.Global | ast.Nonlocal, new: ast.Global | ast.Nonlocal) -> None:
        if len(old.names) != len(new.names):
            self.refuse(f"{show(old)} became {show(new)}")
            return
        for left, right in zip(old.names, new.names, strict=True):
            self.pair(left, right)

    compare_Nonlocal = compare_Global

    # Scopes

    def enter(self, old: ast.AST, new: ast.AST) -> tuple[Scope, Scope]:
        outer = self.scope, self.new_scope
        self.scope, self.new_scope = self.old.scopes[old], self.new_scopes[new]
        return outer

    def compare_FunctionDef(self, old: Function, new: Function) -> None:
        self.pair(old.name, new.name)
        self.compare_values("decorator_list", old.decorator_list, new.decorator_list, new)
        self.compare_outer_arguments(old.args, new.args)
        self.compare_values("returns", old.returns, new.returns, new)
        outer = self.enter(old, new)
        self.compare_parameters(old.args, new.args, new)
        self.compare_bodies(old, new)
        self.scope, self.new_scope = outer

    compare_AsyncFunctionDef = compare_FunctionDef

    def compare_Lambda(self, old: ast.Lambda, new: ast.Lambda) -> None:
        self.compare_outer_arguments(old.args, new.args)
        outer = self.enter(old, new)
        self.compare_parameters(old.args, new.args, new)
        self.compare(old.body, new.body)
        self.scope, self.new_scope = outer

    def compare_outer_arguments(self, old: ast.arguments, new: ast.arguments) -> None:
        """Defaults and annotations belong to the scope around the function."""
        for name in ("defaults", "kw_defaults"):
            self.compare_values(name, getattr(old, name), getattr(new, name), new)
        for (left, _), (right, _) in zip(parameters(old), parameters(new), strict=False):
            self.line = right.lineno
            self.compare_values("annotation", left.annotation, right.annotation, right)

    def compare_parameters(self, old: ast.arguments, new: ast.arguments, node: ast.AST) -> None:
        shapes = [
            (len(of.posonlyargs), len(of.args), len(of.kwonlyargs), bool(of.vararg), bool(of.kwarg))
            for of in (old, new)
        ]
        if shapes[0] != shapes[1]:
            self.refuse(f"the parameters of {show(node)} are others", getattr(node, "lineno", None))
            return
        for (left, _), (right, _) in zip(parameters(old), parameters(new), strict=True):
            self.pair(left.arg, right.arg, right.lineno)

    def compare_ClassDef(self, old: ast.ClassDef, new: ast.ClassDef) -> None:
        self.pair(old.name, new.name)
        for name in ("decorator_list", "bases", "keywords"):
            self.compare_values(name, getattr(old, name), getattr(new, name), new)
        outer = self.enter(old, new)
        self.compare_bodies(old, new)
        self.scope, self.new_scope = outer

    def compare_comprehension(self, old: Comprehension, new: Comprehension) -> None:
        if len(old.generators) != len(new.generators):
            self.refuse(f"{show(old)} became {show(new)}")
            return
        self.compare(old.generators[0].iter, new.generators[0].iter)
        outer = self.enter(old, new)
        for number, (left, right) in enumerate(zip(old.generators, new.generators, strict=True)):
            self.compare_fields(left, right, ("iter",) if number == 0 else ())
        self.compare_fields(old, new, ("generators",))
        self.scope, self.new_scope = outer
