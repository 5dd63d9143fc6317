"""A tool agent's episode in three columns: what a role thought, the function it called, and what came back."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from lumos_queue.cli.output import escape
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import REPEATED
from lumos_queue.prompts.open_ended import read_line
from lumos_queue.prompts.three_lines import read_reply
from lumos_queue.records import Action

Step = dict[str, Any]
HEADS = ("planner: subgoals", "grounder: actions", "results")  #: of agents that are no tool agents
RECORDS = "state_manager"


def column_heads(formulation: str) -> tuple[str, str, str]:
    """What stands above the columns of an episode: the roles of its formulation."""
    if formulation == "tooleval":
        return "", "judge: labels", ""
    if not calls_functions(formulation):
        return HEADS
    roles = FORMULATIONS.load(formulation).roles
    if FORMULATIONS.load(formulation).approved:
        return f"{roles[0]}: list; {roles[1]}: thoughts", "actions", HEADS[2]
    if "solver" in roles:
        return HEADS[0], "actions; solver: answer", HEADS[2]
    return f"{roles[0]}: thoughts", "actions", f"results; {RECORDS}: records" if RECORDS in roles else HEADS[2]


def calls_functions(formulation: str) -> bool:
    """Whether its actions are the functions that a task brings."""
    return formulation in FORMULATIONS and FORMULATIONS.load(formulation).functions


def decides_alone(formulation: str) -> bool:
    """Whether a role decides on one call after the other, without a plan of calls."""
    if not calls_functions(formulation):
        return False
    found = FORMULATIONS.load(formulation)
    return found.approved or "planner" not in found.roles


def write_call(action: Action) -> str:
    """A function's name and its arguments; of a repeated call those of the function that was meant."""
    return f"{action.raw if action.name == REPEATED else action.name} {action.arguments}".rstrip()


def decision_lanes(steps: list[Step]) -> list[list[str]]:
    """Rows of thought, call and result. What the state manager recorded is below the result; of a to-do list there is
    a row for each of its lines, for what a person said to it, and above what was done for a line.

    A thought that does not come after the step before it, as in a tree, says which one it comes after. A reply without
    a call has its own row; so has where an answer came from, and what a call asked on its way.
    """
    rows: list[list[str]] = []
    own = [step for step in steps if "within" not in step]
    thought, last, line = "", -1, ""
    for step, after in zip_longest(own, own[1:], fillvalue={"who": ""}):
        if step["who"] == "policy" and (asked := read_line(step["prompt"])) not in ("", line):
            line = asked
            rows.append([f"[bold]{escape(line)}[/]", "", ""])
        match step["who"]:
            case "tool":
                rows.append([thought, escape(step["what"]), escape(step["result"])])
                rows += [["", f"[dim]  {escape(_tell_within(one))}[/]", ""] for one in _within(steps, step)]
                thought = ""
            case "subgoal":
                rows.append([escape(step["what"]), "", ""])
            case "planner" if after["who"] == "subgoal":
                pass  # its list comes next
            case "approval":
                rows.append(["", "[dim]the list is shown[/]", escape(step["result"])])
            case who if who == RECORDS:
                rows.append(["", "", f"[dim]{escape(step['what'])}[/]"])
            case _:
                place = _tell_place(step, last)
                if after["who"] == "tool":
                    thought = place + escape(read_reply(step["what"]).thought)
                else:
                    rows.append([f"{place}[dim]{escape(step['what'])}[/]", "", ""])
        last = -1 if step["who"] == "approval" else int(step["at"].partition(".")[0])
    return rows


def _tell_place(step: Step, last: int) -> str:
    parent = step.get("parent", last)
    if parent == last:
        return ""
    return "[dim](from the beginning)[/] " if parent < 0 else f"[dim](back to step {parent})[/] "


def _within(steps: list[Step], step: Step) -> list[Step]:
    return [one for one in steps if one.get("within", "") == step["at"]]


def _tell_within(step: Step) -> str:
    """Of a call outside, whose arguments are those of the action, only where the answer came from."""
    return step.get("provenance", "not answered") if step["who"] == "call" else f"{step['who']}: {step['what']}"
