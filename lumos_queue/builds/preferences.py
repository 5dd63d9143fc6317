"""Make preference pairs, at the first prompt where a failed try's reply differs from those of successful tries."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lumos_queue.builds.candidates import RUNS, BuildCandidate, Rules, failure_reason, label_exclusion, task_exclusion
from lumos_queue.builds.staging_database import CONTENT_ORDER, StagingDatabase
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.records import MODULES, Annotation, Completion, Ending, Level

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode

#: endings that the models caused
FAILED = (
    Ending.LIMIT,
    Ending.NO_ANSWER,
    Ending.ACTION_ERROR,
    Ending.UNREADABLE,
    Ending.GAVE_UP,
    Ending.INFEASIBLE,
)


@dataclass(frozen=True, slots=True)
class Try:
    """An episode as a try at its task: the prompts and replies of its models."""

    candidate: int
    good: bool
    asks: tuple[tuple[str, str, str], ...]  #: role, prompt, reply


def examine_try(episode: StoredEpisode, rules: Rules) -> tuple[BuildCandidate, bool] | str:
    """Return the candidate and whether it succeeded, or the reason why it cannot be compared with other tries.

    A successful try is excluded if a person labelled it wrong or corrected it. A failed try is used even then.
    """
    if reason := task_exclusion(episode, rules):
        return reason
    if episode.origin not in RUNS or not _is_stepwise(episode.formulation):
        return "no iterative run"
    problem = failure_reason(episode)
    if problem and problem != "wrong answer" and episode.ending not in FAILED:
        return problem
    if not problem:
        if reason := label_exclusion(episode, rules):
            return reason
        if episode.id in rules.facts.corrected:
            return "corrected by a person"
    try:
        domain = rules.sources.domain(episode)
    except LookupError:
        return "unknown domain"
    level = "" if problem else Level.EXECUTED
    return BuildCandidate(episode, domain, Annotation((), episode.answer or ""), "", MODULES, level), not problem


def _is_stepwise(name: str) -> bool:
    formulation = FORMULATIONS.find(name)
    return formulation is not None and formulation.is_stepwise


def keep_try(database: StagingDatabase, candidate: BuildCandidate, good: bool) -> None:
    """Add a try, with the prompts and replies of its modules, to the staging database."""
    asks = [
        {"place": position, "role": step.role, "prompt": step.prompt, "reply": step.result.text.strip()}
        for position, step in enumerate(candidate.episode.steps)
        if isinstance(step.result, Completion) and step.role in MODULES
    ]
    number = database.insert("candidate", [candidate.columns(json.dumps(asks), good)])
    database.insert("ask", [{"candidate": number, **ask} for ask in asks])


def make_pairs(database: StagingDatabase) -> None:
    """Store the pairs of every task as rows. A row belongs to the successful episode that gave the chosen reply."""
    for tries in _by_task(database):
        for role, pair, good, bad in pairs(tries):
            name = database.one("SELECT name FROM candidate WHERE id = ?", bad)
            benchmark, row = next(database.read("SELECT benchmark, row FROM candidate WHERE id = ?", good))
            line = {
                "candidate": good,
                "file": f"{role}_preference",
                "key": f"{benchmark}/{row}",
                "json": json.dumps(pair, ensure_ascii=False),
                "turns": 1,
                "other": name,
            }
            database.insert("line", [line])
    database.run(
        "UPDATE candidate SET why = 'no try of the other kind to compare with' WHERE why IS NULL "
        "AND id NOT IN (SELECT candidate FROM line) AND name NOT IN (SELECT other FROM line)"
    )


def pairs(tries: list[Try]) -> Iterator[tuple[str, dict[str, str], int, int]]:
    """Yield (role, pair, id of the chosen reply's candidate, id of the rejected reply's candidate) for a task's tries.

    Each failed try gives at most one pair, at the first prompt where no successful try gave its reply. The chosen reply
    is the most frequent reply of the successful tries to that prompt.
    """
    replies_by_prompt: dict[tuple[str, str], Counter[str]] = {}
    who: dict[tuple[str, str, str], int] = {}
    for attempt in tries:
        if attempt.good:
            for role, prompt, reply in attempt.asks:
                replies_by_prompt.setdefault((role, prompt), Counter())[reply] += 1
                who.setdefault((role, prompt, reply), attempt.candidate)
    known_pairs = set()
    for attempt in tries:
        if attempt.good:
            continue
        for role, prompt, reply in attempt.asks:
            replies = replies_by_prompt.get((role, prompt), Counter())
            if replies and reply not in replies:
                best_reply = min(replies.items(), key=lambda item: (-item[1], item[0]))[0]
                if (role, prompt, best_reply, reply) not in known_pairs:
                    known_pairs.add((role, prompt, best_reply, reply))
                    pair = {"prompt": prompt, "chosen": best_reply, "rejected": reply}
                    yield role, pair, who[role, prompt, best_reply], attempt.candidate
                break


def _by_task(database: StagingDatabase) -> Iterator[list[Try]]:
    """Yield the tries at each task that has successful and failed tries, in the order of their content."""
    tasks = database.read(
        "SELECT benchmark, task FROM candidate GROUP BY benchmark, task "
        "HAVING max(good) = 1 AND min(good) = 0 ORDER BY benchmark, task"
    )
    for benchmark, task in tasks:
        rows = database.read(
            f"SELECT id, good FROM candidate WHERE benchmark = ? AND task = ? ORDER BY {CONTENT_ORDER}", benchmark, task
        )
        query = "SELECT role, prompt, reply FROM ask WHERE candidate = ? ORDER BY place"
        yield [Try(candidate, bool(good), tuple(database.read(query, candidate))) for candidate, good in list(rows)]
