"""The rows of the table: settings of the tools, limits, formulations; and what so many questions gave in each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import mean

from lumos_queue.limits import Limits
from lumos_queue.scoring.statistics import wilson
from performance.tool_agents.contest import NAMES, Contest, Result, play
from performance.tool_agents.faults import Setting
from performance.tool_agents.questions import Question, make_questions
from performance.tool_agents.world import World

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
    right, n = sum(one.right for one in results), len(results)
    low, high = wilson(right, n)
    return Row(
        setting,
        limits,
        method,
        n,
        right / n,
        low,
        high,
        mean(one.calls for one in results),
        mean(one.actions for one in results),
        mean(one.characters for one in results),
        max(one.calls for one in results),
        max(one.grown for one in results),
        dict(Counter(one.ending for one in results)),
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
    verdicts = [one for result in results for one in result.verdicts]
    misled = [one for one in verdicts if one.ok and not one.found]
    return Disagreement(
        setting,
        len(verdicts),
        status=_share([one.said != one.ok for one in verdicts]),
        body=_share([one.said != one.found for one in verdicts]),
        misled=len(misled),
        misled_failure=_share([not one.said for one in misled]),
    )


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0


def measure(
    many: int, seed: int, noise: float, tell: Callable[[str], None] = lambda text: None
) -> tuple[list[Row], list[Disagreement]]:
    """All rows, from so many questions each."""
    world = World(seed)
    questions = make_questions(world, seed, many)
    rows, parted = [], []
    for label, setting in SETTINGS.items():
        contest = Contest(world, setting, seed, noise)
        for kind, limits in (("paper", None), ("equal", EQUAL)):
            for name in NAMES:
                results = [play(contest, one, name, limits) for one in questions]
                rows.append(summary(label, kind, name, results))
                if name == "sum2act" and kind == "paper":
                    parted.append(disagreement(label, results))
        tell(label)
    more, misjudged = state_managers(Contest(world, SETTINGS["faults"], seed, noise), questions)
    rows += [*more, *too_long(Contest(world, LONG, seed, noise), questions)]
    tell(TOO_LONG)
    return rows, [*parted, misjudged]


def state_managers(contest: Contest, questions: Sequence[Question]) -> tuple[list[Row], Disagreement]:
    """Sum2Act under faults: without its guard against equal calls, and with a state manager that errs, too."""
    errs = replace(contest, misjudged=contest.noise)
    misjudged = _run_sum2act(errs, questions, "yes")
    rows = [
        summary("faults", "paper", "sum2act, repeat_guard=no", _run_sum2act(contest, questions, "no")),
        summary("faults", "paper", "sum2act, manager errs", misjudged),
        summary("faults", "paper", "sum2act, both", _run_sum2act(errs, questions, "no")),
    ]
    return rows, disagreement("faults, manager errs", misjudged)


def _run_sum2act(contest: Contest, questions: Sequence[Question], guard: str) -> list[Result]:
    return [play(contest, one, "sum2act", settings={"repeat_guard": guard}) for one in questions]


def too_long(contest: Contest, questions: Sequence[Question]) -> list[Row]:
    """With a context, for each question, that ReAct's whole transcript exceeds so many times; and what helps."""
    whole = [play(contest, one, "react", EQUAL) for one in questions]
    rows = [summary("long bodies, any context", "equal", "react", whole)]
    for name in NAMES:
        done = [
            play(contest, one, name, EQUAL, context=int(known.longest / EXCEEDS))
            for one, known in zip(questions, whole, strict=True)
        ]
        rows.append(summary(TOO_LONG, "equal", name, done))
    for history in ("cut", "drop"):
        done = []
        for one, known in zip(questions, whole, strict=True):
            context = int(known.longest / EXCEEDS)
            room = max(1, context - (known.longest - known.grown))  # beside the request and the list of functions
            done.append(play(contest, one, "react", EQUAL, context, {"history": f"{history}:{room}"}))
        rows.append(summary(TOO_LONG, "equal", f"react, history={history}", done))
    return rows
