"""Scripted judges that vote as a table of the oracle says, on runs made for the table. For control flow only."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection
from dataclasses import replace

from lumos_queue.commands import Ask, Command, Result
from lumos_queue.episode import StepContext, run_episode
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.judged_run import ANSWERED, MISSING, UNFINISHED, JudgedRun, JudgedStep
from lumos_queue.records import Completion, FinishReason
from tests.tool_judges import AGAIN, ANSWER, PAIR, TASK, kind_of, label, task_of
from tests.tooleval_oracle import Pair, Run

FAILED = ("unsolved", "")  #: a vote on a run that failed without a question
CANDIDATE, REFERENCE = "candidate", "reference"  #: what the calls of the runs return


def make_runs(pair: Pair) -> tuple[JudgedRun, JudgedRun]:
    """Runs with endings that fit the votes, and with as much in common as the table says, if their endings agree."""
    own = _make_run(pair.candidate, "yes", CANDIDATE)
    other = _make_run(pair.reference, "yes" if pair.has_same_answers else "no", CANDIDATE)
    if not (pair.is_identical and own == other):
        other = _make_run(pair.reference, "yes" if pair.has_same_answers else "no", REFERENCE)
    return own, other


def _make_run(run: Run, answer: str, mark: str) -> JudgedRun:
    if run.is_missing:
        return JudgedRun(MISSING)
    ended = UNFINISHED if set(run.votes) == {FAILED} else ANSWERED
    return JudgedRun(ended, answer if ended == ANSWERED else "", (JudgedStep("look_up", "{}", "ok", mark),))


def with_similarity_of(pair: Pair, own: JudgedRun, other: JudgedRun) -> Pair:
    """The table with what the made runs have in common: unfinished runs, for example, have the same empty answer."""
    return replace(pair, has_same_answers=own.answer == other.answer, is_identical=own == other)


def our_rounds(pair: Pair) -> set[int]:
    """The rounds in which the rule `ours` needs the judge, in both orders."""
    if pair.has_same_answers or pair.candidate.is_missing or pair.reference.is_missing:
        return set()
    votes = zip(pair.candidate.votes, pair.reference.votes, strict=True)
    return {number for number, pair_votes in enumerate(votes) if {*map(_worth, pair_votes)} != {0, 1}}


def _worth(vote: tuple[str, str]) -> float:
    table = {"unsolvable": {"unsure": 1, "unsolved": 1}, "unsure": {"unsure": 0.5, "unsolved": 0.5}}
    if vote[0] == "solved":
        return 1
    return 0 if not vote[1] else table.get(vote[1], {"unsure": 0.5, "unsolved": 0})[vote[0]]


class TableJudge:
    """A judge that replies by a table. It fails at a question that is not needed, and `is_done` without one that is."""

    def __init__(self, pair: Pair, own_first: Collection[int], reference_first: Collection[int]):
        self.questions: list[str] = []  #: kinds; of a comparison the run that is first
        self.positions: list[tuple[int, int]] = []  #: of the questions in the episode: each seeds its own reply
        runs = [run for run in (pair.candidate, pair.reference) if not run.is_missing and {*run.votes} != {FAILED}]
        tasks = {index: task for run in reversed(runs) for index, (_, task) in enumerate(run.votes) if task}
        order = dict.fromkeys(index for run in runs for index, (_, task) in enumerate(run.votes) if task)
        self._replies = {
            ANSWER: deque(answer for run in runs for answer, _ in run.votes),
            AGAIN: deque("unsure" for run in runs for answer, _ in run.votes if answer == "unsure"),
            TASK: deque(tasks[index] for index in order),
            CANDIDATE: deque(pair.candidate_first[number] for number in sorted(own_first)),
            REFERENCE: deque(pair.reference_first[number] for number in sorted(reference_first)),
        }

    @property
    def is_done(self) -> bool:
        return not any(self._replies.values()) and len({*self.positions}) == len(self.positions)

    async def __call__(self, command: Command, context: StepContext) -> Result:
        assert isinstance(command, Ask)
        kind = kind_of(command.prompt)
        if kind == PAIR:
            first = command.prompt.partition("First run")[2].partition("Second run")[0]
            kind = CANDIDATE if CANDIDATE in first else REFERENCE
        self.questions.append(kind)
        self.positions.append((context.position, context.branch))
        return Completion(label(self._replies[kind].popleft().capitalize()), FinishReason.STOP)


def judge_pair(judge: TableJudge, own: JudgedRun, other: JudgedRun, votes: int, version: int) -> str:
    """The stored verdict on two runs by a version of the formulation."""
    agent = Agent({}, "tools", settings={"votes": str(votes)})
    generator = FORMULATIONS.load("tooleval").at_version(version)
    run = asyncio.run(run_episode(generator, task_of(own, other), agent, MemoryJournal(), judge))
    assert run.outcome.answer is not None
    return run.outcome.answer
