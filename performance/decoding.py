"""Tokens a second of `local:`, beside `transformers` generate in batches and any server of the same model.

python -m performance.decoding MODEL_FOLDER [--beside URL] [--pairs 5] [--out FILE.json]

Dialogues are read turn by turn: the prompt of a turn is what came before it, with the gold replies, so that all
contenders get the same prompts whatever they reply. One thread decodes, in float32. N dialogues run at once: `local:`
and a server get a dialogue's next prompt when they have answered its last; generate gets one prompt of each dialogue as
a batch. The tokens of a rate are those of `local:`'s replies; replies that differ from its are counted.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.loaded_model import LoadedModel, load_model
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.replies import completion
from lumos_queue.prompts.conversations import Conversation, read_conversations
from lumos_queue.prompts.dialogue import render
from lumos_queue.records import Completion
from lumos_queue.settings import Settings
from performance.conversations import write_dialogues
from performance.statistics import estimate

IN_FLIGHT = (1, 8, 32)
SAMPLING = Sampling(max_tokens=64)
console = Console(width=120)

Dialogue = tuple[str, ...]  #: its prompts
Replies = dict[str, Completion]  #: by prompt
Contender = Callable[[Sequence[Dialogue], int], Replies]


def main(
    folder: Annotated[Path, typer.Argument(help="The model's folder, no adapter's.")],
    beside: Annotated[list[str] | None, typer.Option(help="A server of the same model, as openai://HOST:PORT.")] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Rounds of each number in flight.")] = 5,
    dialogues: Annotated[int, typer.Option(min=1, help="Dialogues of each round.")] = 64,
    out: Annotated[Path, typer.Option(help="The file for all that was measured.")] = Path("build/decoding.json"),
) -> None:
    """Measure `local:` beside generate, and beside servers, at 1, 8 and 32 in flight."""
    contenders: dict[str, Contender] = {
        f"local:{folder}": endpoint_contender(f"local:{folder}"),
        "generate": generate_contender(folder),
    }
    contenders |= {url: endpoint_contender(url) for url in beside or ()}
    ours, *others = contenders
    with TemporaryDirectory() as name:
        # Twice as many conversations as problems: planner's and grounder's. Each round has its own.
        rows = read_conversations(write_dialogues(Path(name), dialogues * (pairs * len(IN_FLIGHT) + 1)))
        # Each first prompt once: replies are kept by prompt, and `local:` has answered an equal one before.
        work = Work(list({found[0]: found for found in map(prompts_of, rows)}.values()), dialogues)
    for contender in contenders.values():  # load, compile, connect
        contender(work.next()[:8], 8)
    found: list[dict[str, Any]] = []
    for at_once in IN_FLIGHT:
        for number in range(pairs):
            part, seconds, replies = work.next(), {}, {}
            names = list(contenders) if number % 2 == 0 else list(reversed(contenders))
            for one in names:
                began = time.perf_counter()
                replies[one] = contenders[one](part, at_once)
                seconds[one] = time.perf_counter() - began
            tokens = sum(reply.completion_tokens for reply in replies[ours].values())
            differ = {one: count_differing(replies[ours], replies[one]) for one in others}
            row = {
                "in_flight": at_once,
                "calls": len(replies[ours]),
                "tokens": tokens,
                "differ": differ,
                "rates": {one: tokens / seconds[one] for one in contenders},
            }
            found.append(row)
            console.print(f"[dim]{row}", highlight=False)
    console.print(table(found, ours, others))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"dialogues": dialogues, "rounds": found}, indent=1) + "\n")


class Work:
    """Dialogues, so many at a time. Planner's and grounder's alternate, as in an evaluation."""

    def __init__(self, dialogues: Sequence[Dialogue], count: int):
        half = len(dialogues) // 2
        both = zip(dialogues[:half], dialogues[half:], strict=False)
        self._left: Iterator[Dialogue] = (one for pair in both for one in pair)
        self._count = count

    def next(self) -> list[Dialogue]:
        return [next(self._left) for _ in range(self._count)]


def prompts_of(conversation: Conversation) -> Dialogue:
    turns = conversation.turns
    return tuple(render(turns[: at + 1], "train") for at, turn in enumerate(turns) if turn.role == "user")


def endpoint_contender(url: str) -> Contender:
    """An endpoint, by its address."""

    def run(dialogues: Sequence[Dialogue], at_once: int) -> Replies:
        return asyncio.run(_ask(url, dialogues, at_once))

    return run


async def _ask(url: str, dialogues: Sequence[Dialogue], at_once: int) -> Replies:
    endpoint = open_endpoint(url, Settings(home=Path("."), concurrency=at_once))
    left, replies = iter(dialogues), {}

    async def one_after_another() -> None:
        for dialogue in left:
            for prompt in dialogue:
                replies[prompt] = await endpoint.generate(prompt, SAMPLING, 0)

    try:
        await asyncio.gather(*(one_after_another() for _ in range(at_once)))
    finally:
        await endpoint.close()
    return replies


def generate_contender(folder: Path) -> Contender:
    """`generate` of transformers: one prompt of each of the dialogues in a batch, padded on the left."""
    loaded = load_model(folder)
    tokenizer = loaded.tokenizer
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    # Tokens with a stop string end a row, as everywhere: cheaper than `stop_strings`, which decodes at each step.
    pieces = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    stops = {at for at, piece in enumerate(pieces) if any(stop in piece for stop in SAMPLING.stop)}
    ends = sorted(loaded.ends | stops)

    def run(dialogues: Sequence[Dialogue], at_once: int) -> Replies:
        replies: Replies = {}
        left = iter(dialogues)
        running = [iter(next(left, ())) for _ in range(at_once)]
        while True:
            batch = []
            for at, prompts in enumerate(running):
                prompt = next(prompts, None)
                while prompt is None and (dialogue := next(left, None)) is not None:
                    running[at] = iter(dialogue)
                    prompt = next(running[at], None)
                if prompt is not None:
                    batch.append(prompt)
            if not batch:
                return replies
            replies |= zip(batch, _generate(loaded, batch, ends), strict=True)

    return run


def _generate(loaded: LoadedModel, prompts: list[str], ends: list[int]) -> Iterator[Completion]:
    import torch

    tokenizer = loaded.tokenizer
    inputs = tokenizer(prompts, padding=True, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        tokens = loaded.model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=SAMPLING.max_tokens,
            eos_token_id=ends,
            pad_token_id=tokenizer.pad_token_id,
        )
    texts = tokenizer.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return (completion(text, SAMPLING.stop, truncated=False) for text in texts)


def count_differing(ours: Replies, theirs: Replies) -> int:
    return sum(reply.text != theirs[prompt].text for prompt, reply in ours.items())


def table(found: list[dict[str, Any]], ours: str, others: Sequence[str]) -> Table:
    shown = Table(
        "in flight", "rounds", "tokens/s", *(f"{one}: tokens/s, ratio, replies that differ" for one in others)
    )
    for at_once in IN_FLIGHT:
        rows = [row for row in found if row["in_flight"] == at_once]
        cells = [f"{estimate([row['rates'][ours] for row in rows]).median:,.0f}"]
        for one in others:
            rate = estimate([row["rates"][one] for row in rows]).median
            ratio = estimate([row["rates"][ours] / row["rates"][one] for row in rows])
            differ, calls = sum(row["differ"][one] for row in rows), sum(row["calls"] for row in rows)
            cells.append(f"{rate:,.0f}; {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]; {differ} of {calls}")
        shown.add_row(str(at_once), str(len(rows)), *cells)
    return shown


if __name__ == "__main__":
    typer.run(main)
