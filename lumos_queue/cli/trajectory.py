"""One episode: for a person in three columns, for a program step by step."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.cli.pictures import describe_pictures
from lumos_queue.cli.tool_trajectory import calls_functions, column_heads, decides_alone, decision_lanes, write_call
from lumos_queue.commands import WITHIN, Approve, Call
from lumos_queue.notation import write_action
from lumos_queue.records import Action, Completion, Execution, Subgoal

SHOWN_CANDIDATES = 5  #: of a step, where there are more


def print_trajectory(shown: dict[str, Any], prompts: bool) -> None:
    """Print what `trajectory_as_json` gives: subgoals, actions and results side by side."""
    console = output.console()
    console.print(
        f"[bold]{shown['episode']}[/]  {shown['benchmark']} row {escape(shown['row'])}  {shown['formulation']}"
    )
    console.print(escape(shown["question"]))
    if shown["steps"]:
        table = Table(header_style="bold", box=box.SIMPLE_HEAD)
        tells = decision_lanes if decides_alone(shown["formulation"]) else lanes
        for lane, ratio in zip(column_heads(shown["formulation"]), (5, 5, 3), strict=True):
            table.add_column(lane, overflow="fold", ratio=ratio)
        for row in tells(shown["steps"]):
            table.add_row(*row)
        console.print(table)
    else:  # e.g. a row that no rule could convert
        console.print("\nno steps are stored\n", style="dim")
    calls = [step for step in shown["steps"] if step["prompt"]]
    for step in calls if prompts else ():
        console.rule(f"{step['who']}, step {step['at']}: {step['result']}, {step['seconds']:.2f} s", align="left")
        console.print(f"[dim]{escape(step['prompt'])}[/]{escape(step['what'])}", soft_wrap=True)
    for step in shown["steps"]:
        if note := step.get("note"):
            console.print(escape(f"step {step['at']}: {note}"))
    for step in shown["steps"]:
        for line in describe_candidates(step.get("candidates", [])):
            console.print(escape(f"step {step['at']}: {line}"), style="dim", soft_wrap=True)
    for line in describe_pictures(shown.get("pictures", [])):
        console.print(escape(line), style="dim")
    if "saved" in shown:
        console.print(f"files written: {len(shown['saved']):,}")
    for state in shown.get("states", ()):
        console.print(escape(f"state before step {state['at']}:"))
        for name in ("results", "failures"):
            for one in state[name]:
                console.print(escape(f"  {name}: {one['action']} {one['arguments']}: {one['text']}"), style="dim")
    scores = "".join(f"  {score['metric']} {score['value']:g}" for score in shown["scores"])
    answer = "none" if shown["answer"] is None else escape(shown["answer"])
    gold = "" if shown["gold"] is None else f"  gold {escape(shown['gold'])}"
    console.print(f"[bold]{shown['ending'] or 'not finished'}[/]  answer {answer}{gold}{scores}")
    if shown["message"]:
        console.print(escape(shown["message"]))
    for past in shown["earlier_endings"]:
        when = datetime.fromtimestamp(past["replaced_at"], UTC).strftime("%Y-%m-%d %H:%M")
        console.print(escape(f"earlier ending, until {when} UTC: {past['ending']}: {past['message']}"), soft_wrap=True)
    if shown["level"]:
        console.print(f"{shown['origin']}, checked: {shown['level']}")
    if shown["parent"] is not None:
        console.print(f"corrects {shown['parent'] or 'an episode that was removed'}")
    for verdict in shown["verdicts"]:
        kind = "rejects" if verdict["rejects"] else "notes"
        console.print(escape(f"{kind} the {verdict['module']}'s row: {verdict_text(verdict)}"))
    for label in shown.get("labels", ()):
        what = f"step {label['step']} is " if label["step"] else ""
        note = f": {label['note']}" if label["note"] else ""
        said = f"rates it {label['label']} of 10" if label["label"].isdecimal() else f"says: {what}{label['label']}"
        console.print(escape(f"{label['labeller']} {said}{note}"))
    spent = sum(step["seconds"] for step in shown["steps"])
    console.print(
        f"{shown['calls']} model call{'' if shown['calls'] == 1 else 's'}, {shown['tokens']['prompt']:,} tokens in, "
        f"{shown['tokens']['completion']:,} out, {spent:.2f} s",
        style="dim",
    )


def describe_candidates(candidates: list[dict[str, Any]]) -> list[str]:
    """A line for each of the best, and one for those that are left out."""
    lines = [
        f"candidate {place}, log-probability {one['logprob']:.4f}: {one['text']}"
        for place, one in enumerate(candidates[:SHOWN_CANDIDATES], start=1)
    ]
    if (more := len(candidates) - len(lines)) > 0:
        lines.append(f"{more:,} more candidate{'s' * (more > 1)}: see --json")
    return lines


def verdict_text(verdict: dict[str, Any]) -> str:
    """A verdict's name and, if it says more, its detail."""
    says_more = verdict["detail"] not in ("", verdict["name"])
    return f"{verdict['name']}: {verdict['detail']}" if says_more else verdict["name"]


def lanes(steps: list[dict[str, Any]]) -> list[list[str]]:
    """Rows of subgoal, action and result. Actions are beside the subgoals noted just before them.

    A reply from which nothing was read, such as the planner's last, has its own row; so has each call that an
    action makes of a model or a tool, below the action.
    """
    rows: list[list[str]] = []
    free = 0  # the row for the next action
    before = ""
    own = [step for step in steps if "within" not in step]
    for step, after in zip_longest(own, own[1:], fillvalue={"who": ""}):
        match step["who"]:
            case "subgoal":
                if before != "subgoal":
                    free = len(rows)
                rows.append([escape(step["what"]), "", ""])
            case "tool":
                if free == len(rows):
                    rows.append(["", "", ""])
                rows[free][1:] = [escape(step["what"]), escape(step["result"])]
                asked = [
                    f"{one['who']}: {escape(one['what'])}" for one in steps if one.get("within", "") == step.get("at")
                ]
                rows[free + 1 : free + 1] = [["", f"[dim]  {one}[/]", ""] for one in asked]
                free += 1 + len(asked)
            case role if after["who"] not in ("subgoal", "tool") or (role, after["who"]) == ("planner", "tool"):
                reply = f"[dim]{escape(step['what'])}[/]"
                rows.append([reply, "", ""] if role == "planner" else ["", reply, ""])
                free = len(rows)
        before = step["who"]
    return rows


def trajectory_as_json(trajectory: Any) -> dict[str, Any]:
    """A db.reading.Trajectory as `lumos show --json` prints it, but for the labels."""
    episode, task = trajectory.episode, trajectory.task
    calls = [step for step in trajectory.steps if isinstance(step.result, Completion)]
    return {
        "episode": f"{trajectory.job.id}-{trajectory.item.ordinal}",
        "benchmark": task.benchmark,
        "row": task.row,
        "sample": episode.sample,
        "formulation": episode.formulation,
        "question": task.question,
        "gold": gold_text(task.gold) or None,
        "attempt": episode.attempt,
        "ending": episode.ending,
        "answer": episode.answer,
        "message": episode.message,
        "calls": episode.calls,
        "tokens": {
            "prompt": sum(step.result.prompt_tokens for step in calls),
            "completion": sum(step.result.completion_tokens for step in calls),
        },
        "scores": [
            {"metric": score.metric, "value": score.value, "version": score.version, "detail": score.detail}
            for score in trajectory.scores
        ],
        "origin": episode.origin,
        "level": episode.level,
        "parent": trajectory.parent,
        "verdicts": [
            {"module": one.module, "name": one.name, "rejects": bool(one.rejects), "detail": one.detail}
            for one in trajectory.verdicts
        ],
        "earlier_endings": [
            {
                name: getattr(past, name)
                for name in (
                    "ending",
                    "message",
                    "answer",
                    "attempt",
                    "scores",
                    "verdicts",
                    "finished_at",
                    "replaced_at",
                )
            }
            for past in trajectory.earlier
        ],
        "steps": [_step_as_json(step, calls_functions(episode.formulation)) for step in trajectory.steps],
    }


def gold_text(gold: Any) -> str:
    """The gold answer of a task as text; empty if none is known."""
    known = gold.get("answer", gold.get("plan", gold)) if isinstance(gold, dict) else gold
    return "" if known is None else str(known)


def labels_as_json(trajectory: Any) -> list[dict[str, Any]]:
    """The labels of a db.reading.Trajectory: apart from it, as a labeller must not see the labels of others."""
    from db.labels import name_of_step

    return [
        {
            "labeller": row.labeller,
            "label": row.value,
            "note": row.note,
            "audit": row.audit,
            "at": row.labelled_at,
            "step": None if row.position is None else name_of_step(trajectory.steps, row.position, row.branch),
        }
        for row in trajectory.labels
    ]


def _step_as_json(step: Any, functions: bool) -> dict[str, Any]:
    """`functions`: whether actions are functions of a task, which are written by name and arguments."""
    shown = {"at": _format_position(step.position, step.branch), "prompt": step.prompt, "seconds": 0.0, "result": ""}
    if step.branch >= WITHIN:
        shown["within"] = _format_position(step.position, step.branch // WITHIN - 1)
    if step.parent is not None:
        shown["parent"] = step.parent
    if isinstance(step.result, Execution) and step.result.provenance:
        shown["provenance"] = step.result.provenance
    match step.result, step.detail:
        case Completion() as done, _:
            tokens = f"{done.prompt_tokens}+{done.completion_tokens} tokens, {done.finish_reason}"
            noted: dict[str, Any] = {"note": done.note} if done.note else {}
            if done.candidates:
                noted["candidates"] = [{"text": one.text, "logprob": one.logprob} for one in done.candidates]
            return shown | {"who": step.role, "what": done.text, "result": tokens, "seconds": done.seconds} | noted
        case done, Action() as action:
            text = done.result if done.ok else f"{done.status}: {done.message}"
            is_call = functions and not action.variables
            return shown | {
                "who": "tool",
                "what": write_call(action) if is_call else action.raw or write_action(action),
                "result": text,
                "seconds": done.seconds,
            }
        case done, Call() as call:
            what = _describe_call(call) + ("" if done.ok else f" {done.status}")
            return shown | {"who": "call", "what": what, "result": done.result, "seconds": done.seconds}
        case done, Approve() as plan:
            return shown | {"who": "approval", "what": plan.shown, "result": describe_approval(done)}
        case _, Subgoal() as subgoal:
            return shown | {"who": "subgoal", "what": subgoal.text}
    raise TypeError("a step is a completion, an action, a call, a plan or a subgoal")


def describe_approval(answer: Execution | None) -> str:
    """What became of a plan that was shown to a person."""
    if answer is None:
        return "not answered"
    note = f": {answer.result}" if answer.result else ""
    return f"{'approved' if answer.ok else 'refused'} by {answer.values[0]['text']}{note}"


def _describe_call(call: Call) -> str:
    """The call on one line; of the run of an expert, which lists all its inputs, how many samples there are."""
    arguments = call.arguments
    if call.tool == "expert" and isinstance(inputs := arguments.get("inputs"), list) and inputs:
        samples = f"{len(inputs[0])} samples" if len(inputs[0]) != 1 else "1 sample"
        return f"{call.tool}({arguments.get('expert')}, backend {str(arguments.get('digest'))[:12]}…, {samples})"
    return f"{call.tool}({', '.join(f'{name}={value}' for name, value in arguments.items())})"


def _format_position(position: int, branch: int) -> str:
    return f"{position}.{branch}" if branch else str(position)
