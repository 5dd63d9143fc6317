"""ToolEval: a judge votes on a tool agent's run, and on which of two runs is better. `lumos judge` uses it.

For each vote the judge is asked up to three questions, as in ToolEval: whether the answer solves the request; if the
judge is unsure, the same question with the run's calls; and if the answer does not solve the request, whether the
request can be solved at all. A run without Finish fails without a question. A run that gave up, or has an empty answer,
is unsolved. The judge compares two runs as far as a rule needs it (scoring/tooleval.py): in both orders if both pass or
both fail, and with the other run first if their labels and the votes on their answers may be equal. A question that
both rules need is asked once. Versions 1 to 3 ask for the rule `ours` alone. Equal questions are asked concurrently.

A reply that ended within its reasoning is no vote: the vote, or the round of a comparison, is left out.

In a comparison each run keeps its own votes, whichever run is first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lumos_queue.commands import Ask, Commands
from lumos_queue.formulations.base import VERSION, Formulation, Setting
from lumos_queue.formulations.settings import read_number
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.judged_run import ANSWERED, JudgedRun
from lumos_queue.prompts.tooleval import L, Questions, judge_prefixes, read_label
from lumos_queue.records import Completion, Ending, Outcome, Role, Task
from lumos_queue.scoring.tool_verdicts import OURS, Round, RunVerdict, ToolVerdict
from lumos_queue.scoring.tool_votes import AnswerLabel, Preference, TaskLabel, Vote
from lumos_queue.scoring.tooleval import OUR_RULE, RULES, Order, Rule

MAX_VOTES = 99
BOTH_RULES = 4  #: the version from which on the judge is asked for both rules


class _Judge:
    """The judge of a task, with the labels that it has given the task so far."""

    def __init__(self, task: Task, agent: Agent, votes: int, rules: Sequence[Rule]):
        self._questions, self._votes, self._rules = Questions(task, agent), votes, rules
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

    def compare(self, own_run: JudgedRun, other_run: JudgedRun, verdict: ToolVerdict) -> Commands[ToolVerdict]:
        """Ask the judge to compare two runs in each round, as far as a rule of the verdict needs it."""
        ballots = verdict.list_ballots()
        assert ballots is not None, "each round names its votes"
        questions = [
            (index, order)
            for index, (own_vote, other_vote, _) in enumerate(ballots)
            for order in self._list_orders(verdict, own_vote, other_vote)
        ]
        prompts = {
            Order.OWN_FIRST: self._questions.pair(own_run, other_run),
            Order.OTHER_FIRST: self._questions.pair(other_run, own_run),
        }
        answers = yield from self._ask([prompts[order] for _, order in questions], Preference, Preference.TIE)
        preferences = dict(zip(questions, answers, strict=True))
        rounds = (
            _settle(
                verdict, ballot, preferences.get((index, Order.OWN_FIRST)), preferences.get((index, Order.OTHER_FIRST))
            )
            for index, ballot in enumerate(ballots)
        )
        return replace(verdict, rounds=tuple(rounds))

    def _list_orders(self, verdict: ToolVerdict, own_vote: Vote, other_vote: Vote) -> list[Order]:
        """Return the orders in which a rule needs a comparison, each once."""
        needed_orders = {order for rule in self._rules for order in rule.list_orders(verdict, own_vote, other_vote)}
        return [order for order in Order if order in needed_orders]

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
        replies = yield [Ask(Role.JUDGE, prompt) for prompt in prompts]
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


def _settle(
    verdict: ToolVerdict,
    ballot: tuple[Vote, Vote, Round],
    own_first: Preference | None,
    other_first: Preference | None,
) -> Round:
    """Return a round with its result by the rule `ours`, and with the judge's preferences that are not missing."""
    own_vote, other_vote, round_ = ballot
    win = OUR_RULE.settle(verdict, own_vote, other_vote)
    if own_first is None or other_first is None:
        return replace(round_, win=win, other_first=other_first)
    return replace(round_, win=OUR_RULE.compare_orders(own_first, other_first), preferences=(own_first, other_first))


def tooleval(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Judge a run, or judge and compare two runs. The answer is the verdict as JSON."""
    rules = RULES if version >= BOTH_RULES else (OUR_RULE,)
    judge = _Judge(task, agent, FORMULATION.read_settings(agent)["votes"], rules)
    if "run" not in task.inputs:
        return Outcome(None, Ending.NO_ANSWER, "the task is no stored run: judge those of a job with lumos judge JOB")
    own_run = JudgedRun.from_json(task.inputs["run"])
    votes = yield from judge.judge(own_run)
    verdict = ToolVerdict(_write_votes(own_run, votes))
    if "against" in task.inputs:
        other_run = JudgedRun.from_json(task.inputs["against"])
        other_votes = yield from judge.judge(other_run)
        verdict = replace(
            verdict,
            opponent=_write_votes(other_run, other_votes),
            rounds=_pair_votes(votes, other_votes),
            rules=tuple(rule.name for rule in rules),
            similarity=own_run.compare(other_run),
        )
        verdict = yield from judge.compare(own_run, other_run, verdict)
        verdict = verdict if version >= BOTH_RULES else _leave_out_votes(verdict)
    if not verdict.verdict.votes:
        return Outcome(None, Ending.NO_ANSWER, "no vote: the judge's replies ended within their reasoning")
    return Outcome(replace(verdict, unreadable=judge.unreadable, missing=judge.missing).as_text(), Ending.ANSWERED)


def _write_votes(run: JudgedRun, votes: Sequence[Vote | None]) -> RunVerdict:
    return RunVerdict(run.ended, tuple(vote for vote in votes if vote is not None))


def _pair_votes(own_votes: Sequence[Vote | None], other_votes: Sequence[Vote | None]) -> tuple[Round, ...]:
    """Return a round, without a result, for each pair of votes of which none is missing."""
    rounds, own_index, other_index = list[Round](), 0, 0
    for own_vote, other_vote in zip(own_votes, other_votes, strict=True):
        if own_vote is not None and other_vote is not None:
            rounds.append(Round(None, votes=(own_index, other_index)))
        own_index += own_vote is not None
        other_index += other_vote is not None
    return tuple(rounds)


def _leave_out_votes(verdict: ToolVerdict) -> ToolVerdict:
    """Return the verdict as versions 1 to 3 store it: only rounds with a result, without the positions of votes."""
    rounds = (Round(round_.win, round_.preferences) for round_ in verdict.rounds if round_.win is not None)
    return replace(verdict, rounds=tuple(rounds), rules=(OURS,), similarity=None)


FORMULATION = Formulation(
    "tooleval",
    tooleval,
    (Role.JUDGE,),
    executes=False,
    judges_runs=True,
    of_episodes=True,
    settings={"votes": Setting("3", "votes on each run; an even number may be tied", read_number(1, MAX_VOTES))},
    prefixes=judge_prefixes,
    versioned=True,
)
