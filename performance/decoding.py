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

from lumos_queue.endpoints.base import ModelCall, Sampling
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
    local_name, *peers = contenders
    with TemporaryDirectory() as name:
        # Twice as many conversations as problems: planner's and grounder's. Each round has its own.
        rows = read_conversations(write_dialogues(Path(name), dialogues * (pairs * len(IN_FLIGHT) + 1)))
        # Each first prompt once: replies are kept by prompt, and `local:` has answered an equal one before.
        work = Work(list({dialogue[0]: dialogue for dialogue in map(prompts_of, rows)}.values()), dialogues)
    for contender in contenders.values():  # load, compile, connect
        contender(work.next()[:8], 8)
    rounds: list[dict[str, Any]] = []
    for at_once in IN_FLIGHT:
        for number in range(pairs):
            part, seconds, replies = work.next(), {}, {}
            names = list(contenders) if number % 2 == 0 else list(reversed(contenders))
            for label in names:
                began = time.perf_counter()
                replies[label] = contenders[label](part, at_once)
                seconds[label] = time.perf_counter() - began
            tokens = sum(reply.completion_tokens for reply in replies[local_name].values())
            differ = {peer: count_differing(replies[local_name], replies[peer]) for peer in peers}
            row = {
                "in_flight": at_once,
                "calls": len(replies[local_name]),
                "tokens": tokens,
                "differ": differ,
                "rates": {label: tokens / seconds[label] for label in contenders},
            }
            rounds.append(row)
            console.print(f"[dim]{row}", highlight=False)
    console.print(table(rounds, local_name, peers))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"dialogues": dialogues, "rounds": rounds}, indent=1) + "\n")


class Work:
    """Dialogues, so many at a time. Planner's and grounder's alternate, as in an evaluation."""

    def __init__(self, dialogues: Sequence[Dialogue], count: int):
        half = len(dialogues) // 2
        both = zip(dialogues[:half], dialogues[half:], strict=False)
        self._dialogues: Iterator[Dialogue] = (dialogue for pair in both for dialogue in pair)
        self._count = count

    def next(self) -> list[Dialogue]:
        return [next(self._dialogues) for _ in range(self._count)]


def prompts_of(conversation: Conversation) -> Dialogue:
    turns = conversation.turns
    return tuple(render(turns[: index + 1], "train") for index, turn in enumerate(turns) if turn.role == "user")


def endpoint_contender(url: str) -> Contender:
    """An endpoint, by its address."""

    def run(dialogues: Sequence[Dialogue], at_once: int) -> Replies:
        return asyncio.run(_ask(url, dialogues, at_once))

    return run


async def _ask(url: str, dialogues: Sequence[Dialogue], at_once: int) -> Replies:
    endpoint = open_endpoint(url, Settings(home=Path("."), concurrency=at_once))
    queue, replies = iter(dialogues), {}

    async def one_after_another() -> None:
        for dialogue in queue:
            for prompt in dialogue:
                replies[prompt] = await endpoint.generate(ModelCall(prompt, SAMPLING))

    try:
        await asyncio.gather(*(one_after_another() for _ in range(at_once)))
    finally:
        await endpoint.close()
    return replies


def generate_contender(folder: Path) -> Contender:
    """`generate` of transformers: one prompt of each of the dialogues in a batch, padded on the left."""
    model = load_model(folder)
    tokenizer = model.tokenizer
    tokenizer.padding_side = "left"
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    # Tokens with a stop string end a row, as everywhere: cheaper than `stop_strings`, which decodes at each step.
    pieces = tokenizer.batch_decode([[token] for token in range(len(tokenizer))])
    stops = {token for token, piece in enumerate(pieces) if any(stop in piece for stop in SAMPLING.stop)}
    ends = sorted(model.ends | stops)

    def run(dialogues: Sequence[Dialogue], at_once: int) -> Replies:
        replies: Replies = {}
        queue = iter(dialogues)
        active_dialogues = [iter(next(queue, ())) for _ in range(at_once)]
        while True:
            batch = []
            for slot, prompts in enumerate(active_dialogues):
                prompt = next(prompts, None)
                while prompt is None and (dialogue := next(queue, None)) is not None:
                    active_dialogues[slot] = iter(dialogue)
                    prompt = next(active_dialogues[slot], None)
                if prompt is not None:
                    batch.append(prompt)
            if not batch:
                return replies
            replies |= zip(batch, _generate(model, batch, ends), strict=True)

    return run


def _generate(model: LoadedModel, prompts: list[str], ends: list[int]) -> Iterator[Completion]:
    import torch

    tokenizer = model.tokenizer
    inputs = tokenizer(prompts, padding=True, return_tensors="pt", return_token_type_ids=False)
    with torch.inference_mode():
        tokens = model.model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=SAMPLING.max_tokens,
            eos_token_id=ends,
            pad_token_id=tokenizer.pad_token_id,
        )
    texts = tokenizer.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
    return (completion(text, SAMPLING.stop, truncated=False) for text in texts)


def count_differing(own_replies: Replies, peer_replies: Replies) -> int:
    return sum(reply.text != peer_replies[prompt].text for prompt, reply in own_replies.items())


def table(rounds: list[dict[str, Any]], local_name: str, peers: Sequence[str]) -> Table:
    comparison = Table(
        "in flight", "rounds", "tokens/s", *(f"{peer}: tokens/s, ratio, replies that differ" for peer in peers)
    )
    for at_once in IN_FLIGHT:
        rows = [row for row in rounds if row["in_flight"] == at_once]
        cells = [f"{estimate([row['rates'][local_name] for row in rows]).median:,.0f}"]
        for peer in peers:
            rate = estimate([row["rates"][peer] for row in rows]).median
            ratio = estimate([row["rates"][local_name] / row["rates"][peer] for row in rows])
            differ, calls = sum(row["differ"][peer] for row in rows), sum(row["calls"] for row in rows)
            cells.append(f"{rate:,.0f}; {ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]; {differ} of {calls}")
        comparison.add_row(str(at_once), str(len(rows)), *cells)
    return comparison


if __name__ == "__main__":
    typer.run(main)
