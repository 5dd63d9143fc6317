"""One episode: for a person in three columns, for a program step by step."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.model_calls import print_calls, print_reasoning_sizes
from lumos_queue.cli.output import escape
from lumos_queue.cli.pictures import describe_pictures
from lumos_queue.pages.limits import cut
from lumos_queue.reports.lanes import Row, rows_of
from lumos_queue.reports.tool_agents import column_heads

SHOWN_CANDIDATES = 5  #: of a step, where there are more
MAX_CELL = 20_000  #: characters of a text in the table: a line break takes 40 µs, and a reply may have a million


def print_trajectory(shown: dict[str, Any], prompts: bool) -> None:
    """Print what `trajectory_as_json` gives: subgoals, actions and results side by side."""
    console = output.console()
    console.print(
        f"[bold]{shown['episode']}[/]  {shown['benchmark']} row {escape(shown['row'])}  {shown['formulation']}"
    )
    console.print(escape(shown["question"]))
    if shown["steps"]:
        table = Table(header_style="bold", box=box.SIMPLE_HEAD)
        for lane, ratio in zip(column_heads(shown["formulation"]), (5, 5, 3), strict=True):
            table.add_column(lane, overflow="fold", ratio=ratio)
        for row in rows_of(shown):
            table.add_row(*with_markup(row))
        console.print(table)
    else:  # e.g. a row that no rule could convert
        console.print("\nno steps are stored\n", style="dim")
    if prompts:
        print_calls(console, shown["steps"])
    else:
        print_reasoning_sizes(console, shown["steps"])
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


def with_markup(row: Row) -> list[str]:
    """The cells of a row as rich's markup, with what is from outside escaped. Of a long text its middle is left out."""
    return ["".join(_with_style(escape(cut(text, MAX_CELL)), style) for text, style in cell) for cell in row]


def _with_style(markup: str, style: str) -> str:
    return f"[{style}]{markup}[/]" if style else markup
