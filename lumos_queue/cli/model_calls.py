"""The model calls of an episode in a terminal: request, reasoning and reply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lumos_queue.cli.output import escape
from lumos_queue.reports.episode_values import Step
from lumos_queue.util.wording import format_seconds

if TYPE_CHECKING:
    from rich.console import Console


def print_calls(console: Console, steps: Sequence[Step]) -> None:
    """Print each model call whole: its request, reasoning and reply."""
    for step in steps:
        if step.prompt:
            console.rule(f"{step.who}, step {step.at}: {step.result}, {format_seconds(step.seconds)}", align="left")
            _print_request(console, step)
            _print_reply(console, step)


def print_reasoning_sizes(console: Console, steps: Sequence[Step]) -> None:
    """Print a line for each model call with reasoning, in the order of the steps."""
    for step in steps:
        if size := step.reasoning_size:
            console.print(f"step {step.at}: reasoning: {size} (--prompts shows it)", style="dim", soft_wrap=True)


def _print_request(console: Console, step: Step) -> None:
    """Print the request of a model call: its fields, its functions, and its messages or text."""
    request = step.request or {"text": step.prompt}  # a reply that came with the task has no request
    if fields := request.get("fields"):
        values = ", ".join(f"{name} {_write_json(value)}" for name, value in fields.items())
        console.print(escape(f"{request['url']}: {values}"), soft_wrap=True)
    for function in request.get("functions", ()):
        console.print(f"[bold]function[/] {escape(_write_json(function))}", soft_wrap=True)
    for message in request.get("messages", ()):
        console.print(f"[bold]{escape(str(message['role']))}[/]")
        _print_text(console, _read_content(message))
    if "text" in request:
        is_continued = not step.reasoning_size  # the reply follows on the same line
        _print_text(console, request["text"], end="" if is_continued or request["text"].endswith("\n") else "\n")


def _print_reply(console: Console, step: Step) -> None:
    if size := step.reasoning_size:
        console.print(f"[bold]reasoning[/] {size}")
        _print_text(console, step.reasoning or "")
    if size or "messages" in (step.request or ()):
        console.print("[bold]reply[/]")
    console.print(escape(step.what), soft_wrap=True)
    if message := step.message:
        console.print(f"the server sent {len(message):,} characters, of which this is a part: see --json", style="dim")


def _print_text(console: Console, text: str, end: str = "\n") -> None:
    console.print(escape(text), style="dim", soft_wrap=True, end=end)


def _read_content(message: Mapping[str, Any]) -> str:
    """Return the content of a message as text: images by their names, fields other than the content as JSON."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    lines = [part["text"] if part["type"] == "text" else f"[{part['image_url']['url']}]" for part in parts]
    other_fields = {name: value for name, value in message.items() if name not in ("role", "content")}
    return "\n".join([*filter(None, lines), *([_write_json(other_fields)] if other_fields else [])])


def _write_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
