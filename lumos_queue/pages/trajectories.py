"""One episode for a page: its rows, and below them, folded, what the models were asked and what they replied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lumos_queue.pages.limits import PageLimits, cut
from lumos_queue.pages.wording import describe_reasoning, plain, plural
from lumos_queue.reports.lanes import Row, rows_of
from lumos_queue.reports.tool_agents import column_heads

LEAST_SHARED = 120  #: characters that two prompts begin with alike, from which on they are not repeated


@dataclass(frozen=True, slots=True)
class ShownCall:
    """A model call."""

    at: str  #: its step
    title: str
    shared: str  #: what of its prompt is not repeated, in words; '' = nothing
    prompt: str
    reply: str
    reasoning: str = ""  #: what the model thought before it replied
    thought: str = ""  #: how much that was; also where a server counts tokens and sends no text


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture or file of an episode."""

    label: str
    uri: str  #: data:…; '' where it is only named


@dataclass(frozen=True, slots=True)
class ShownEpisode:
    """A trajectory. All texts are plain."""

    name: str
    title: str  #: what it is, in a few words
    facts: Sequence[tuple[str, str]]
    question: str
    heads: tuple[str, str, str]
    rows: Sequence[Row]
    calls: Sequence[ShownCall]
    pictures: Sequence[ShownPicture] = ()
    notes: Sequence[str] = ()  #: lines below it
    other: ShownEpisode | None = None  #: the same task in another job


def show_episode(
    found: Mapping[str, Any],
    title: str,
    limits: PageLimits,
    pictures: Sequence[ShownPicture] = (),
    other: ShownEpisode | None = None,
) -> ShownEpisode:
    """A trajectory as reports.trajectory.trajectory_as_json gives it, cut to the limits."""
    steps = found["steps"]
    rows = rows_of(found)
    calls = show_calls(steps, limits) if limits.prompt else []
    notes = [cut(f"step {step['at']}: {step['note']}", limits.text) for step in steps if step.get("note")]
    notes += tell_verdicts(found)
    asked = sum(bool(step["prompt"]) for step in steps)
    if (more := len(rows) - limits.steps) > 0:
        notes.append(f"{more:,} further rows are left out: see lumos show {found['episode']}")
    if (more := asked - len(calls)) > 0:
        notes.append(f"{more:,} prompts are left out: see lumos show {found['episode']} --prompts")
    return ShownEpisode(
        name=found["episode"],
        title=title,
        facts=tell_facts(found, limits),
        question=cut(found["question"], limits.text),
        heads=column_heads(found["formulation"]),
        rows=[
            [[(cut(text, limits.text), style) for text, style in cell] for cell in row] for row in rows[: limits.steps]
        ],
        calls=calls,
        pictures=pictures,
        notes=notes[: limits.steps],
        other=other,
    )


def tell_facts(found: Mapping[str, Any], limits: PageLimits) -> list[tuple[str, str]]:
    """(name, value) of what became of it; values that are empty are left out."""
    scores = ", ".join(f"{plain(one['metric'])} {one['value']:g}" for one in found["scores"])
    used = found["tokens"]
    seconds = sum(step["seconds"] for step in found["steps"])
    sample = f", sample {found['sample']}" if found["sample"] else ""
    asked, written = used["prompt"], used["completion"]
    facts = [
        ("answer", "none" if found["answer"] is None else cut(found["answer"], limits.text)),
        ("gold answer", "" if found["gold"] is None else cut(found["gold"], limits.text)),
        ("ended", plain(found["ending"]) or "not finished"),
        ("scores", scores),
        ("message", cut(found["message"], limits.text)),
        ("task", f"{found['benchmark']} row {cut(found['row'], 120)}{sample}"),
        ("used", f"{plural(found['calls'], 'model call')}, {asked:,} tokens in, {written:,} out, {seconds:.2f} s"),
    ]
    return [(name, value) for name, value in facts if value != ""]


def tell_verdicts(found: Mapping[str, Any]) -> list[str]:
    """A line for each."""
    return [
        f"{'rejects' if one['rejects'] else 'notes'} the {one['module']}'s row: {one['name']}"
        + (f": {one['detail']}" if one["detail"] not in ("", one["name"]) else "")
        for one in found["verdicts"]
    ]


def show_calls(steps: Sequence[Mapping[str, Any]], limits: PageLimits) -> list[ShownCall]:
    """The model calls; of a prompt that continues an earlier one of its role only what is new."""
    shown: list[ShownCall] = []
    before: dict[str, tuple[str, str]] = {}  # role to the place and the prompt of its latest call
    for step in steps:
        if not step["prompt"]:
            continue
        if len(shown) == limits.steps:
            break
        prompt, shared = step["prompt"], ""
        at, earlier = before.get(step["who"], ("", ""))
        if (length := _alike(prompt, earlier)) >= LEAST_SHARED:
            shared = f"Its first {length:,} characters are those of step {at}."
            prompt = prompt[length:]
        before[step["who"]] = step["at"], step["prompt"]
        title = f"step {step['at']}, {step['who']}: {step['result']}, {step['seconds']:.2f} s"
        call = ShownCall(
            at=step["at"],
            title=title,
            shared=shared,
            prompt=cut(prompt, limits.prompt),
            reply=cut(step["what"], limits.prompt),
            reasoning=cut(step.get("reasoning", ""), limits.prompt),
            thought=describe_reasoning(step),
        )
        shown.append(call)
    return shown


def _alike(text: str, other: str) -> int:
    """How many characters both begin with, up to the end of a line."""
    most = min(len(text), len(other))
    low, high = 0, most
    while low < high:  # the first place at which they differ, by halving
        middle = (low + high + 1) // 2
        if text.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return text.rfind("\n", 0, low) + 1
