"""The rows of the table: settings of the tools, limits, formulations; and what so many questions gave in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from experiments.tool_agents.contest import NAMES, Contest, Result, play
from experiments.tool_agents.faults import Setting
from experiments.tool_agents.questions import Question, make_questions
from experiments.tool_agents.world import World
from lumos_queue.limits import Limits
from lumos_queue.scoring.statistics import wilson

EQUAL = Limits(calls=24)  #: the same number of model calls for all, and no other limit
EXCEEDS = 1.2  #: how many times the context a transcript is, where it is too long
SETTINGS = {
    "no faults": Setting(),
    "faults": Setting(share=0.75),
    "faults, exact spelling": Setting(share=0.75, strict=True),
    "all tools fail": Setting(down=True),
}
LONG = Setting(filler=900)  #: bodies that fill a context
TOO_LONG = f"transcript {EXCEEDS:g} x the context"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    setting: str
    limits: str  #: paper or equal
    method: str
    n: int
    passed: float
    low: float  #: Wilson's interval of 95 %
    high: float
    calls: float  #: means of an episode, these three
    actions: float
    characters: float
    most_calls: int
    grown: int  #: characters by which a policy's or router's prompt became longer than its first, at most
    endings: dict[str, int]


def summary(setting: str, limits: str, method: str, results: Sequence[Result]) -> Row:
    right, n = sum(result.right for result in results), len(results)
    low, high = wilson(right, n)
    return Row(
        setting,
        limits,
        method,
        n,
        right / n,
        low,
        high,
        mean(result.calls for result in results),
        mean(result.actions for result in results),
        mean(result.characters for result in results),
        max(result.calls for result in results),
        max(result.grown for result in results),
        dict(Counter(result.ending for result in results)),
    )


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How often the state manager and the truth part."""

    setting: str
    n: int  #: verdicts
    status: float  #: share in which the verdict is not the call's status
    body: float  #: share in which it is not what the body holds
    misled: int  #: calls with status ok whose body holds nothing of what was asked for
    misled_failure: float  #: share of these that the manager calls a failure, against their status


def disagreement(setting: str, results: Sequence[Result]) -> Disagreement:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    misleading_calls = [verdict for verdict in verdicts if verdict.ok and not verdict.found]
    return Disagreement(
        setting,
        len(verdicts),
        status=_share([verdict.said != verdict.ok for verdict in verdicts]),
        body=_share([verdict.said != verdict.found for verdict in verdicts]),
        misled=len(misleading_calls),
        misled_failure=_share([not verdict.said for verdict in misleading_calls]),
    )


def _share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0


def measure(
    many: int, seed: int, noise: float, tell: Callable[[str], None] = lambda text: None
) -> tuple[list[Row], list[Disagreement]]:
    """All rows, from so many questions each."""
    world = World(seed)
    questions = make_questions(world, seed, many)
    rows, disagreements = [], []
    for label, setting in SETTINGS.items():
        contest = Contest(world, setting, seed, noise)
        for kind, limits in (("paper", None), ("equal", EQUAL)):
            for name in NAMES:
                results = [play(contest, question, name, limits) for question in questions]
                rows.append(summary(label, kind, name, results))
                if name == "sum2act" and kind == "paper":
                    disagreements.append(disagreement(label, results))
        tell(label)
    manager_rows, manager_disagreement = state_managers(Contest(world, SETTINGS["faults"], seed, noise), questions)
    rows += [*manager_rows, *too_long(Contest(world, LONG, seed, noise), questions)]
    tell(TOO_LONG)
    return rows, [*disagreements, manager_disagreement]


def state_managers(contest: Contest, questions: Sequence[Question]) -> tuple[list[Row], Disagreement]:
    """Sum2Act under faults: without its guard against equal calls, and with a state manager that errs, too."""
    errs = replace(contest, misjudged=contest.noise)
    results = _run_sum2act(errs, questions, "yes")
    rows = [
        summary("faults", "paper", "sum2act, repeat_guard=no", _run_sum2act(contest, questions, "no")),
        summary("faults", "paper", "sum2act, manager errs", results),
        summary("faults", "paper", "sum2act, both", _run_sum2act(errs, questions, "no")),
    ]
    return rows, disagreement("faults, manager errs", results)


def _run_sum2act(contest: Contest, questions: Sequence[Question], guard: str) -> list[Result]:
    return [play(contest, question, "sum2act", settings={"repeat_guard": guard}) for question in questions]


def too_long(contest: Contest, questions: Sequence[Question]) -> list[Row]:
    """With a context, for each question, that ReAct's whole transcript exceeds so many times; and what helps."""
    whole = [play(contest, question, "react", EQUAL) for question in questions]
    rows = [summary("long bodies, any context", "equal", "react", whole)]
    for name in NAMES:
        results = [
            play(contest, question, name, EQUAL, context=int(full_result.longest / EXCEEDS))
            for question, full_result in zip(questions, whole, strict=True)
        ]
        rows.append(summary(TOO_LONG, "equal", name, results))
    for history in ("cut", "drop"):
        results = []
        for question, full_result in zip(questions, whole, strict=True):
            context = int(full_result.longest / EXCEEDS)
            room = max(
                1, context - (full_result.longest - full_result.grown)
            )  # beside the request and the list of functions
            results.append(play(contest, question, "react", EQUAL, context, {"history": f"{history}:{room}"}))
        rows.append(summary(TOO_LONG, "equal", f"react, history={history}", results))
    return rows
