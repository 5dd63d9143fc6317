"""Print an episode as text, with its steps in three columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.model_calls import print_calls, print_reasoning_sizes
from lumos_queue.cli.output import escape
from lumos_queue.cli.pictures import describe_pictures
from lumos_queue.pages.limits import truncate
from lumos_queue.pages.trajectories import describe_verdicts
from lumos_queue.reports.episode_details import EpisodeDetails
from lumos_queue.reports.episode_values import StepCandidate
from lumos_queue.reports.lanes import Row, rows_of
from lumos_queue.reports.tool_agents import column_heads
from lumos_queue.reports.totals import describe_use
from lumos_queue.util.wording import format_seconds, format_time, plural

SHOWN_CANDIDATES = 5  #: the most that are shown of a step
MAX_CELL = 20_000  #: characters of a text in the table, as a line break takes 40 µs and a reply may have a million


def print_trajectory(details: EpisodeDetails, prompts: bool) -> None:
    """Print an episode: subgoals, actions and results side by side."""
    console, episode = output.console(), details.report
    console.print(f"[bold]{episode.episode}[/]  {episode.benchmark} row {escape(episode.row)}  {episode.formulation}")
    console.print(escape(episode.question))
    if episode.steps:
        table = Table(header_style="bold", box=box.SIMPLE_HEAD)
        for lane, ratio in zip(column_heads(episode.formulation), (5, 5, 3), strict=True):
            table.add_column(lane, overflow="fold", ratio=ratio)
        for row in rows_of(episode):
            table.add_row(*with_markup(row))
        console.print(table)
    else:  # for example of a row that no rule could convert
        console.print("\nno steps are stored\n", style="dim")
    if prompts:
        print_calls(console, episode.steps)
    else:
        print_reasoning_sizes(console, episode.steps)
    for step in episode.steps:
        if note := step.note:
            console.print(escape(f"step {step.at}: {note}"))
    for step in episode.steps:
        for line in describe_candidates(step.candidates or ()):
            console.print(escape(f"step {step.at}: {line}"), style="dim", soft_wrap=True)
    for line in describe_pictures(details.pictures or ()):
        console.print(escape(line), style="dim")
    if details.saved is not None:
        console.print(f"files written: {len(details.saved):,}")
    for state in details.states or ():
        console.print(escape(f"state before step {state.at}:"))
        for name, records in (("results", state.results), ("failures", state.failures)):
            for record in records:
                console.print(escape(f"  {name}: {record.action} {record.arguments}: {record.text}"), style="dim")
    scores = "".join(f"  {score.metric} {score.value:g}" for score in episode.scores)
    answer = "none" if episode.answer is None else escape(episode.answer)
    gold = "" if episode.gold is None else f"  gold {escape(episode.gold)}"
    console.print(f"[bold]{episode.ending or 'not finished'}[/]  answer {answer}{gold}{scores}")
    if episode.message:
        console.print(escape(episode.message))
    for earlier_ending in episode.earlier_endings:
        end = format_time(earlier_ending.replaced_at)
        console.print(
            escape(f"earlier ending, until {end}: {earlier_ending.ending}: {earlier_ending.message}"), soft_wrap=True
        )
    if episode.level:
        console.print(f"{episode.origin}, checked: {episode.level}")
    if episode.parent is not None:
        console.print(f"corrects {episode.parent or 'an episode that was removed'}")
    for line in describe_verdicts(episode):
        console.print(escape(line))
    for label in details.labels or ():
        subject = f"step {label.step} is " if label.step else ""
        note = f": {label.note}" if label.note else ""
        fault = ", ".join(filter(None, [f"step {label.wrong_step}" if label.wrong_step else "", label.wrong_kind]))
        note = f" ({fault}){note}" if fault else note
        judgement = f"rates it {label.label} of 10" if label.label.isdecimal() else f"says: {subject}{label.label}"
        console.print(escape(f"{label.labeller} {judgement}{note}"))
    seconds = sum(step.seconds for step in episode.steps)
    console.print(f"{describe_use(episode.use)}, {format_seconds(seconds)}", style="dim")


def describe_candidates(candidates: Sequence[StepCandidate]) -> list[str]:
    """Return a line for each of the best candidates, and a line with the number of further candidates."""
    lines = [
        f"candidate {rank}, log-probability {candidate.logprob:.4f}: {candidate.text}"
        for rank, candidate in enumerate(candidates[:SHOWN_CANDIDATES], start=1)
    ]
    if (hidden_count := len(candidates) - len(lines)) > 0:
        lines.append(f"{plural(hidden_count, 'more candidate')}: see --json")
    return lines


def with_markup(row: Row) -> list[str]:
    """Return the cells of a row as rich's markup, with untrusted text escaped. The middle of long texts is left out."""
    return ["".join(_with_style(escape(truncate(text, MAX_CELL)), style) for text, style in cell) for cell in row]


def _with_style(markup: str, style: str) -> str:
    return f"[{style}]{markup}[/]" if style else markup
