"""Compute baselines without a model for questions about paragraphs. A useful agent must exceed these baselines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from lumos_queue.records import Task
from lumos_queue.scoring.spans import exact_match, normalize

_WORD = re.compile(r"\w{4,}")


def likeliest_title(task: Task) -> str | None:
    """Return the title of the paragraph with most words of the question, among titles that the question does not name.

    Only words of four letters or more count; the first paragraph wins a tie. Return None without such a paragraph.
    """
    question = normalize(task.question)
    words = set(_WORD.findall(question))
    unnamed_pages = [page for page in task.inputs.get("paragraphs", ()) if normalize(page["title"]) not in question]
    if not unnamed_pages:
        return None
    return max(unnamed_pages, key=lambda page: _count_words(words, page))["title"]


def _count_words(words: set[str], page: Mapping[str, str]) -> int:
    text = f"{page['title']} {page['text']}".lower()
    return sum(word in text for word in words)


def page_baselines(tasks: Iterable[Task], golds: Callable[[Task], Sequence[str]]) -> dict[str, list[bool]]:
    """Return the verdicts of rules without a model, by name of the rule. `golds` returns the right answers of a task.

    The rule `likeliest title` is left out if no task has paragraphs. Each task is read once and not retained.
    """
    always_yes: list[bool] = []
    by_title: list[bool] = []
    some_paragraphs = False
    for task in tasks:
        right, title = golds(task), likeliest_title(task)
        always_yes.append(any(exact_match("yes", gold) for gold in right))
        by_title.append(title is not None and any(exact_match(title, gold) for gold in right))
        some_paragraphs = some_paragraphs or bool(task.inputs.get("paragraphs"))
    return {"always yes": always_yes} | ({"likeliest title": by_title} if some_paragraphs else {})
