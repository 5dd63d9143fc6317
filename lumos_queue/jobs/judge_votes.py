"""Ask the judge of an evaluation, whose votes are the last steps of an episode."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.commands import Ask, Commands
from lumos_queue.episode import Generate
from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, FinishReason, Outcome, Role, Task
from lumos_queue.scoring.limit import select_judged_answer


def with_judge(
    formulation: Generate[Agent], benchmark: Benchmark, task: Task, votes: list[Completion]
) -> Generate[Agent]:
    """Return a formulation that runs `formulation`, asks the judge about the answer, and adds its replies to `votes`.

    If there is an answer, the judge is asked for all votes at once, then once more for each unreadable vote. A vote is
    an ordinary step of the episode: it is stored, and its call is never repeated.
    """

    def generate(visible: Task, agent: Agent) -> Commands[Outcome]:
        outcome = yield from formulation(visible, agent)
        answer = select_judged_answer(outcome.ending, outcome.answer, agent.at_limit)
        if answer is None or not (prompt := benchmark.judge_prompt(task, answer)):
            return outcome
        prompts = [prompt] * benchmark.judge_votes
        while prompts:
            replies = yield [Ask(Role.JUDGE, without_roles(text)) for text in prompts]
            assert isinstance(replies, list)
            completions = [reply for reply in replies if isinstance(reply, Completion)]
            is_first = not votes
            votes.extend(completions)
            again = (benchmark.remind_judge(prompt, vote) for vote in completions) if is_first else ()
            prompts = [text for text in again if text]
        return outcome

    return generate


def single_vote(agent: Agent, votes: Sequence[Completion]) -> str | None:
    """Return the judge's last reply; '' if the judge was not asked, None without a judge or if it gave no vote."""
    if Role.JUDGE not in agent.roles:
        return None
    if not votes:
        return ""
    vote = votes[-1]
    return None if vote.finish_reason == FinishReason.REFUSED or vote.is_only_reasoning else vote.text
