"""ToolEval: each task is a stored run of a tool agent; a judge votes on its answer (`lumos judge JOB`).

    pass           strict: most votes state that the answer solves the request
    tooleval_pass  most votes pass by ToolEval's table, which also accepts giving up on an unsolvable request
    sopr           the mean of the votes: solved 1, unsure 1/2, unsolved 0
    win            with --against JOB: most rounds are won against the other job's run of the same task

Every run of the judged job counts: a run without a result has failed. A tie counts 1/2. These scores follow the rule
`ours` (scoring/tooleval.py); reports show both rules, which they compute from the stored votes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, FormulationFacts
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.records import Score, Task
from lumos_queue.scoring.tool_verdicts import ToolVerdict
from lumos_queue.scoring.tool_votes import AnswerLabel, solvable_pass, strict_pass
from lumos_queue.scoring.tooleval import OUR_RULE


class ToolEval(Benchmark):
    name = "tooleval"
    domain = "tools"
    licence = "Apache-2.0"
    splits = ("test",)
    needs_data = False
    metrics = ("pass", "tooleval_pass", "sopr", "win")

    def accepts(self, formulation: FormulationFacts) -> bool:
        return formulation.judges_runs

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        raise SpecError("The tasks of 'tooleval' are the runs of a job: judge them with lumos judge JOB.")

    def gold_answer(self, task: Task) -> str:
        """Return '' because tasks have no gold answer: a judge decides."""
        return ""

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        """Return the scores of the stored verdict; () without a verdict, so that the report counts a missing score."""
        if result.answer is None:
            return ()
        verdict = ToolVerdict.from_text(result.answer)
        votes = verdict.verdict.votes
        solved_votes = sum(vote.answer == AnswerLabel.SOLVED for vote in votes)
        detail = f"{solved_votes} of {len(votes)} solved; {verdict.verdict.ended}"
        detail += f"; {verdict.unreadable} unreadable" if verdict.unreadable else ""
        detail += f"; {verdict.missing} without a reply" if verdict.missing else ""
        scores = [
            Score("pass", strict_pass(votes), detail=detail),
            Score("tooleval_pass", OUR_RULE.count_pass(votes)),
            Score("sopr", solvable_pass(votes)),
        ]
        if (comparison := OUR_RULE.compare(verdict)) is not None:
            scores.append(Score("win", comparison.win))
        return scores


benchmark = ToolEval()
