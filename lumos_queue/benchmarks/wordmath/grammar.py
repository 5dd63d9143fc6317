"""Makes a task from a seed: it fills a template, or composes a problem of clauses (most training tasks)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache

from lumos_queue.benchmarks.wordmath import families  # noqa: F401 (registers the templates)
from lumos_queue.benchmarks.wordmath.composer.compose import QUESTIONS, compose
from lumos_queue.benchmarks.wordmath.distractors import distract
from lumos_queue.benchmarks.wordmath.scene import Redraw, Scene
from lumos_queue.benchmarks.wordmath.template import TEMPLATES, Template
from lumos_queue.errors import unknown
from lumos_queue.records import Task

#: `familiar` has other problems of the training families, none of them composed: it tests new numbers, names and
#: wordings.
SPLITS = ("train", "familiar", "dev", "test")
#: Each family is completely in train, dev or test. Families that are neither in DEV nor in TEST are for training.
DEV = frozenset(
    ["pooled_then_shared", "saving_for_a_goal", "profit", "start_before_two_changes", "two_leg_trip", "position_change"]
)
TEST = frozenset(
    (
        "shared_after_loss",
        "gap_of_groups",
        "gap_after_gift",
        "recipe",
        "third_part",
        "temperature",
        "class_trip",
        "relay",
        "library_day",
        "sale_for_charity",
    )
)
DISTRACTED = 0.22  #: probability of an irrelevant sentence
MERGED = 0.12  #: probability that the last sentence becomes the question's 'If …'

_STAYS = re.compile(
    r"^(?:If|Then|After|Later|Next|Now|At|So far|Since|In|On|For|Of|From|Until|Among|First|Today|Soon|Each day)\b"
)


def split_of(family: str) -> str:
    return "dev" if family in DEV else "test" if family in TEST else "train"


@cache
def templates(split: str) -> tuple[Template, ...]:
    """Return the templates of a split. Raises SpecError for an unknown split."""
    if split not in SPLITS:
        raise unknown("split of wordmath", split, SPLITS)
    family_split = "train" if split == "familiar" else split
    return tuple(template for template in TEMPLATES if split_of(template.family) == family_split)


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _write(s: Scene, template: Template) -> str:
    """Return the text of the problem. Raises Redraw if an irrelevant sentence repeats a number."""
    joins_last = (
        s.chance(MERGED) and len(s.body) > 1 and not _STAYS.match(_capital(s.body[-1])) and "." not in s.question[:-1]
    )
    if joins_last:
        last = s.body.pop().removesuffix(".")
        names = {person.name for person in s.cast}
        first = last.split(" ")[0].rstrip(",").removesuffix("'s").removesuffix("'")
        last = last if first in names or first.isupper() else last[0].lower() + last[1:]
        question = s.question if s.question.split(" ")[0] in names else s.question[0].lower() + s.question[1:]
        s.question = f"If {last}, {question}"
    if s.body and s.chance(DISTRACTED):
        distract(s, template.topics)
    return " ".join(_capital(sentence) for sentence in (*s.body, s.question))


def task(split: str, seed: int, index: int) -> Task:
    """Return the task at position `index` of a split, from 0. It depends only on the arguments.

    Of four successive training tasks, three are composed; they share a story if it has enough questions. Raises
    SpecError for an unknown split.
    """
    story_number, member = divmod(index, QUESTIONS + 1)
    if split == "train" and member < QUESTIONS:
        return _compose_task(split, f"{seed}:{split}:story {story_number}", member, index)
    return _fill_task(split, seed, index)


def _compose_task(split: str, story: str, member: int, index: int) -> Task:
    problem = compose(story, member)
    inputs = {"template": problem.plot, "family": "composed", "operations": problem.program.operations}
    gold = {"answer": problem.program.answer, "steps": problem.program.steps}
    return Task("wordmath", "", f"{split}-{index}", problem.question, inputs, gold)


def _fill_task(split: str, seed: int, index: int) -> Task:
    rng = random.Random(f"{seed}:{split}:{index}")
    template = rng.choice(templates(split))
    while True:
        s = Scene(rng)
        try:
            template.fill(s)
            if not s.program.is_sound():
                continue
            question = _write(s, template)
        except Redraw:
            continue
        inputs = {"template": template.name, "family": template.family, "operations": s.program.operations}
        gold = {"answer": s.program.answer, "steps": s.program.steps}
        return Task("wordmath", "", f"{split}-{index}", question, inputs, gold)


def generate(split: str, count: int, seed: int = 0) -> Iterator[Task]:
    """Return the first `count` tasks of a split. Raises SpecError for an unknown split."""
    templates(split)
    return (task(split, seed, index) for index in range(count))
