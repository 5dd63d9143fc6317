"""Translate pseudo-code to Python: `If R8 > 0, R8, -R8`, `Max(R1, R2)`, `If R1 = 3 and R2 ≥ 4 then yes else no`.

Python statements stay unchanged. Any other text must have one form: a condition with two values, separated by commas
or by then, else, otherwise and colons; each value may have this form, too. `=` compares in a condition, and if the text
only assigns to a variable that has a value. `^` is a power. Words at the position of a value are a text, unless they
name a variable.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from lumos_queue.actions.code.checks import add_checks
from lumos_queue.actions.code.prelude import HELPERS, PRELUDE
from lumos_queue.errors import ActionError

_QUOTES = str.maketrans({"“": '"', "”": '"', "’": "'", "‘": "'"})
_QUOTED = re.compile(r"""("[^"]*"|'[^']*')""")
_SPELLINGS = str.maketrans(
    {"≤": "<=", "≥": ">=", "≠": "!=", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "$": None}
)
_WORDS = [
    (re.compile(r"\b(?:AND|And)\b|&&"), " and "),
    (re.compile(r"\b(?:OR|Or)\b|\|\|"), " or "),
    (re.compile(r"\b(?:NOT|Not)\b|!(?!=)"), " not "),
    (re.compile(r"<>"), "!="),
    (re.compile(r"=<"), "<="),
    (re.compile(r"=>"), ">="),
    (re.compile(r"\b(?:MOD|Mod|mod)\b(?!\s*\()"), " % "),
    (re.compile(r"\b(?:true|TRUE)\b"), "True"),
    (re.compile(r"\b(?:false|FALSE)\b"), "False"),
    (re.compile(r"([0-9](?:\.[0-9]+)?)\s?%(?=\s*(?:$|[),*/=<>]))"), r"\1/100"),
]
_IF = re.compile(r"if\b\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"\b(?:then|else|otherwise)\b|[,:;]", re.IGNORECASE)
_ELIF = re.compile(r"\b(?:elif|elseif)\b", re.IGNORECASE)
_RETURN = re.compile(r"return\s+|[A-Za-z_]\w*\s*=(?!=)\s*", re.IGNORECASE)
#: The same anywhere in a text. The digits before a name belong to no match, but a search begins once for each word.
_ANY_RETURN = re.compile(r"\b([^\WA-Za-z_]*+)(?:return\s+|[A-Za-z_]\w*\s*=(?!=)\s*)|return\s+", re.IGNORECASE)
_NAME = re.compile(r"\w+")
_WORD_TEXT = re.compile(r"[^\W\d_][\w' .-]*")

FORM = "write Python, or: If condition, value, other value"


def program(text: str, variables: Collection[str], by_order: bool, unsure: Collection[str] = ()) -> str:
    """Return Python code whose last expression is the program's value.

    `by_order`: a function may be called with all variables in order, whatever the names of its parameters. `unsure`:
    as in `add_checks`. Raises ActionError of kind syntax, arity, not_a_number or too_large.
    """
    try:
        return _program(text, variables, by_order, unsure)
    except (RecursionError, MemoryError):
        raise ActionError("too_large", "the program is nested too deeply") from None


def _program(text: str, variables: Collection[str], by_order: bool, unsure: Collection[str]) -> str:
    tree = _parse(text)
    if tree is None and "\\n" in text:
        tree = _parse(text.replace("\\n", "\n").replace("\\t", "\t"))
    compares = tree is not None and _is_comparison(tree, variables)
    if tree is None or compares or _is_one_expression(tree):
        plain = _use_double_equals(_plain(text)) if compares else _plain(text)
        tree = ast.fix_missing_locations(_Aliases(variables).visit(_expression(plain, variables)))
        return f"{PRELUDE}\n{add_checks(tree, variables, unsure, pseudo=True)}"
    return add_checks(ast.parse(_with_value(tree, variables, by_order)), variables, unsure, pseudo=False)


def _is_comparison(tree: ast.Module, variables: Collection[str]) -> bool:
    """Return whether the text only assigns to variables with a value. It compares: assigning would have no effect."""
    statement = tree.body[0] if len(tree.body) == 1 else None
    return isinstance(statement, ast.Assign) and all(
        isinstance(to, ast.Name) and to.id in variables for to in statement.targets
    )


def _expression(text: str, variables: Collection[str]) -> ast.Module:
    tree = _parse(text)
    if tree and _is_one_expression(tree) and not _is_form(text, tree):
        return tree
    pieces = _pieces(text)
    if pieces and not _IF.match(pieces[0]):  # words alone are not a program
        source, rest = _ANY_RETURN.sub(r"\1", pieces[0], count=1), pieces[1:]
    else:
        source, rest = _value(pieces, variables)
    if rest:
        raise ActionError("arity", f"{len(rest)} values too many after {source[:60]!r}; {FORM}")
    if (tree := _parse(source)) is None:
        raise ActionError("syntax", f"neither Python nor a form that is known; {FORM}")
    return tree


def _is_form(text: str, tree: ast.Module) -> bool:
    """Return whether the text is only `If (c), a, b` or `If(c, a, b)`, which Python reads as a call."""
    value = tree.body[0].value  # type: ignore[attr-defined]
    return bool(_IF.match(text)) and isinstance(value, ast.Call | ast.Tuple)


def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def _is_one_expression(tree: ast.Module) -> bool:
    return len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)


def _plain(text: str) -> str:
    """Replace other spellings of operators and words by Python's, outside of quotes."""
    parts = _QUOTED.split(text.translate(_QUOTES))
    for index in range(0, len(parts), 2):
        parts[index] = parts[index].translate(_SPELLINGS).replace("^", "**")
        for pattern, plain in _WORDS:
            parts[index] = pattern.sub(plain, parts[index])
    return "".join(parts).strip()


def _pieces(text: str) -> list[str]:
    """Split the text at separators outside of brackets and quotes; drop empty pieces."""
    text = _ELIF.sub("else if", text)
    pieces, depth, quote, start, position = [], 0, "", 0, 0
    while position < len(text):
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
        elif not depth and (match := _SEPARATOR.match(text, position)):
            pieces.append(text[start:position])
            start = position = match.end()
            continue
        position += 1
    pieces.append(text[start:])
    return [piece.strip() for piece in pieces if piece.strip()]


def _value(pieces: list[str], variables: Collection[str]) -> tuple[str, list[str]]:
    """Return the first value of the pieces as Python code, and the remaining pieces."""
    if not pieces:
        raise ActionError("arity", f"a value is missing; {FORM}")
    first, rest = pieces[0], pieces[1:]
    condition = _IF.match(first)
    if not condition:
        return _branch(first, variables), rest
    test = first[condition.end() :]
    if test.startswith("(") and test.endswith(")") and len(inner := _pieces(test[1:-1])) > 2:
        source, remaining = _value([f"if {inner[0]}", *inner[1:]], variables)
        return source, remaining + rest
    yes, rest = _value(rest, variables)
    no, rest = _value(rest, variables)
    return f"(({yes}) if ({_use_double_equals(test)}) else ({no}))", rest


def _branch(text: str, variables: Collection[str]) -> str:
    """Return a value, which is an expression or words, as Python code."""
    text = text[match.end() :] if (match := _RETURN.match(text)) else text
    tree = _parse(text)
    name = tree.body[0].value if tree and _is_one_expression(tree) else None  # type: ignore[attr-defined]
    is_known = isinstance(name, ast.Name) and (name.id in variables or len(name.id) == 1)
    words = (name is None or (isinstance(name, ast.Name) and not is_known)) and not set(_NAME.findall(text)) & {
        *variables
    }
    return repr(text) if words and _WORD_TEXT.fullmatch(text) else text


def _use_double_equals(text: str) -> str:
    """Replace `=` by `==` in a condition, except in the brackets of a call."""
    characters, calls = [], []
    for index, character in enumerate(text):
        if character == "(":
            calls.append(text[index - 1 : index].isalnum())
        elif character == ")" and calls:
            calls.pop()
        alone = (
            character == "="
            and text[index - 1 : index] not in ("<", ">", "=", "!")
            and text[index + 1 : index + 2] != "="
        )
        characters.append("==" if alone and not any(calls) else character)
    return "".join(characters)


class _Aliases(ast.NodeTransformer):
    """Replaces `If(c, a, b)` by Python's form, so that only one value is computed, and `Max` by `max` in any case."""

    def __init__(self, variables: Collection[str]):
        self.variables = variables

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.func, ast.Name) or node.func.id in self.variables:
            return node
        name = node.func.id.lower()
        if name == "if" and len(node.args) == 3:
            return ast.IfExp(*node.args)
        if name in HELPERS and not node.keywords:
            node.func.id = HELPERS[name]
        return node


def _with_value(tree: ast.Module, variables: Collection[str], by_order: bool) -> str:
    """Return the program with its value as the last expression."""
    if not tree.body:
        raise ActionError("arity", f"the program is empty; {FORM}")
    last = tree.body[-1]
    functions = {statement.name: statement for statement in tree.body if isinstance(statement, ast.FunctionDef)}
    source = ast.unparse(tree)
    if isinstance(last, ast.FunctionDef):
        return f"{source}\n{_write_call(functions.get('Code', last), variables, by_order)}"
    if isinstance(last, ast.Assign | ast.AnnAssign | ast.AugAssign):
        target = last.targets[0] if isinstance(last, ast.Assign) else last.target
        return f"{source}\n{ast.unparse(target)}"
    if isinstance(last, ast.Return):
        before = [ast.unparse(statement) for statement in tree.body[:-1]]
        return "\n".join([*before, ast.unparse(last.value) if last.value else "None"])
    return source


def _write_call(function: ast.FunctionDef, variables: Collection[str], by_order: bool) -> str:
    """Return a call of the function with the variables that its parameters name, or with all variables in order."""
    parameters = [parameter.arg for parameter in (*function.args.posonlyargs, *function.args.args)]
    required_names = parameters[: len(parameters) - len(function.args.defaults)]
    if all(name in variables for name in required_names):
        return f"{function.name}({', '.join(name for name in parameters if name in variables)})"
    if by_order and len(variables) == len(required_names):
        return f"{function.name}({', '.join(variables)})"
    message = f"which values are {', '.join(required_names)}? Call {function.name} with those you mean"
    raise ActionError("arity", message)
