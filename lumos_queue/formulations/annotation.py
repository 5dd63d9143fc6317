"""An annotation acted out: its subgoals are noted and its actions run. By rule no model is asked; else a teacher is."""

from __future__ import annotations

from lumos_queue.commands import Ask, Do, Note


def annotation(task, check):
    """Act out the steps that the check has."""
    return check.judge((yield from act_out(check.steps_to_act_out())))


def taught(task, check):
    """Ask the teacher, act out what it says, and ask again while the verdicts reject it and re-asks are left.

    1 + re-asks model calls at most. The steps after the last of them are the annotation.
    """
    while True:
        completion = yield Ask("teacher", check.prompt, check.images)
        outcome = check.judge((yield from act_out(check.read(completion))))
        if not check.should_retry(completion):
            return outcome


def act_out(steps):
    """Note each subgoal and run its actions; returns (action, stated result, execution) of each action."""
    seen = []
    for step in steps:
        yield Note(step.subgoal)
        for action, stated in zip(step.actions, step.results, strict=True):
            execution = yield Do(action)
            seen.append((action, stated, execution))
    return seen
