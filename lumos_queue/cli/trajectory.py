"""Print an episode as text, with its steps in three columns."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.model_calls import print_calls, print_reasoning_sizes
from lumos_queue.cli.output import escape
from lumos_queue.cli.pictures import describe_pictures
from lumos_queue.pages.limits import truncate
from lumos_queue.reports.lanes import Row, rows_of
from lumos_queue.reports.tool_agents import column_heads
from lumos_queue.reports.totals import describe_totals
from lumos_queue.util.wording import format_seconds, format_time, plural

SHOWN_CANDIDATES = 5  #: the most that are shown of a step
MAX_CELL = 20_000  #: characters of a text in the table, as a line break takes 40 µs and a reply may have a million


def print_trajectory(trajectory: dict[str, Any], prompts: bool) -> None:
    """Print an episode of `trajectory_as_json`: subgoals, actions and results side by side."""
    console = output.console()
    console.print(
        f"[bold]{trajectory['episode']}[/]  {trajectory['benchmark']} row {escape(trajectory['row'])}  "
        f"{trajectory['formulation']}"
    )
    console.print(escape(trajectory["question"]))
    if trajectory["steps"]:
        table = Table(header_style="bold", box=box.SIMPLE_HEAD)
        for lane, ratio in zip(column_heads(trajectory["formulation"]), (5, 5, 3), strict=True):
            table.add_column(lane, overflow="fold", ratio=ratio)
        for row in rows_of(trajectory):
            table.add_row(*with_markup(row))
        console.print(table)
    else:  # for example of a row that no rule could convert
        console.print("\nno steps are stored\n", style="dim")
    if prompts:
        print_calls(console, trajectory["steps"])
    else:
        print_reasoning_sizes(console, trajectory["steps"])
    for step in trajectory["steps"]:
        if note := step.get("note"):
            console.print(escape(f"step {step['at']}: {note}"))
    for step in trajectory["steps"]:
        for line in describe_candidates(step.get("candidates", [])):
            console.print(escape(f"step {step['at']}: {line}"), style="dim", soft_wrap=True)
    for line in describe_pictures(trajectory.get("pictures", [])):
        console.print(escape(line), style="dim")
    if "saved" in trajectory:
        console.print(f"files written: {len(trajectory['saved']):,}")
    for state in trajectory.get("states", ()):
        console.print(escape(f"state before step {state['at']}:"))
        for name in ("results", "failures"):
            for record in state[name]:
                console.print(
                    escape(f"  {name}: {record['action']} {record['arguments']}: {record['text']}"), style="dim"
                )
    scores = "".join(f"  {score['metric']} {score['value']:g}" for score in trajectory["scores"])
    answer = "none" if trajectory["answer"] is None else escape(trajectory["answer"])
    gold = "" if trajectory["gold"] is None else f"  gold {escape(trajectory['gold'])}"
    console.print(f"[bold]{trajectory['ending'] or 'not finished'}[/]  answer {answer}{gold}{scores}")
    if trajectory["message"]:
        console.print(escape(trajectory["message"]))
    for past in trajectory["earlier_endings"]:
        end = format_time(past["replaced_at"])
        console.print(escape(f"earlier ending, until {end}: {past['ending']}: {past['message']}"), soft_wrap=True)
    if trajectory["level"]:
        console.print(f"{trajectory['origin']}, checked: {trajectory['level']}")
    if trajectory["parent"] is not None:
        console.print(f"corrects {trajectory['parent'] or 'an episode that was removed'}")
    for verdict in trajectory["verdicts"]:
        kind = "rejects" if verdict["rejects"] else "notes"
        console.print(escape(f"{kind} the {verdict['module']}'s row: {verdict_text(verdict)}"))
    for label in trajectory.get("labels", ()):
        subject = f"step {label['step']} is " if label["step"] else ""
        note = f": {label['note']}" if label["note"] else ""
        fault = ", ".join(
            filter(None, [f"step {label['wrong_step']}" if label["wrong_step"] else "", label["wrong_kind"]])
        )
        note = f" ({fault}){note}" if fault else note
        judgement = (
            f"rates it {label['label']} of 10" if label["label"].isdecimal() else f"says: {subject}{label['label']}"
        )
        console.print(escape(f"{label['labeller']} {judgement}{note}"))
    seconds = sum(step["seconds"] for step in trajectory["steps"])
    console.print(f"{describe_totals(trajectory)}, {format_seconds(seconds)}", style="dim")


def describe_candidates(candidates: list[dict[str, Any]]) -> list[str]:
    """Return a line for each of the best candidates, and a line with the number of further candidates."""
    lines = [
        f"candidate {rank}, log-probability {candidate['logprob']:.4f}: {candidate['text']}"
        for rank, candidate in enumerate(candidates[:SHOWN_CANDIDATES], start=1)
    ]
    if (hidden_count := len(candidates) - len(lines)) > 0:
        lines.append(f"{plural(hidden_count, 'more candidate')}: see --json")
    return lines


def verdict_text(verdict: dict[str, Any]) -> str:
    """Return a verdict's name, with its detail unless the detail only repeats the name."""
    says_more = verdict["detail"] not in ("", verdict["name"])
    return f"{verdict['name']}: {verdict['detail']}" if says_more else verdict["name"]


def with_markup(row: Row) -> list[str]:
    """Return the cells of a row as rich's markup, with untrusted text escaped. The middle of long texts is left out."""
    return ["".join(_with_style(escape(truncate(text, MAX_CELL)), style) for text, style in cell) for cell in row]


def _with_style(markup: str, style: str) -> str:
    return f"[{style}]{markup}[/]" if style else markup
