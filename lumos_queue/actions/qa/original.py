"""The rules of LUMOS's evaluation for QA and Calculator where this project's rules differ: `--tool protocol=lumos`.

- After `No answer` the variable's value is the text `No answer.` without its question. The concluding question and the
  grounder's later prompts leave it out. (Own rule: it is an answer like any other.)
- The grounder's later prompts show answers alone, not pages, evidence and other values.
- Calculator asks a model the subgoal's sentence, and the formula without its operators is the context. (Own rule: it
  calculates, and asks `Is it true that …?` about a formula that it cannot read.)
- The concluding question is asked with a context even if the context is empty, and nothing is searched after it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lumos_queue.actions.qa.answer import NO_ANSWER
from lumos_queue.actions.qa.arguments import full_text, value_of
from lumos_queue.episode import Variables
from lumos_queue.notation import replace_variables
from lumos_queue.records import SHOWN, Execution

OPTION = "protocol"
OWN, LUMOS = PROTOCOLS = ("own", "lumos")
_OPERATORS = str.maketrans("", "", "*/+-^=<>")  #: deleted everywhere, also within values


def is_answer(value: Mapping[str, Any]) -> bool:
    """Return whether a value is the answer to a question."""
    return "question" in value and "answer" in value


def withhold_no_answers(execution: Execution) -> Execution:
    """Return the execution with `No answer.` for values without an answer, and marks on what later prompts omit."""
    values = tuple(map(_withhold, execution.values))
    return replace(execution, result=", ".join(value["text"] for value in values), values=values)


def _withhold(value: Mapping[str, Any]) -> dict[str, Any]:
    if not is_answer(value):
        return {**value, SHOWN: False}
    if value["answer"] != NO_ANSWER:
        return dict(value)
    return {"kind": "unanswered", "text": f"{NO_ANSWER}.", "source": value.get("source", "none"), SHOWN: False}


def list_operands(formula: str, variables: Variables) -> str:
    """Return a formula with its variables' values and without operators, as context. Raises ActionError."""
    text = replace_variables(formula, lambda name: f"{full_text(value_of(name, variables))}.")
    return text.translate(_OPERATORS)
