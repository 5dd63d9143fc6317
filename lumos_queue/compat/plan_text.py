"""How the original cuts an annotation's text apart (spec/lumos.md 2.3, 2.4). Only compat.py reads this way.

Indices are used as they are found, a missing mark being -1: what comes of it stands in the released files.
`notation.read_annotation` is the reader that says what is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A subgoal and its action lines, nothing stripped."""

    subgoal: str
    lines: tuple[str, ...]


def split_plan(text: str) -> list[Block]:
    """Blocks between blank lines, from the first `Subgoal 1` on; of a text without one the last character.

    Subgoals without a blank line between them are one block: the later ones stand among its actions.
    """
    blocks = (block.split("\n") for block in text[text.find("Subgoal 1") :].split("\n\n"))
    return [Block(lines[0], tuple(lines[1:])) for lines in blocks]


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """An action line taken apart."""

    variables: tuple[str, ...]
    name: str
    arguments: str
    result: str

    def written(self) -> str:
        return f"{', '.join(self.variables)} = {self.name}({self.arguments})"


def parse_line(line: str, has_result: bool = True) -> ParsedAction:
    """`Action 1-1: R1 = F(x) = 3` → (R1), F, x, 3. `has_result` is False in the web domain."""
    first, last, opening = line.find(" = "), line.rfind(" = "), line.find("(")
    variables = tuple(line[line.find(":") + 2 : first].split(", "))
    name = line[first + 3 : opening]
    if not has_result:
        return ParsedAction(variables, name, line[opening + 1 : line.rfind(")")], "")
    if opening < 0:
        return ParsedAction(variables, "", line[first + 3 : last].strip(), line[last + 3 :].strip())
    closing = _closing(line, opening)
    if closing + 2 >= len(line):  # nothing follows the call, or it is never closed
        arguments = line[opening + 1 : line.rfind(")")]
        return ParsedAction(variables, name, arguments, arguments)
    if line[closing + 2] != "=":
        return ParsedAction(variables, name, line[opening + 1 : last - 1], line[last + 3 :].strip())
    return ParsedAction(variables, name, line[opening + 1 : closing], line[closing + 3 :].strip())


def _closing(line: str, opening: int) -> int:
    """Where the parenthesis at `opening` closes; the line's length where it does not."""
    depth = 0
    for place in range(opening, len(line)):
        depth += {"(": 1, ")": -1}.get(line[place], 0)
        if depth == 0:
            return place
    return len(line)


def reported_result(line: str) -> str:
    """What the planner is told of a subgoal whose last action line this is: the text after the last `=`."""
    return line[line.rfind("=") + 2 :].strip().strip(".")


def reported_variable(line: str) -> str:
    """The last variable of an action line as the planner's file reads it; '' where there is none."""
    parts = line.partition(" = ")[0].split(":")
    return parts[1].strip().rpartition(", ")[2] if len(parts) > 1 else ""
