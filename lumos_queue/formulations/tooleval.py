"""ToolEval: a judge votes on a tool agent's run, and on which of two runs is better. `lumos judge` uses it.

For each vote the judge is asked up to three questions, as in ToolEval: whether the answer solves the request; if the
judge is unsure, the same question with the run's calls; and if the answer does not solve the request, whether the
request can be solved at all. A run without Finish fails without a question. A run that gave up, or has an empty answer,
is unsolved. If both runs pass or both fail, the judge compares them in both orders. Equal questions are asked
concurrently.

A reply that ended within its reasoning is no vote: the vote, or the round of a comparison, is left out.

In a comparison each run keeps its own votes, whichever run is first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lumos_queue.commands import Ask, Commands
from lumos_queue.endpoints.roles import JUDGE
from lumos_queue.formulations.base import Formulation, Setting
from lumos_queue.formulations.settings import read_number
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.judged_run import ANSWERED, MISSING, JudgedRun
from lumos_queue.prompts.tooleval import L, Questions, judge_prefixes, read_label
from lumos_queue.records import Completion, Ending, Outcome, Task
from lumos_queue.scoring.tool_verdicts import Round, RunVerdict, ToolVerdict
from lumos_queue.scoring.tooleval import HALF, AnswerLabel, Preference, TaskLabel, Vote, compare_round, settle_round

MAX_VOTES = 99


class _Judge:
    """The judge of a task, with the labels that it has given the task so far."""

    def __init__(self, task: Task, agent: Agent, votes: int):
        self._questions, self._votes = Questions(task, agent), votes
        self._task: list[TaskLabel | None] = [None] * votes  # asked once for both runs of a round
        self.unreadable = 0
        self.missing = 0  #: replies that ended within their reasoning

    def judge(self, run: JudgedRun) -> Commands[list[Vote | None]]:
        """Return the votes on a run; a vote is None if the reply for it is missing."""
        votes: list[Vote | None] = [Vote(AnswerLabel.UNSOLVED)] * self._votes
        if run.has_finish:
            if run.ended == ANSWERED and run.answer.strip():
                votes = yield from self._judge_answer(run)
            unsolved_votes = {
                index: vote.answer
                for index, vote in enumerate(votes)
                if vote is not None and vote.answer != AnswerLabel.SOLVED
            }
            yield from self._judge_task(list(unsolved_votes))
            for index, label in unsolved_votes.items():
                task = self._task[index]
                votes[index] = None if task is None else Vote(label, task)
        return votes

    def compare(
        self,
        own_run: JudgedRun,
        own_votes: Sequence[Vote | None],
        other_run: JudgedRun,
        other_votes: Sequence[Vote | None],
    ) -> Commands[list[Round]]:
        """Compare two runs. Return a round for each pair of votes on them, unless a vote or a reply is missing."""
        rounds: list[Round | None] = []
        pairs = zip(own_votes, other_votes, strict=True)
        for own_vote, other_vote in (
            (own_vote, other_vote) for own_vote, other_vote in pairs if own_vote is not None and other_vote is not None
        ):
            score = settle_round(
                None if own_run.ended == MISSING else own_vote, None if other_run.ended == MISSING else other_vote
            )
            if score is None and own_run.answer.strip() == other_run.answer.strip():
                score = HALF
            rounds.append(None if score is None else Round(score))
        if open_rounds := rounds.count(None):
            orders = [self._questions.pair(own_run, other_run), self._questions.pair(other_run, own_run)]
            answers = yield from self._ask(orders * open_rounds, Preference, Preference.TIE)
            preferences = zip(answers[::2], answers[1::2], strict=True)
            rounds = [settled_round or _round_of(*next(preferences)) for settled_round in rounds]
        return [settled_round for settled_round in rounds if settled_round is not None]

    def _judge_answer(self, run: JudgedRun) -> Commands[list[Vote | None]]:
        prompts = [self._questions.answer(run)] * self._votes
        labels = yield from self._ask(prompts, AnswerLabel, AnswerLabel.UNSURE)
        unsure = [index for index, label in enumerate(labels) if label == AnswerLabel.UNSURE]
        again = yield from self._ask([self._questions.again(run)] * len(unsure), AnswerLabel, AnswerLabel.UNSURE)
        for index, label in zip(unsure, again, strict=True):
            labels[index] = label
        return [None if label is None else Vote(label) for label in labels]

    def _judge_task(self, indexes: Sequence[int]) -> Commands[None]:
        """Ask whether the request can be solved, for each vote at these indexes that does not have this label yet."""
        indexes = [index for index in indexes if self._task[index] is None]
        labels = yield from self._ask([self._questions.task()] * len(indexes), TaskLabel, TaskLabel.UNSURE)
        for index, label in zip(indexes, labels, strict=True):
            self._task[index] = label

    def _ask(self, prompts: Sequence[str], labels: type[L], otherwise: L) -> Commands[list[L | None]]:
        """Ask the prompts. Return a label for each reply: `otherwise` if it is unclear, None if it is missing."""
        if not prompts:
            return []
        replies = yield [Ask(JUDGE, prompt) for prompt in prompts]
        assert isinstance(replies, list)
        reply_labels: list[L | None] = []
        for reply in replies:
            assert isinstance(reply, Completion)
            if reply.is_only_reasoning:
                self.missing += 1
                reply_labels.append(None)
                continue
            label = read_label(reply.text, labels)
            self.unreadable += label is None
            reply_labels.append(label or otherwise)
        return reply_labels


def _round_of(own_first: Preference | None, other_first: Preference | None) -> Round | None:
    if own_first is None or other_first is None:
        return None
    return Round(compare_round(own_first, other_first), (own_first, other_first))


def tooleval(task: Task, agent: Agent) -> Commands[Outcome]:
    """Judge a run, or judge and compare two runs. The answer is the verdict as JSON."""
    judge = _Judge(task, agent, FORMULATION.read_settings(agent)["votes"])
    if "run" not in task.inputs:
        return Outcome(None, Ending.NO_ANSWER, "the task is no stored run: judge those of a job with lumos judge JOB")
    own_run = JudgedRun.from_json(task.inputs["run"])
    votes = yield from judge.judge(own_run)
    verdict = ToolVerdict(_write_votes(own_run, votes))
    if "against" in task.inputs:
        other_run = JudgedRun.from_json(task.inputs["against"])
        other_votes = yield from judge.judge(other_run)
        rounds = yield from judge.compare(own_run, votes, other_run, other_votes)
        verdict = replace(verdict, opponent=_write_votes(other_run, other_votes), rounds=tuple(rounds))
    if not verdict.verdict.votes:
        return Outcome(None, Ending.NO_ANSWER, "no vote: the judge's replies ended within their reasoning")
    return Outcome(replace(verdict, unreadable=judge.unreadable, missing=judge.missing).as_text(), Ending.ANSWERED)


def _write_votes(run: JudgedRun, votes: Sequence[Vote | None]) -> RunVerdict:
    return RunVerdict(run.ended, tuple(vote for vote in votes if vote is not None))


FORMULATION = Formulation(
    "tooleval",
    tooleval,
    (JUDGE,),
    executes=False,
    trainable=False,
    settings={"votes": Setting("3", "votes on each run; an even number may be tied", read_number(1, MAX_VOTES))},
    prefixes=judge_prefixes,
)
