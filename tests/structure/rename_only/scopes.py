"""Which scope binds a name: modules, functions, lambdas, classes and comprehensions, by the rules of Python."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Function = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(eq=False)
class Scope:
    kind: str  #: module, function, lambda, class, comprehension
    name: str  #: `Class.method`; empty for a module
    node: ast.AST
    parent: Scope | None
    number: int  #: scopes are numbered in the order of the text, alike in trees of one shape
    bound: dict[str, set[str]] = field(default_factory=dict)  #: name: how it is bound (function, class, import, ...)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)  #: name: module, and the name in it
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    reads_names: bool = False  #: calls locals(), vars(), eval() or exec()

    def bind(self, name: str, kind: str) -> None:
        self.bound.setdefault(name, set()).add(kind)

    def resolve(self, name: str) -> Scope | None:
        """The scope that binds a name which is used in this one; None: a builtin, or nothing that the file binds."""
        module = self._module()
        if name in self.global_names:
            return module if name in module.bound else None
        if name in self.bound and name not in self.nonlocal_names:
            return self
        scope = self.parent
        while scope is not None:
            if scope.kind == "module" or name in scope.global_names:
                return module if name in module.bound else None
            if scope.kind != "class" and name in scope.bound and name not in scope.nonlocal_names:
                return scope
            scope = scope.parent
        return None

    def _module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


def build_scopes(tree: ast.Module, module: str, is_package: bool) -> dict[ast.AST, Scope]:
    """The scope that each module, function, lambda, class and comprehension of a file opens."""
    builder = _Builder(tree, module, is_package)
    builder.visit_all(tree.body)
    return builder.scopes


def imported_module(node: ast.ImportFrom, module: str, is_package: bool) -> str:
    """The absolute module of `from ... import`, which may be written relative to `module`."""
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    above = parts[: len(parts) - node.level + is_package]
    return ".".join([*above, *([node.module] if node.module else [])])


def parameters(arguments: ast.arguments) -> list[tuple[ast.arg, bool]]:
    """Each parameter, and whether a call may name it."""
    keyword_parameters = [(argument, True) for argument in (*arguments.args, *arguments.kwonlyargs)]
    other_parameters = [
        (argument, False) for argument in (*arguments.posonlyargs, arguments.vararg, arguments.kwarg) if argument
    ]
    return keyword_parameters + other_parameters


class _Builder(ast.NodeVisitor):
    def __init__(self, tree: ast.Module, module: str, is_package: bool) -> None:
        self.module, self.is_package = module, is_package
        self.scope = Scope("module", "", tree, None, 0)
        self.scopes: dict[ast.AST, Scope] = {tree: self.scope}

    def visit_all(self, nodes: list[ast.stmt] | list[ast.expr]) -> None:
        for node in nodes:
            self.visit(node)

    def _open(self, kind: str, name: str, node: ast.AST) -> Scope:
        prefix = f"{self.scope.name}." if self.scope.name else ""
        scope = Scope(kind, prefix + name, node, self.scope, len(self.scopes))
        self.scopes[node] = scope
        return scope

    def visit_FunctionDef(self, node: Function) -> None:
        self.scope.bind(node.name, "function")
        self.visit_all(node.decorator_list)
        self._visit_arguments(node.args)
        if node.returns:
            self.visit(node.returns)
        self._visit_body("function", node.name, node, node.args, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._visit_arguments(node.args)
        self._visit_body("lambda", "<lambda>", node, node.args, [node.body])

    def _visit_arguments(self, arguments: ast.arguments) -> None:
        self.visit_all(arguments.defaults)
        self.visit_all([default for default in arguments.kw_defaults if default])
        for argument, _ in parameters(arguments):
            if argument.annotation:
                self.visit(argument.annotation)

    def _visit_body(self, kind: str, name: str, node: ast.AST, arguments: ast.arguments | None, body: list) -> None:
        outer, self.scope = self.scope, self._open(kind, name, node)
        for argument, has_name in parameters(arguments) if arguments else ():
            self.scope.bind(argument.arg, "parameter" if has_name and kind == "function" else "variable")
        self.visit_all(body)
        self.scope = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.scope.bind(node.name, "class")
        self.visit_all([*node.decorator_list, *node.bases, *(word.value for word in node.keywords)])
        self._visit_body("class", node.name, node, None, node.body)

    def _visit_comprehension(self, node: Comprehension) -> None:
        self.visit(node.generators[0].iter)
        outer, self.scope = self.scope, self._open("comprehension", "<comprehension>", node)
        for number, generator in enumerate(node.generators):
            self.visit(generator.target)
            if number:
                self.visit(generator.iter)
            self.visit_all(generator.ifs)
        if isinstance(node, ast.DictComp):
            self.visit_all([node.key, node.value])
        else:
            self.visit(node.elt)
        self.scope = outer

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        holder = self.scope
        while holder.kind == "comprehension" and holder.parent:
            holder = holder.parent
        self._bind(node.target.id, holder)
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self._bind(node.id, self.scope)

    def _bind(self, name: str, scope: Scope) -> None:
        if name not in scope.global_names | scope.nonlocal_names:
            scope.bind(name, "variable")

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in {"locals", "vars", "eval", "exec"}:
            self.scope.reads_names = True
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.global_names.update(node.names)
        for name in node.names:
            self.scope._module().bind(name, "variable")

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocal_names.update(node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self._bind(node.name, self.scope)
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name:
            self._bind(node.name, self.scope)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest:
            self._bind(node.rest, self.scope)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.scope.bind(name, "import")
            self.scope.imports[name] = (alias.name if alias.asname else name, None)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if alias.name != "*":
                name = alias.asname or alias.name
                self.scope.bind(name, "import")
                self.scope.imports[name] = (imported_module(node, self.module, self.is_package), alias.name)
