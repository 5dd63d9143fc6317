"""The steps of an episode in three columns, for terminals and pages: plans or thoughts, actions, results.

A cell is a list of runs of text, each with a style: `dim` for replies that were not read and for calls within an
action, `bold` for headings, or ''.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from lumos_queue.prompts.open_ended import read_line
from lumos_queue.records import Role
from lumos_queue.reports.episode_values import EpisodeReport, Step
from lumos_queue.reports.tool_agents import RECORDS, decides_alone
from lumos_queue.text_calls.three_lines import MARKED, read_reply

Run = tuple[str, str]  #: text, style
Cell = list[Run]
Row = list[Cell]  #: three cells
PlacedRow = tuple[str, Row]  #: name of the row's step, and the row
_NO_STEP = Step(at="", who="", what="")  #: after the last step


def rows_of(episode: EpisodeReport) -> list[Row]:
    """Return the rows of an episode of any agent."""
    return [row for _, row in place_rows(episode)]


def place_rows(episode: EpisodeReport) -> list[PlacedRow]:
    """Return the rows of an episode with the names of their steps."""
    if decides_alone(episode.formulation):
        return decision_rows(episode.steps, episode.formulation_version)
    return plan_rows(episode.steps)


def plan_rows(steps: Sequence[Step]) -> list[PlacedRow]:
    """Return rows of subgoal, action and result. The actions after some subgoals are in the rows of these subgoals.

    A reply from which nothing was read, such as the planner's last, has its own row. Each call of a model or a tool by
    an action has a row below the action.
    """
    rows: list[PlacedRow] = []
    free = 0  # the row for the next action
    before = ""
    main_steps = [step for step in steps if step.within is None]
    for step, after in zip_longest(main_steps, main_steps[1:], fillvalue=_NO_STEP):
        match step.who:
            case "subgoal":
                if before != "subgoal":
                    free = len(rows)
                rows.append((step.at, [_plain(step.what), [], []]))
            case "tool":
                if free == len(rows):
                    rows.append((step.at, [[], [], []]))
                rows[free] = step.at, [rows[free][1][0], _plain(step.what), _plain(step.result)]
                inner_calls = [
                    (inner_step.at, f"  {inner_step.who}: {inner_step.what}")
                    for inner_step in steps
                    if inner_step.within == step.at
                ]
                rows[free + 1 : free + 1] = [(name, [[], _dim(text), []]) for name, text in inner_calls]
                free += 1 + len(inner_calls)
            case role if after.who not in ("subgoal", "tool") or (role, after.who) == (Role.PLANNER, "tool"):
                reply = _dim(step.what)
                rows.append((step.at, [reply, [], []] if role == Role.PLANNER else [[], reply, []]))
                free = len(rows)
        before = step.who
    return rows


def decision_rows(steps: Sequence[Step], version: int = MARKED) -> list[PlacedRow]:
    """Return rows of thought, call and result. Records of the state manager are below the result.

    A to-do list has a row for each of its lines and for a person's answer to it, and each line is repeated above its
    steps. A thought that does not continue the step before it, as in a tree, names the step that it continues. A reply
    without a call, the provenance of an answer, and a call within an action have their own rows. `version` is that of
    the formulation, which decides how replies are read.
    """
    rows: list[PlacedRow] = []
    main_steps = [step for step in steps if step.within is None]
    thought: Cell = []
    last, line = -1, ""
    for step, after in zip_longest(main_steps, main_steps[1:], fillvalue=_NO_STEP):
        step_name = step.at
        if step.who == Role.POLICY and (next_line := read_line(step.prompt)) not in ("", line):
            line = next_line
            rows.append((step_name, [[(line, "bold")], [], []]))
        match step.who:
            case "tool":
                rows.append((step_name, [thought, _plain(step.what), _plain(step.result)]))
                rows += [
                    (inner_step.at, [[], _dim(f"  {_describe_within(inner_step)}"), []])
                    for inner_step in _within(steps, step)
                ]
                thought = []
            case "subgoal":
                rows.append((step_name, [_plain(step.what), [], []]))
            case Role.PLANNER if after.who == "subgoal":
                pass  # its list comes next
            case "approval":
                rows.append((step_name, [[], _dim("the list is shown"), _plain(step.result)]))
            case who if who == RECORDS:
                rows.append((step_name, [[], [], _dim(step.what)]))
            case _:
                branch_note = _describe_branch(step, last)
                if after.who == "tool":
                    thought = branch_note + _plain(read_reply(step.what, version).thought)
                else:
                    rows.append((step_name, [branch_note + _dim(step.what), [], []]))
        last = -1 if step.who == "approval" else int(step_name.partition(".")[0])
    return rows


def _plain(text: str) -> Cell:
    return [(text, "")] if text else []


def _dim(text: str) -> Cell:
    return [(text, "dim")]


def _describe_branch(step: Step, last: int) -> Cell:
    parent = last if step.parent is None else step.parent
    if parent == last:
        return []
    text = "(from the beginning)" if parent < 0 else f"(back to step {parent})"
    return [(text, "dim"), (" ", "")]


def _within(steps: Sequence[Step], step: Step) -> list[Step]:
    return [inner_step for inner_step in steps if inner_step.within == step.at]


def _describe_within(step: Step) -> str:
    """Describe a step within an action; of an external call, which has the action's arguments, only the provenance."""
    return (step.provenance or "not answered") if step.who == "call" else f"{step.who}: {step.what}"
