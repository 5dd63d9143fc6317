"""Select the starter's conversations up to a number of tokens, balanced by their number of steps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from random import Random

from lumos_queue.conversion.low_level import to_low_level
from lumos_queue.errors import SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import Conversation, gold_conversations
from lumos_queue.records import Annotation, Task

#: Share of the problems by number of steps; the last includes all longer problems. Most school problems have 1 or 2.
STEP_SHARES = {1: 0.40, 2: 0.32, 3: 0.17, 4: 0.11}
#: Share of the problems that the grounder learns, too. It needs few, because an action for a short subgoal is easy.
GROUNDED = 0.3

Problem = tuple[Task, Annotation]


def low_level_problems(problems: Iterable[Problem], counts: Counter[str]) -> list[Problem]:
    """Return the problems in the short wording, each question once. `counts` gets excluded problems by reason."""
    retained_problems, questions = [], set()
    for task, annotation in problems:
        if task.question in questions:
            counts[f"{task.benchmark}: question twice"] += 1
            continue
        try:
            retained_problems.append((task, to_low_level(annotation)))
        except SpecError as reason:
            counts[f"{task.benchmark}: {reason}"] += 1
            continue
        questions.add(task.question)
    return retained_problems


def select_conversations(
    problems: list[Problem],
    formulation: str,
    budget: int,
    count_tokens: Callable[[str], int],
    seed: int,
    counts: Counter[str],
) -> list[Conversation]:
    """Return conversations of at most `budget` tokens, in an order that depends only on the seed.

    Problems with the same number of steps are taken from their sources in turn, so that no source displaces another.
    `counts` gets the numbers of problems and tokens by source and number of steps.
    """
    random = Random(seed)
    pools: dict[int, dict[str, list[Problem]]] = defaultdict(lambda: defaultdict(list))
    for problem in problems:
        pools[min(len(problem[1].steps), max(STEP_SHARES))][problem[0].benchmark].append(problem)
    for sources in pools.values():
        for rows in sources.values():
            random.shuffle(rows)
    conversations: list[Conversation] = []
    agent, generator, used_tokens = Agent(roles={}, domain="maths"), FORMULATIONS.load(formulation), 0
    problem_counts: Counter[int] = Counter()
    while pools:
        # the number of steps that is furthest below its share
        steps = min(pools, key=lambda number: problem_counts[number] / STEP_SHARES[number])
        sources = pools[steps]
        source = min(sources, key=lambda name: (counts[f"{formulation}, {name}, {steps} steps: problems"], name))
        task, annotation = sources[source].pop()
        if not sources[source]:
            del sources[source]
            if not sources:
                del pools[steps]
        try:
            candidates = gold_conversations(task, annotation, generator, agent)
        except SpecError:
            counts[f"{task.benchmark}: not writable as {formulation}"] += 1
            continue
        if random.random() >= GROUNDED:
            candidates = [conversation for conversation in candidates if conversation.dataset.endswith("/planner")]
        tokens = sum(count_tokens(conversation.text()) for conversation in candidates)
        if used_tokens + tokens > budget:
            break
        used_tokens += tokens
        problem_counts[steps] += 1
        counts[f"{formulation}, {source}, {steps} steps: problems"] += 1
        counts[f"{formulation}, {source}, {steps} steps: tokens"] += tokens
        conversations += candidates
    random.shuffle(conversations)
    return conversations
