"""Prepare an episode for a page: the rows of its trajectory, and below them the folded prompts and replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.reports.episode_values import EpisodeReport, Step
from lumos_queue.reports.lanes import Row, rows_of
from lumos_queue.reports.tool_agents import column_heads
from lumos_queue.reports.totals import describe_use
from lumos_queue.util.wording import format_seconds, plain

LEAST_SHARED = 120  #: minimum length in characters of a common beginning of two prompts that is not repeated


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A model call as a page displays it."""

    at: str  #: the number of its step
    title: str
    shared: str  #: a line on the part of its prompt that is not repeated; '' if all of it is displayed
    prompt: str
    reply: str
    reasoning: str = ""  #: the model's reasoning before the reply
    thought: str = ""  #: the size of the reasoning; also if a server counts its tokens and sends no text


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture or file of an episode."""

    label: str
    uri: str  #: data:…; '' if only the label is displayed


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """A trajectory on a page. All texts are plain."""

    name: str
    title: str  #: a short description
    facts: Sequence[tuple[str, str]]
    question: str
    heads: tuple[str, str, str]
    rows: Sequence[Row]
    calls: Sequence[ShownCall]
    pictures: Sequence[ShownPicture] = ()
    notes: Sequence[str] = ()  #: lines below it
    other: ShownEpisode | None = None  #: the same task in another job


def show_episode(
    episode: EpisodeReport,
    title: str,
    limits: PageLimits,
    pictures: Sequence[ShownPicture] = (),
    other_episode: ShownEpisode | None = None,
) -> ShownEpisode:
    """Return an episode for a page, truncated to the limits."""
    steps = episode.steps
    rows = rows_of(episode)
    calls = show_calls(steps, limits) if limits.prompt else []
    notes = [truncate(f"step {step.at}: {step.note}", limits.text) for step in steps if step.note]
    notes += describe_verdicts(episode)
    call_count = sum(bool(step.prompt) for step in steps)
    if (excess := len(rows) - limits.steps) > 0:
        notes.append(f"{excess:,} further rows are left out: see lumos show {episode.episode}")
    if (excess := call_count - len(calls)) > 0:
        notes.append(f"{excess:,} prompts are left out: see lumos show {episode.episode} --prompts")
    return ShownEpisode(
        name=episode.episode,
        title=title,
        facts=describe_facts(episode, limits),
        question=truncate(episode.question, limits.text),
        heads=column_heads(episode.formulation),
        rows=[
            [[(truncate(text, limits.text), style) for text, style in cell] for cell in row]
            for row in rows[: limits.steps]
        ],
        calls=calls,
        pictures=pictures,
        notes=notes[: limits.steps],
        other=other_episode,
    )


def describe_facts(episode: EpisodeReport, limits: PageLimits) -> list[tuple[str, str]]:
    """Return facts about an episode as (name, text), such as its answer and scores. Empty facts are left out."""
    scores = ", ".join(f"{plain(score.metric)} {score.value:g}" for score in episode.scores)
    seconds = sum(step.seconds for step in episode.steps)
    sample = f", sample {episode.sample}" if episode.sample else ""
    facts = [
        ("answer", "none" if episode.answer is None else truncate(episode.answer, limits.text)),
        ("gold answer", "" if episode.gold is None else truncate(episode.gold, limits.text)),
        ("ended", plain(episode.ending) or "not finished"),
        ("scores", scores),
        ("message", truncate(episode.message, limits.text)),
        ("task", f"{episode.benchmark} row {truncate(episode.row, 120)}{sample}"),
        ("used", f"{describe_use(episode.use)}, {format_seconds(seconds)}"),
    ]
    return [(name, value) for name, value in facts if value != ""]


def describe_verdicts(episode: EpisodeReport) -> list[str]:
    """Return a line about each verdict on the episode."""
    return [
        f"{'rejects' if verdict.rejects else 'notes'} the {verdict.module}'s row: "
        f"{name_verdict(verdict.name, verdict.detail)}"
        for verdict in episode.verdicts
    ]


def name_verdict(name: str, detail: str) -> str:
    """Return a verdict's name, with its detail unless the detail only repeats the name."""
    return f"{name}: {detail}" if detail not in ("", name) else name


def show_calls(steps: Sequence[Step], limits: PageLimits) -> list[ShownCall]:
    """Return the model calls. If a prompt continues an earlier prompt of its role, only the new part is included."""
    calls: list[ShownCall] = []
    before: dict[str, tuple[str, str]] = {}  # step and prompt of the latest call, by role
    for step in steps:
        if not step.prompt:
            continue
        if len(calls) == limits.steps:
            break
        prompt, repetition = step.prompt, ""
        earlier_step, earlier = before.get(step.who, ("", ""))
        if (length := _count_common(prompt, earlier)) >= LEAST_SHARED:
            repetition = f"Its first {length:,} characters are those of step {earlier_step}."
            prompt = prompt[length:]
        before[step.who] = step.at, step.prompt
        title = f"step {step.at}, {step.who}: {step.result}, {format_seconds(step.seconds)}"
        call = ShownCall(
            at=step.at,
            title=title,
            shared=repetition,
            prompt=truncate(prompt, limits.prompt),
            reply=truncate(step.what, limits.prompt),
            reasoning=truncate(step.reasoning or "", limits.prompt),
            thought=step.reasoning_size,
        )
        calls.append(call)
    return calls


def _count_common(text: str, earlier: str) -> int:
    """Return the number of characters in the whole lines with which both texts begin."""
    limit = min(len(text), len(earlier))
    low, high = 0, limit
    while low < high:  # a binary search for the first difference
        middle = (low + high + 1) // 2
        if text.startswith(earlier[:middle]):
            low = middle
        else:
            high = middle - 1
    return text.rfind("\n", 0, low) + 1
