"""A scripted teacher for `wordmath`: it converts each row correctly, or makes the error that is planned for the row.

The error follows from the row's index in `tasks()`, so that teacher and test agree. Every second round of errors is
fixed when the teacher is asked again; the others are repeated. As a separate server:

    python -m tests.fake_endpoint --script tests.scripted_teacher:reply
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from itertools import islice

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.notation import variables_in, write_annotation
from lumos_queue.records import AnnotatedSubgoal, Annotation, Task
from lumos_queue.scoring.numerals import numbers_in

ROWS = 60

#: What is planted: the verdict that must be found, and the modules it spoils; '' for a right annotation.
BOTH, PLANNER, GROUNDER = ("planner", "grounder"), ("planner",), ("grounder",)
PLANTED = {
    "": (),
    "mismatched parenthesis": BOTH,
    "unknown action": BOTH,
    "undefined reference": BOTH,
    "empty result": BOTH,
    "invalid result": BOTH,
    "result stated": PLANNER,
    "overlong": BOTH,
    "truncated": BOTH,
    "refused": BOTH,
    "wrong final answer": BOTH,
    "result differs": BOTH,
    "unreadable": BOTH,
    "differs when perturbed": GROUNDER,
}
NOTED = ("differs when perturbed",)


@cache
def tasks() -> tuple[Task, ...]:
    """Rows of three to five plain calculations, in which a link can be wrong."""
    benchmark = open_benchmark("wordmath")
    fit = (task for task in benchmark.read(None, "train") if _fits(task, benchmark.gold(task)))
    return tuple(islice(fit, ROWS))  # type: ignore[arg-type]


def _fits(task: Task, gold: Annotation) -> bool:
    actions = [action for step in gold.steps for action in step.actions]
    results = [result for step in gold.steps for result in step.results]
    plain = all(action.name == "Calculator" and re.fullmatch(r"[R\d\s+*-]+", action.arguments) for action in actions)
    stated_numbers = {str(number) for number in numbers_in(task.question, words=True)}
    fresh = len(set(results)) == len(results) and not stated_numbers & set(results)
    return 3 <= len(actions) <= 5 and plain and fresh and bool(variables_in(actions[-1].arguments))


def plant_error(index: int) -> tuple[str, bool]:
    """Return the error of the row at this index, and whether the teacher fixes it when it is asked again."""
    kinds = list(PLANTED)
    return kinds[index % len(kinds)], index // len(kinds) % 2 == 1


def reply(prompt: str) -> str:
    """The teacher's reply to a framed prompt."""
    question = prompt.rpartition("natural language plan!\n\nTask: ")[2].partition("\n\nNatural language plan: ")[0]
    index = [task.question for task in tasks()].index(question)
    error, is_fixed = plant_error(index)
    asked_again = "That is not accepted:" in prompt
    steps = open_benchmark("wordmath").gold(tasks()[index]).steps
    return add_error(steps, "" if asked_again and is_fixed else error)


def add_error(steps: tuple[AnnotatedSubgoal, ...], error: str) -> str:
    """The annotation as text, with an error in it."""
    text = write_annotation(steps)
    lines = text.split("\n")
    match error:
        case "mismatched parenthesis":
            return text.replace(") = ", " = ", 1)
        case "unknown action":
            return text.replace("Calculator(", "Compute(", 1)
        case "undefined reference":
            return text.removesuffix(lines[-1]) + lines[-1].replace(
                f"({steps[-1].actions[-1].arguments})", f"({steps[-1].actions[-1].arguments} + R9 - R9)"
            )
        case "empty result":
            return text.removesuffix(lines[-1].rpartition(" = ")[2]).removesuffix(" = ")
        case "invalid result":
            return text.removesuffix(lines[-1].rpartition(" = ")[2]) + "Invalid Request: Prompt was filtered"
        case "result stated":
            return lines[0].rstrip(".") + f" to get {steps[0].results[-1]}.\n" + "\n".join(lines[1:])
        case "overlong":
            return lines[0].rstrip(".") + " carefully, patiently" * 300 + ".\n" + "\n".join(lines[1:])
        case "truncated":
            return text + "\n\nSubgoal 9: " + "and so on " * 2000
        case "refused":
            return "I'm sorry, but I cannot help with that."
        case "wrong final answer":
            last = steps[-1]
            action = replace(last.actions[-1], arguments=f"{last.actions[-1].arguments} + 1", raw="")
            wrong = replace(last, actions=(*last.actions[:-1], action), results=(*last.results[:-1], _increment(last)))
            return write_annotation((*steps[:-1], wrong))
        case "result differs":
            wrong = replace(steps[0], results=(_increment(steps[0]),))
            return write_annotation((wrong, *steps[1:]))
        case "unreadable":
            return text + "\n\nI hope this helps!"
        case "differs when perturbed":
            return _wrong_link(steps)
    return text


def _increment(step: AnnotatedSubgoal) -> str:
    return str(int(step.results[-1]) + 1)


def _wrong_link(steps: tuple[AnnotatedSubgoal, ...]) -> str:
    """The last reference written as the number it has here: right with these numbers, wrong with any others."""
    last = steps[-1].actions[-1]
    variable = variables_in(last.arguments)[-1]
    values = {a.variables[0]: r for step in steps for a, r in zip(step.actions, step.results, strict=True)}
    action = replace(last, arguments=last.arguments.replace(variable, values[variable]), raw="")
    return write_annotation((*steps[:-1], replace(steps[-1], actions=(*steps[-1].actions[:-1], action))))
