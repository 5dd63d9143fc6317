"""Count the tokens of the training conversations that are made from an annotation."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import write_actions
from lumos_queue.prompts.dialogue import PLAN_HEAD
from lumos_queue.records import AnnotatedSubgoal, Role
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.model_loading import MODEL_LOADING, import_libraries
from lumos_queue.util.regular_file import check_entries

CountTokens = Callable[[str], int]

#: A fast estimate, usually too high: a token is up to five letters, one digit, or one other character.
_PIECES = re.compile(r"[^\W\d_]{1,5}|\d|[^\w\s]|_")
_TURN = 14  #: tokens that a further turn adds: roles, `Subgoal to be grounded:`, `Should we stop planning?`


def estimate_tokens(text: str) -> int:
    return len(_PIECES.findall(text))


@lru_cache(maxsize=4)
def load_token_counter(tokenizer: str) -> CountTokens:
    """Return a function that counts tokens: by the tokenizer in the folder `tokenizer`, or `estimate_tokens` for ''."""
    if not tokenizer:
        return estimate_tokens
    with import_libraries():
        from transformers import AutoTokenizer

    folder = from_launch(tokenizer)
    check_entries(folder)
    with MODEL_LOADING:
        model_tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return lambda text: len(model_tokenizer.encode(text))


def conversation_tokens(
    task: str, domain: str, steps: Sequence[AnnotatedSubgoal], count: CountTokens
) -> dict[str, int]:
    """Return the number of tokens of each module's iterative conversation; one-pass conversations are shorter."""
    definition = DOMAINS.find(domain)
    head = (definition.verified_ground_head if definition else "") or ""
    task_tokens = count(task)
    subgoals = [count(step.subgoal.text) + _TURN for step in steps]
    results = [count(step.results[-1]) if step.results else 0 for step in steps]
    actions = [count(write_actions(step.actions)) for step in steps]
    earlier = sum(results[position] * (len(steps) - position) for position in range(len(steps)))
    repetitions = earlier if definition and definition.shows_earlier else 0
    return {
        Role.PLANNER: count(PLAN_HEAD) + task_tokens + sum(subgoals) + sum(results) + _TURN * len(steps),
        Role.GROUNDER: count(head) + task_tokens + sum(subgoals) + sum(actions) + repetitions,
    }
