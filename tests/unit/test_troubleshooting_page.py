"""Every message that docs/troubleshooting.md quotes is one that the code can print."""

from __future__ import annotations

import ast
import re

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
FILLED = "\0"  #: where a message has a value
LEAST = 12  #: letters of a message that are the same each time, at least


def _text(node: ast.AST) -> str:
    """A literal as it is printed, with FILLED for values; empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or FILLED for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (_text(node.left) or FILLED) + (_text(node.right) or FILLED)
    return ""


def _sources(messages: list[str]) -> list[str]:
    """The files that have the beginning of the longest part of a message: to parse the others too takes seconds."""
    files = [file for folder in ("lumos_queue", "workers", "db") for file in (ROOT / folder).rglob("*.py")]
    beginnings = [max(_parts(message), key=len)[:12] for message in messages]
    sources = [file.read_text(encoding="utf-8") for file in files]
    return [source for source in sources if any(beginning in source for beginning in beginnings)]


def _parts(message: str) -> list[str]:
    """What of a message is the same each time."""
    return [part for part in re.split(r" ?… ?", message) if part]


def _printed(messages: list[str]) -> str:
    nodes = [node for source in _sources(messages) for node in ast.walk(ast.parse(source))]
    docstrings = {node.value for node in nodes if isinstance(node, ast.Expr)}
    texts = {re.sub(r"%(\.\d)?[dgsf]|\{[^}]*\}", FILLED, _text(node)) for node in nodes if node not in docstrings}
    return "\n".join(text for text in texts if "\n" not in text)


def test_every_message_is_in_the_code():
    cells = re.findall(r"^\| (`.+?`) \|", PAGE, re.MULTILINE)
    messages = [one for cell in cells for one in re.findall(r"`([^`]+)`", cell)]
    told = [one for one in messages if " " in one]
    assert len(told) > 50
    printed = _printed(told)
    missing = []
    for message in told:
        parts = _parts(message)
        assert sum(map(len, parts)) >= LEAST, f"too little of it is fixed: {message}"
        pattern = "[^\n]*".join(map(re.escape, parts))
        if not re.search(pattern, printed):
            missing.append(message)
    assert not missing, "no message of the code reads so"
