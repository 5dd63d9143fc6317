"""Rules without a model for questions over given paragraphs: what an agent must do better than."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lumos_queue.records import Task
from lumos_queue.scoring.spans import exact_match, normalize

_WORD = re.compile(r"\w{4,}")


def likeliest_title(task: Task) -> str | None:
    """The title of the paragraph that holds most of the question's words, among those that the question does not name.

    Words are those of four letters and more; the first paragraph wins a tie. None for a task without paragraphs.
    """
    question = normalize(task.question)
    words = set(_WORD.findall(question))
    unnamed = [page for page in task.inputs.get("paragraphs", ()) if normalize(page["title"]) not in question]
    if not unnamed:
        return None
    return max(unnamed, key=lambda page: _held(words, page))["title"]


def _held(words: set[str], page: Mapping[str, str]) -> int:
    text = f"{page['title']} {page['text']}".lower()
    return sum(word in text for word in words)


def page_baselines(tasks: Sequence[Task], golds: Sequence[Sequence[str]]) -> dict[str, list[bool]]:
    """What is right without a model; `golds` has the answers that are right for each task.

    `likeliest title` is there when some task has paragraphs.
    """
    rules: dict[str, list[str | None]] = {"always yes": ["yes"] * len(tasks)}
    if any(task.inputs.get("paragraphs") for task in tasks):
        rules["likeliest title"] = [likeliest_title(task) for task in tasks]
    return {
        name: [
            said is not None and any(exact_match(said, gold) for gold in right)
            for said, right in zip(answers, golds, strict=True)
        ]
        for name, answers in rules.items()
    }
