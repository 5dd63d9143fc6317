"""Parse a formula's text to a node by precedence climbing. Variables are inserted as values, never as text.

The operators, from the loosest to the tightest: relations, sums, products (also without `*`: `2x`, `3(4+1)`), signs,
powers, `%` and `!`. `7//2` is 3, rounded down. `1/2x` is half of x, because a product without `*` binds like a product
with `*`; only letters side by side bind tighter (`1/xy`).

The rules for rationales (rationales/maths/expressions.py) use another parser: they turn each written operation into an
action, and refuse everything except plain arithmetic. This parser evaluates numbers at once, reads unknowns, units
and words, and its errors are sent to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from lumos_queue.actions.algebra.kinds import MAX_DEPTH, failure
from lumos_queue.actions.algebra.nodes import RELATIONS, Node, call, combine, names, require_size, substitute
from lumos_queue.actions.algebra.tokens import Token, tokenise
from lumos_queue.episode import Variables

Inner = TypeVar("Inner")

_SUM = frozenset("+-")
_PRODUCT = {"*": "*", "/": "/", "mod": "mod"}
_BEGINS_FACTOR = frozenset({"name", "run", "function", "(", "call", "reference"})
_HUNDREDTH = Fraction(1, 100)


def read(text: str, variables: Variables) -> tuple[list[Node], bool]:
    """Return the nodes of a text's formulas, and whether the text or its variables contain decimals.

    Commas separate formulas: `x-7y, where x=1` gives two. Raises ActionError.
    """
    parser = _Parser(text, variables)
    return [require_size(node) for node in parser.formulas()], parser.decimal


def value_node(value: Mapping[str, Any]) -> tuple[Node, bool]:
    """Return the node of a stored value, and whether its text has decimals. Raises ActionError for the kind text."""
    kind, text = value.get("kind"), str(value.get("text", ""))
    if kind == "number" and text.isascii() and text.isdigit() and len(text) < 19:
        return Fraction(int(text)), False
    if kind == "text":
        raise failure("not_a_number", f"{text[:60]!r} is no formula")
    if kind in ("list", "solution"):
        items = [read(str(item), {}) for item in value.get("items", ())]
        return ("list", *(node for nodes, _ in items for node in nodes)), any(decimal for _, decimal in items)
    nodes, decimal = read(text, {})
    return (nodes[0] if len(nodes) == 1 else ("list", *nodes)), decimal


class _Parser:
    def __init__(self, text: str, variables: Variables):
        self.tokens, self.decimal = tokenise(text)
        self.variables = variables
        self.cache: dict[str, tuple[Node, bool]] = {}
        self.position = 0
        self.depth = 0
        self.kind: str = self.tokens[0][0]

    def formulas(self) -> list[Node]:
        nodes = [self.relation()]
        while self.kind == ",":
            self.advance()
            nodes.append(self.relation())
        if self.kind != "end":
            raise self.make_syntax_error()
        return nodes

    def advance(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        self.kind = self.tokens[self.position][0]
        return token

    def make_syntax_error(self) -> Exception:
        kind, value = self.tokens[self.position]
        if kind == "end":
            return failure("syntax", "the formula ends too early")
        text = str(value if value is not None else kind)[:40]
        return failure("syntax", f"{text!r} does not fit here; is an operator or a bracket missing?")

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise failure("too_large", f"brackets, signs and powers may be nested {MAX_DEPTH} deep")

    def relation(self) -> Node:
        left = self.sum()
        if self.kind not in RELATIONS:
            return left
        operator, _ = self.advance()
        right = self.sum()
        if self.kind in RELATIONS:
            raise failure("syntax", "a formula may hold one relation; separate several by commas")
        for side in (left, right):
            if isinstance(side, tuple) and (side[0] in RELATIONS or side[0] == "list"):
                raise failure("not_a_number", "an equation or a list stands where an expression is needed")
        return (operator, left, right)

    def sum(self) -> Node:
        left = self.product()
        while self.kind in _SUM:
            operator, _ = self.advance()
            left = combine(operator, left, self.product())
        return left

    def product(self) -> Node:
        left = self.unary()
        while True:
            if self.kind in _PRODUCT:
                operator, _ = self.advance()
                left = combine(operator, left, self.unary())
            elif self.kind == "//":
                self.advance()
                left = call("floor", [combine("/", left, self.unary())])
            elif self.kind in _BEGINS_FACTOR:
                self.refuse_prose()
                left = combine("*", left, self.power())
            else:
                return left

    def refuse_prose(self) -> None:
        """Raise ActionError for long words or variables side by side, or a long word before a bracket: no products."""
        (before, word), (after, next_word) = self.tokens[self.position - 1 : self.position + 1]
        words, references = ("name", "run"), ("reference", "call")
        if before in words and after in words and _is_long(word, next_word):
            raise self.make_syntax_error()
        if before == "name" and after == "(" and _is_long(word):
            raise self.make_syntax_error()
        if before in references and after in references:
            raise self.make_syntax_error()

    def unary(self) -> Node:
        if self.kind not in _SUM:
            return self.power()
        negative = False
        while self.kind in _SUM:
            negative ^= self.advance()[0] == "-"
        value = self.power()
        return combine("*", Fraction(-1), value) if negative else value

    def power(self) -> Node:
        if self.kind == "run":
            *before, last = ((("name", letter)) for letter in self.advance()[1])
            product = before[0]
            for letter in before[1:]:
                product = combine("*", product, letter)
            return combine("*", product, self.exponent(last))
        return self.exponent(self.primary())

    def exponent(self, base: Node) -> Node:
        base = self.postfix(base)
        if self.kind != "^":
            return base
        self.advance()
        self.deeper()
        exponent = self.unary()
        self.depth -= 1
        return combine("^", base, exponent)

    def postfix(self, value: Node) -> Node:
        while self.kind in ("%", "!"):
            sign, _ = self.advance()
            value = combine("*", value, _HUNDREDTH) if sign == "%" else call("factorial", [value])
        return value

    def primary(self) -> Node:
        kind, value = self.tokens[self.position]
        if kind == "number":
            self.advance()
            return value
        if kind == "reference":
            self.advance()
            return self.variable(value)
        if kind == "name":
            self.advance()
            return ("call", "pi") if value == "pi" else ("name", value)
        if kind == "(":
            return self.bracket(self.sum)
        if kind == "function":
            self.advance()
            return call(value, self.bracket(self.arguments))
        if kind == "call":
            self.advance()
            return self.substitute(value)
        raise self.make_syntax_error()

    def bracket(self, inner: Callable[[], Inner]) -> Inner:
        self.advance()
        self.deeper()
        result = inner()
        self.depth -= 1
        if self.kind != ")":
            raise self.make_syntax_error()
        self.advance()
        return result

    def arguments(self) -> list[Node]:
        nodes = [self.relation()]
        while self.kind == ",":
            self.advance()
            nodes.append(self.relation())
        return nodes

    def variable(self, name: str) -> Node:
        if name not in self.variables:
            raise failure("undefined_variable", f"{name} has not been set")
        if name not in self.cache:
            self.cache[name] = value_node(self.variables[name])
        node, decimal = self.cache[name]
        self.decimal = self.decimal or decimal
        return node

    def substitute(self, name: str) -> Node:
        """Return the node of `R3(n=5)` or `R3(R1, R2)`, with its unknowns bound. `R3(2)` for a number is a product."""
        node = self.variable(name)
        if isinstance(node, Fraction) and not self.binds_by_name():
            return combine("*", node, self.bracket(self.sum))
        first = self.position + 1
        arguments = self.bracket(self.arguments)
        references = [value for kind, value in self.tokens[first : self.position] if kind == "reference"]
        sources = [self.variables[name] for name in references] if len(references) == len(arguments) else []
        return bind(node, arguments, sources)

    def binds_by_name(self) -> bool:
        return self.tokens[self.position + 1][0] == "name" and self.tokens[self.position + 2][0] == "="


def _is_long(*words: str) -> bool:
    """Return whether a word has more than two letters, so that it is not a product of unknowns."""
    return any(len(word) > 2 and word.isalpha() for word in words)


def bind(node: Node, arguments: list[Node], sources: Sequence[Mapping[str, Any]] = ()) -> Node:
    """Return the node with its unknowns bound to the arguments, by name (`n=5`) or by position.

    `sources`: the stored values of the arguments. If they name the unknowns that they solve (`symbols`), these are
    bound; otherwise the unknowns are bound in alphabetical order. Raises ActionError.
    """
    return require_size(_bind_arguments(node, arguments, sources))


def _bind_arguments(node: Node, arguments: list[Node], sources: Sequence[Mapping[str, Any]]) -> Node:
    unknowns = sorted(set(names(node)))
    by_name = [a for a in arguments if isinstance(a, tuple) and a[0] == "=" and isinstance(a[1], tuple)]
    if by_name:
        if len(by_name) != len(arguments) or any(a[1][0] != "name" for a in by_name):
            raise failure("syntax", "write every binding as name = value, or none")
        return substitute(node, {a[1][1]: a[2] for a in by_name})
    symbols = [symbol for source in sources for symbol in source.get("symbols", ())]
    values = [part for a in arguments for part in (a[1:] if isinstance(a, tuple) and a[0] == "list" else (a,))]
    if len(set(symbols)) == len(symbols) == len(values) and set(symbols) <= set(unknowns):
        return substitute(node, dict(zip(symbols, values, strict=True)))
    if len(values) != len(unknowns):
        raise failure("arity", f"{len(values)} values for {len(unknowns)} unknowns")
    return substitute(node, dict(zip(unknowns, values, strict=True)))
