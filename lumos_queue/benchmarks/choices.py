"""Read questions with choices, score answers and compute baselines. prompts/choice_text.py writes the task's text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from lumos_queue.errors import BadRow
from lumos_queue.prompts.choice_text import CHOICES, SHOWS
from lumos_queue.readers.fields import RowNode
from lumos_queue.records import Score, Task
from lumos_queue.scoring.letters import LETTERS, read_choice

METRICS = ("accuracy", "unparsed")
_WORD = re.compile(r"[^\W_]+")
#: Words that do not distinguish choices.
_SMALL_WORDS = frozenset(
    (
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "by",
        "for",
        "from",
        "in",
        "is",
        "it",
        "its",
        "of",
        "on",
        "or",
        "that",
        "the",
        "their",
        "this",
        "to",
        "was",
        "were",
        "with",
    )
)


def read_choices(node: RowNode, max_choices: int) -> list[str]:
    """Return the texts of a row's choices, two to `max_choices`, from a list or from `{"text": […], "label": […]}`.

    Raises BadRow. If a choice is empty, the job leaves the row out without a question to the user.
    """
    items = (node if node.is_list() or "text" not in node else node["text"]).items()
    if not 2 <= len(items) <= max_choices:
        raise node.bad(f"{len(items)} choices, expected 2 to {max_choices}")
    for item in items:
        if isinstance(item.value, str) and not item.value.strip():
            raise BadRow(node.row, item.name, "an empty choice", leave_out=True)
    return [item.label() for item in items]


def read_right_choice(node: RowNode, choices: Sequence[str], choices_node: RowNode) -> str:
    """Return the text of the right choice, which the row states by label, position (from 0), letter or text.

    `choices_node` is the field with the choices and their labels. Raises BadRow.
    """
    if isinstance(node.value, str):
        text = node.text()
        labels = choices_node["label"].labels() if not choices_node.is_list() and "label" in choices_node else []
        if text in labels[: len(choices)]:
            return choices[labels.index(text)]
        if len(text) == 1 and text in LETTERS[: len(choices)]:
            return choices[LETTERS.index(text)]
        if text in choices and not text.isdecimal():
            return text
    index = node.whole()
    if not 0 <= index < len(choices):
        raise node.bad(f"{index}, but there are {len(choices)} choices")
    return choices[index]


def choice_scores(task: Task, answer: str | None) -> Sequence[Score]:
    """Return `accuracy` and `unparsed` of an answer.

    `accuracy` is 1 if the choice that the answer names has the text of the right choice, as in A-OKVQA's scorer.
    `unparsed` is 1 if the answer names no choice. If there is no answer, both scores are 0.
    """
    choices = task.gold["choices"]
    index = None if answer is None else read_choice(answer, choices)
    right = index is not None and choices[index] == task.gold["answer"]
    detail = "" if index is None else f"{LETTERS[index]}. {choices[index]}"[:200]
    return (
        Score("accuracy", float(right), detail=detail),
        Score("unparsed", float(answer is not None and index is None)),
    )


def choice_baselines(tasks: Iterable[Task]) -> dict[str, list[bool]]:
    """Return the verdicts of rules that need no model. The gold of each task has `choices` and `answer`.

    `most common letter` is an oracle: it counts the right letters of the same tasks that it is judged on. `most like
    the text` selects the choice with the largest share of words that are also in the question or the caption; of
    equal choices, it selects the first.

    The tasks are read twice and not retained.
    """
    counts = Counter(
        index for task in tasks for index, choice in enumerate(task.gold["choices"]) if choice == task.gold["answer"]
    )
    common = max(counts, key=lambda index: (counts[index], -index), default=0)
    rules: dict[str, Callable[[Task], int]] = {
        "most common letter": lambda _: common,
        "longest choice": _longest,
        "most like the text": _most_like,
    }
    verdicts: dict[str, list[bool]] = {name: [] for name in rules}
    for task in tasks:
        choices, answer = task.gold["choices"], task.gold["answer"]
        for name, rule in rules.items():
            index = rule(task)
            verdicts[name].append(index < len(choices) and choices[index] == answer)
    return verdicts


def _longest(task: Task) -> int:
    choices = task.gold["choices"]
    return max(range(len(choices)), key=lambda index: (len(choices[index]), -index))


def _most_like(task: Task) -> int:
    question, _, rest = task.question.partition(CHOICES)
    text_words = _words(f"{question} {rest.partition(SHOWS)[2]}")
    overlaps = [len(_words(choice) & text_words) / (len(_words(choice)) or 1) for choice in task.gold["choices"]]
    return overlaps.index(max(overlaps))


def _words(text: str) -> set[str]:
    return {word.removesuffix("s") for word in _WORD.findall(text.casefold())} - _SMALL_WORDS
