"""Read the arguments of QA actions as models write them, and write values as parts of other texts.

The question begins after the first label (`Question:`), so that a label within the question has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.qa.pages import TextPage, page_of
from lumos_queue.episode import Variables
from lumos_queue.errors import ActionError
from lumos_queue.notation import replace_variables

MAX_INLINE = 300  #: characters of a value inside a question or a query
MAX_QUESTION = 4_000  #: characters of a question with its variables' values
_VARIABLE = r"(?:R[0-9]{1,6}|Output)"
_LIST = re.compile(rf"{_VARIABLE}(?:\s*,\s*{_VARIABLE})*")
_LABEL = r"(?:^|,)\s*(?:{})\s*:\s*"
_LABELS = {
    "Question": re.compile(_LABEL.format("question|query"), re.IGNORECASE),
    "Query": re.compile(_LABEL.format("query|question"), re.IGNORECASE),
}
_BRACKETS = re.compile(r"\[([^\]]*)\]")
_FIRST = re.compile(rf"(\[[^\]]*\]|{_VARIABLE})\s*,\s*(\S.*)", re.DOTALL)


def context_and_question(text: str, label: str, variables: Variables) -> tuple[list[Mapping[str, Any] | str], str]:
    """Return the context and the question of `[R1, R2], Question: q`. `label` is `Question` or `Query`.

    The context is a list of values, or of its words if it names no variable. `R1, Question: q`, `R1, q` and
    `Question: q` are read, too. Values replace variables in the question. Raises ActionError.
    """
    if match := _LABELS[label].search(text):
        before, question = text[: match.start()], text[match.end() :]
    elif first := _FIRST.fullmatch(text):
        before, question = first[1], first[2]
    else:
        raise ActionError("unreadable", f"expected [R1, R2], {label}: …; there is no ', {label}: '")
    question = inline_variables(question, variables)
    if not question:
        raise ActionError("unreadable", f"the {label.lower()} is empty")
    return _context(before.strip(), variables), question


def _context(text: str, variables: Variables) -> list[Mapping[str, Any] | str]:
    brackets = _BRACKETS.fullmatch(text)
    inner = (brackets[1] if brackets else text).strip()
    if not inner:
        return []
    if _LIST.fullmatch(inner):
        return [value_of(name.strip(), variables) for name in inner.split(",")]
    return [inline_variables(inner, variables)]


def value_of(name: str, variables: Variables) -> Mapping[str, Any]:
    """Return the value of a variable. Raises ActionError if it is not set."""
    if name not in variables:
        raise ActionError("undefined_variable", f"{name} has not been set")
    return variables[name]


def inline_variables(text: str, variables: Variables) -> str:
    """Return the text on one line, with variables replaced by their values.

    A variable without a value stays, because a word may only look like a variable (`R2-D2`). Raises ActionError for a
    variable without a value in a text of variables alone, and for a text that becomes too long.
    """
    if _LIST.fullmatch(text.strip()):
        for name in text.split(","):
            value_of(name.strip(), variables)
    line = replace_variables(text, lambda name: short_text(variables[name]) if name in variables else name)
    if len(line) > MAX_QUESTION:
        raise ActionError("too_large", f"with its variables the text has {len(line)} of {MAX_QUESTION} characters")
    return " ".join(line.split())


def short_text(value: Mapping[str, Any]) -> str:
    """Return a value's text for use within a sentence: at most MAX_INLINE characters, without a final full stop."""
    if value.get("kind") == "pages":
        return ", ".join(page.title for page in pages_in(value))[:MAX_INLINE]
    return " ".join(str(value["text"]).split())[:MAX_INLINE].rstrip(".")


def full_text(value: Mapping[str, Any] | str) -> str:
    """Return a value's text as context for a question: all text of pages, or an answer with its question."""
    if isinstance(value, str):
        return value
    if "question" in value and "answer" in value:
        return f"Question: {value['question']}; Answer: {value['answer']}"
    if value.get("kind") != "pages":
        return str(value["text"]).strip()
    lines = ([page.title, page.table, *page.paragraphs] for page in pages_in(value))
    return "\n".join(line for page in lines for line in page if line)


def pages_in(value: Mapping[str, Any]) -> Sequence[TextPage]:
    """Return the pages in a value of kind 'pages'."""
    return [page_of(page) for page in value.get("pages") or ()]
