"""The verdicts of conversion: the name of each, its meaning, and the modules whose training row it makes unusable.

A planner's row has the subgoals and the results that the planner sees; a grounder's row has the actions. So a subgoal
that gives its result away affects only the planner's row. A missing or wrong result affects both rows, because the
planner sees it and the grounder's actions lead to it. An action that cannot run affects the grounder's row, and also
the planner's row if the result is known only by running the action. A row is accepted for a module if no verdict
rejects it for that module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lumos_queue.records import LEVELS, MODULES, Level, Role, Score, Verdict

BOTH, PLANNER, GROUNDER = MODULES, (Role.PLANNER,), (Role.GROUNDER,)

#: name: (modules whose row it affects, what it means)
VERDICTS: dict[str, tuple[Sequence[str], str]] = {
    "refused": (BOTH, "the teacher gave no annotation but an excuse, or nothing at all"),
    "truncated": (BOTH, "the reply ran into the limit of tokens: its end is missing"),
    "unreadable": (BOTH, "not the annotation format: labels out of order, text between the lines, no subgoal"),
    "mismatched parenthesis": (GROUNDER, "an action's parentheses do not close, or close too often"),
    "unknown action": (GROUNDER, "an action that the domain does not offer"),
    "undefined reference": (GROUNDER, "a variable is used before an action has set it"),
    "empty result": (BOTH, "an action without a result, in a domain whose actions have results"),
    "invalid result": (BOTH, "an error text in place of a result, or an action that fails when it is run"),
    "result stated": (PLANNER, "a subgoal says what comes out of its own actions"),
    "result not in facts": (BOTH, "a result that should be extracted does not stand in the facts"),
    "copied": (BOTH, "a step only states a number that neither the question nor an earlier result gives"),
    "unsure": (BOTH, "a number or a link may be wrong, so the row waits for a teacher or a person"),
    "overlong": (BOTH, "the module's conversation has more tokens than the limit"),
    "result differs": (BOTH, "an action gives another result than the one stated"),
    "wrong final answer": (BOTH, "the last result is not the gold answer"),
    "duplicate": (BOTH, "the same task stands earlier in the dataset: noted, as either row is as good"),
    "ambiguous link": (GROUNDER, "an operand may as well be another value: noted, not rejected"),
    "differs when perturbed": (GROUNDER, "with other numbers the answer is not the source's: noted, not rejected"),
    "text differs": (GROUNDER, "a formula is stated in another form than it is executed in: noted, not rejected"),
    "samples agree": (BOTH, "two samples of the teacher have the same formulas and links: noted, not rejected"),
}
NOTED = (
    "duplicate",
    "ambiguous link",
    "differs when perturbed",
    "text differs",
    "samples agree",
)  #: verdicts that do not reject a row
#: By the check level of a source: verdicts after which the results of actions are unknown, so that they are not judged
#: and both rows are rejected. The level matters because stated results also answer actions that cannot be executed.
UNCHECKABLE: dict[str, tuple[str, ...]] = {
    Level.FORMAT: ("refused", "truncated", "unreadable"),
    Level.ORACLE_TOOL: ("refused", "truncated", "unreadable", "mismatched parenthesis"),
    Level.EXECUTED: (
        "refused",
        "truncated",
        "unreadable",
        "mismatched parenthesis",
        "unknown action",
        "undefined reference",
    ),
}

DETAIL_CHARACTERS = 300


def make_verdicts(name: str, detail: str = "", modules: Sequence[str] = ()) -> list[Verdict]:
    """Return a verdict of this name for each affected module. `modules` are these, if they depend on the row."""
    return [Verdict(module, name, detail, name not in NOTED) for module in modules or VERDICTS[name][0]]


def reason_verdicts(reason: str, detail: str) -> list[Verdict]:
    """Return a verdict for each module, named by the reason why no rule converts the row (rationales/reasons.py)."""
    return [Verdict(module, reason, detail) for module in MODULES]


def merge_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Merge the verdicts of the same module and name into one, with their details joined without repetitions."""
    details: dict[tuple[str, str, bool], dict[str, None]] = {}
    for verdict in verdicts:
        details.setdefault((verdict.module, verdict.name, verdict.rejects), {})[verdict.detail] = None
    return [
        Verdict(module, name, "; ".join(filter(None, texts))[:DETAIL_CHARACTERS], rejects)
        for (module, name, rejects), texts in details.items()
    ]


def rejections(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict.rejects]


def acceptance_metric(source_level: str) -> str:
    """Return the metric of acceptance: `executed` if the source's annotations can be executed, else `accepted`."""
    return "executed" if LEVELS.index(source_level) >= LEVELS.index("executed") else "accepted"


def acceptance_score(source_level: str, verdicts: Iterable[Verdict]) -> Score:
    """Return the score of a checked annotation: 1 if no verdict rejects it, else 0 with the first rejecting verdict."""
    wrong = rejections(verdicts)
    detail = f"{wrong[0].name}: {wrong[0].detail}"[:DETAIL_CHARACTERS] if wrong else ""
    return Score(acceptance_metric(source_level), float(not wrong), detail=detail)


def list_accepting_modules(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return the modules whose training row no verdict rejects."""
    rejecting_modules = {verdict.module for verdict in rejections(verdicts)}
    return tuple(module for module in MODULES if module not in rejecting_modules)
