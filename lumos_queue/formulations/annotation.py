"""A gold solution acted out: its subgoals are noted, its actions run, and no model is asked."""

from __future__ import annotations

from lumos_queue.commands import Do, Note
from lumos_queue.formulations.answer import last_value
from lumos_queue.records import Annotation, Outcome


def annotation(task, gold: Annotation):
    """Ends as `action_error` at the first action whose result is not the stated one."""
    seen = []
    for step in gold.steps:
        yield Note(step.subgoal)
        for action, stated in zip(step.actions, step.results, strict=True):
            execution = yield Do(action)
            if not execution.ok:
                return Outcome(None, "action_error", f"{action.raw or action}: {execution.message or execution.status}")
            if execution.result != stated:
                return Outcome(None, "action_error", f"{action.raw or action} gives {execution.result}, not {stated}")
            seen.append((action, execution))
    return last_value(seen)
