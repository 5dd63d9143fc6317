"""Read instructions in Alpaca's form: a file of rows such as this invented row:

    {"instruction": "Name the colour.", "input": "A ripe lemon.", "output": "Yellow."}

ReWOO's planner data also have this form. In arXiv v3, LUMOS mixes Alpaca's rows into its own data, with `Respond to me
directly` added to the input, so that a single model can answer directly or plan (spec/lumos.md 1.8). The paper does not
describe how the parts are joined. This code joins them by empty lines, in training and in evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lumos_queue.errors import BadRow
from lumos_queue.readers.fields import Node, RowNode
from lumos_queue.readers.records import read_records

FORMAT = "a file of instructions, rows with 'instruction', 'input' and 'output'"
FIELDS = ("instruction", "output")
DIRECTLY = "Respond to me directly"


@dataclass(frozen=True, slots=True)
class Instruction:
    """One row; `number` counts from 1, `input` may be empty."""

    number: int
    instruction: str
    input: str
    output: str


def read_instructions(path: Path | None) -> Iterator[Instruction | BadRow]:
    """Yield the rows in file order. Texts are stripped, and otherwise unchanged.

    A row with an empty output, as in Alpaca's published file, is a BadRow that is marked to be left out. Raises the
    errors of `read_records`.
    """
    for item in read_records(path, FORMAT, FIELDS):
        if isinstance(item, BadRow):
            yield item
            continue
        node = RowNode(item[0], "", item[1])
        try:
            input_text = optional_text(node["input"]) if "input" in node else ""
            instruction = node["instruction"].text(verbatim=True)
            is_empty = "output" in item[1] and "output" not in node
            if is_empty or not (output := optional_text(node["output"])):
                raise BadRow(item[0], "output", "empty", leave_out=True)
            yield Instruction(item[0], instruction, input_text, output)
        except BadRow as bad:
            yield bad


def optional_text(node: Node) -> str:
    """Return a text that may be empty. Raises BadRow for other values."""
    return "" if isinstance(node.value, str) and not node.value.strip() else node.text(verbatim=True)


def direct_question(instruction: str, input_text: str) -> str:
    """Return the question for a model that should answer without planning."""
    return "\n\n".join(filter(None, (instruction.strip(), input_text.strip(), DIRECTLY)))
