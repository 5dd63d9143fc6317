"""Names that no scope tells: attributes, keywords of calls, and names in strings."""

from __future__ import annotations

import ast

from tests.structure.rename_only.mapping import Entry
from tests.structure.rename_only.names import NameComparison, show
from tests.structure.rename_only.program import OldClass, OldModule, Program
from tests.structure.rename_only.scopes import COMPREHENSIONS
from tests.structure.rename_only.texts import Role, find_roles, rename_references


class MemberComparison(NameComparison):
    """Attributes, keywords and strings of a file."""

    def __init__(self, old: OldModule, path: str, tree: ast.Module, program: Program) -> None:
        super().__init__(old, path, tree, program)
        self.roles, self.new_roles = find_roles(old.tree), find_roles(tree)
        self.words = self.mapping.words()

    def compare(self, old: ast.AST, new: ast.AST) -> None:
        raise NotImplementedError

    def compare_values(self, name: str, old: object, new: object, node: ast.AST) -> None:
        raise NotImplementedError

    def compare_Attribute(self, old: ast.Attribute, new: ast.Attribute) -> None:
        self.compare(old.value, new.value)
        self.line = new.end_lineno or new.lineno
        if type(old.ctx) is not type(new.ctx):
            self.refuse(f"'.{old.attr}' is read where it was written, or the reverse")
        self.compare_member(old.attr, new.attr, self._expect_attribute(old))

    def _expect_attribute(self, node: ast.Attribute) -> str | None:
        """The new name of an attribute, where the object is a module, a class or `self`; None if that is not known."""
        base = self.program.resolve(node.value, self.scope, self.old.name)
        if base and base[1] is None:
            return self.program.rename_global(base[0], node.attr)
        owner = self.program.class_of(base)
        if owner is None and isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
            owner = self._class_around(node.value.id)
        return self.program.rename_member(owner, node.attr) if owner else None

    def _class_around(self, name: str) -> OldClass | None:
        scope = self.scope.resolve(name)
        parent = scope.parent if scope else None
        return self.program.classes.get((self.old.name, parent.name)) if parent and parent.kind == "class" else None

    def compare_member(self, old: str, new: str, expected: str | None) -> None:
        """An attribute; without an expected name, any entry may rename it that fits a class of the tree."""
        if expected is not None:
            self._expect_name("attribute", old, new, expected)
            return
        definers = self.program.member_entries(old)
        self._compare_loosely("attribute", old, new, [entry for entries in definers.values() for entry in entries])
        keepers = [f"{module}:{owner or '?'}" for (module, owner), entries in definers.items() if not entries]
        if new != old and keepers:
            self.check(f"the attribute '{old}' became '{new}'; {keepers[0]} has another '{old}': is it not that one?")

    def _expect_name(self, kind: str, old: str, new: str, expected: str) -> None:
        if new == expected:
            self.findings.renamed += new != old
        elif old == expected:
            self.refuse(f"the {kind} '{old}' became '{new}', which the mapping does not list")
        else:
            self.refuse(f"the {kind} '{old}' is '{new}', by the mapping it must be '{expected}'")

    def _compare_loosely(self, kind: str, old: str, new: str, entries: list[Entry]) -> None:
        if new == old:
            general = [entry for entry in entries if entry.module is None and entry.owner is None]
            if general:
                self.refuse(f"the {kind} '{old}' stays, but '{general[0]}' has no module or owner: it renames all")
            elif entries:
                self.check(f"the {kind} '{old}' stays, beside '{entries[0]}': is it another one?")
        elif new in {entry.new for entry in entries}:
            self.findings.renamed += 1
            for entry in entries:
                entry.is_used |= entry.new == new
        else:
            self.refuse(f"the {kind} '{old}' became '{new}', which the mapping does not list")

    # Calls

    def compare_Call(self, old: ast.Call, new: ast.Call) -> None:
        self.compare(old.func, new.func)
        self.compare_values("args", old.args, new.args, new)
        self.compare_keywords(old, new)

    def compare_keywords(self, old: ast.Call, new: ast.Call) -> None:
        if len(old.keywords) != len(new.keywords):
            self.refuse(f"{show(old)} became {show(new)}", new.lineno)
            return
        for left, right in zip(old.keywords, new.keywords, strict=True):
            self.line = right.lineno
            if left.arg is not None and right.arg is not None:
                self._compare_keyword(old, left.arg, right.arg)
            elif left.arg is not right.arg:
                self.refuse(f"{show(old)} became {show(new)}")
            self.compare(left.value, right.value)

    def _compare_keyword(self, call: ast.Call, old: str, new: str) -> None:
        callee = _last_name(call.func)
        target = self.program.resolve(call.func, self.scope, self.old.name)
        if callee in {"partial", "partialmethod"} and call.args:
            callee = _last_name(call.args[0])
            target = self.program.resolve(call.args[0], self.scope, self.old.name)
        is_builtin = isinstance(call.func, ast.Name) and self.scope.resolve(call.func.id) is None
        expected = old if is_builtin else self.program.rename_keyword(target, old)
        if expected is not None and callee != "replace":
            self._expect_name("keyword", old, new, expected)
            return
        entries = [entry for entry in self.mapping.named(old, ("parameter",)) if _may_call(entry, callee)]
        self._compare_loosely("keyword", old, new, entries + self.mapping.named(old, ("attribute",)))

    # Strings

    def compare_Constant(self, old: ast.Constant, new: ast.Constant) -> None:
        if not isinstance(old.value, str) or not isinstance(new.value, str):
            if type(old.value) is not type(new.value) or repr(old.value) != repr(new.value):
                self.refuse(f"{show(old)} became {show(new)}")
            return
        role = self.roles.get(old)
        if role is not self.new_roles.get(new):
            self.refuse(f"the string {show(old.value)} has another role")
        elif role is Role.ANNOTATION and self._compare_code(old.value, new.value):
            pass
        elif role is Role.EXPORT:
            self._expect_name("export", old.value, new.value, self.program.rename_global(self.old.name, old.value))
        elif role is Role.SLOT and self.scope.kind == "class":
            owner = self.program.classes[self.old.name, self.scope.name]
            self._expect_name("slot", old.value, new.value, self.program.rename_own_member(owner, old.value))
        elif role is Role.ATTRIBUTE:
            self._compare_words(old.value, new.value, ("function", "class", "attribute", "variable"))
        elif role is Role.PARAMETER:
            self._compare_words(old.value, new.value, ("parameter", "function"))
        else:
            self._compare_words(old.value, new.value, ())

    def _compare_code(self, old: str, new: str) -> bool:
        """Annotations in strings; False if they are to be compared as strings."""
        try:
            trees = [ast.parse(text.strip(), mode="eval").body for text in (old, new)]
        except SyntaxError:
            return False
        if any(isinstance(node, (*COMPREHENSIONS, ast.Lambda)) for tree in trees for node in ast.walk(tree)):
            return False
        for tree in trees:
            for node in ast.walk(tree):
                if isinstance(node, ast.expr):
                    node.lineno = node.end_lineno = self.line
        self.compare(*trees)
        return True

    def _compare_words(self, old: str, new: str, kinds: tuple[str, ...]) -> None:
        """A string that may name things; a change that an entry of these kinds explains is still to be checked."""
        references = rename_references(old, self.program)
        if old == new:
            if references and old not in references:
                self.check(f"the string {show(old)} stays; by the mapping it is {show(sorted(references)[0])}")
            elif old in self.words:
                self.check(f"the string {show(old)} stays, and the mapping renames '{old}'")
            return
        if new in references:
            self.check(f"the string {show(old)} became {show(new)}, as the mapping says of what it refers to")
            return
        words, new_words = ([word.strip() for word in text.split(",")] for text in (old, new))
        is_explained = len(words) == len(new_words) and all(
            left == right or right in {entry.new for entry in self.mapping.named(left, kinds)}
            for left, right in zip(words, new_words, strict=True)
        )
        if kinds and is_explained:
            self.check(f"the name in the string {show(old)} became {show(new)}, as the mapping says")
        else:
            self.refuse(f"the string {show(old)} became {show(new)}")


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _may_call(entry: Entry, callee: str) -> bool:
    """May a call of this name pass the parameter? A class is called by its name, and takes those of `__init__`."""
    owner = (entry.owner or callee).removesuffix(".__init__")
    return owner.rpartition(".")[2] == callee
