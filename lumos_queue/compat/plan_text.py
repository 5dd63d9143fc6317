"""Split an annotation's text as the original does (spec/lumos.md 2.3, 2.4); only the exports of this package use it.

If a mark is missing, its index -1 is used like any other index, because the released files contain the effects.
`notation.read_annotation` is a reader that reports the errors of a text instead.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """A subgoal and its action lines, whose spaces are kept."""

    subgoal: str
    lines: tuple[str, ...]


def split_plan(text: str) -> list[Block]:
    """Split the text at blank lines, from the first `Subgoal 1` on, or from the last character on if there is none.

    Subgoals without a blank line between them are one block: the later subgoals count as action lines of the first.
    """
    blocks = (block.split("\n") for block in text[text.find("Subgoal 1") :].split("\n\n"))
    return [Block(lines[0], tuple(lines[1:])) for lines in blocks]


@dataclass(frozen=True, slots=True)
class ParsedAction:
    """The parts of an action line."""

    variables: tuple[str, ...]
    name: str
    arguments: str
    result: str

    def text(self) -> str:
        """Return the action as `R1 = F(x)`, without its result."""
        return f"{', '.join(self.variables)} = {self.name}({self.arguments})"


def parse_line(line: str, has_result: bool = True) -> ParsedAction:
    """Parse `Action 1-1: R1 = F(x) = 3` to (R1), F, x, 3. `has_result` is False in the web domain."""
    first, last, start = line.find(" = "), line.rfind(" = "), line.find("(")
    variables = tuple(line[line.find(":") + 2 : first].split(", "))
    name = line[first + 3 : start]
    if not has_result:
        return ParsedAction(variables, name, line[start + 1 : line.rfind(")")], "")
    if start < 0:
        return ParsedAction(variables, "", line[first + 3 : last].strip(), line[last + 3 :].strip())
    end = _find_end(line, start)
    if end + 2 >= len(line):  # nothing follows the call, or it is never closed
        arguments = line[start + 1 : line.rfind(")")]
        return ParsedAction(variables, name, arguments, arguments)
    if line[end + 2] != "=":
        return ParsedAction(variables, name, line[start + 1 : last - 1], line[last + 3 :].strip())
    return ParsedAction(variables, name, line[start + 1 : end], line[end + 3 :].strip())


def _find_end(line: str, start: int) -> int:
    """Return the index at which the parenthesis at `start` closes; the line's length if it never closes."""
    depth = 0
    for position in range(start, len(line)):
        depth += {"(": 1, ")": -1}.get(line[position], 0)
        if depth == 0:
            return position
    return len(line)


def read_reported_result(line: str) -> str:
    """Return the result that the planner is sent for a subgoal: the text after the last `=` of its last action line."""
    return line[line.rfind("=") + 2 :].strip().strip(".")


def read_reported_variable(line: str) -> str:
    """Return the last variable of an action line as the original reads it for planner rows; '' if there is none."""
    parts = line.partition(" = ")[0].split(":")
    return parts[1].strip().rpartition(", ")[2] if len(parts) > 1 else ""
