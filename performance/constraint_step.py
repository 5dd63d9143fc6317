"""What one constrained step costs, in microseconds: a measurement; the goal is less than 1,000.

    python -m performance.constraint_step

A step is what a decoder does for one token besides the model: advance the cursor, read what is allowed, and renormalise
the logits of that. The replies are the gold plans of OpenAGI's 185 tasks and random plans for the same signatures; each
tokenizer is learnt from the sources of Python's standard library and these plans. `first`: nothing is cached;
`again`: the same replies once more. `open` is what the constraint itself takes to make, in milliseconds, at first.
"""

from __future__ import annotations

import argparse
import json
import random
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.endpoints.token_constraint import TokenConstraint
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.experts.plans import Signature

WALKS = 60  #: random plans for each of the 6 signatures
END = "</s>"
GOAL = 1000  #: microseconds a step
Replies = Mapping[Signature, Sequence[Sequence[int]]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one tokenizer; all but `tokens` and `steps` in microseconds, `open` in milliseconds."""

    name: str
    tokens: int
    steps: int
    open: float
    cursor_first: float
    cursor_again: float
    first: float
    again: float
    rare: float  #: what 1 in 1,000 steps of `first` is above


def texts(tokens: int) -> Iterator[str]:
    """Yield the training texts of a tokenizer: plans, and 500 characters of the library for each token."""
    for task in TASKS:
        yield from (task.description, task.plan.write())
    remaining = 500 * tokens
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        if remaining > 0 and "site-packages" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="ignore")
            remaining -= len(text)
            yield text


def byte_level(size: int) -> Any:
    """Return a tokenizer like that of GPT-2."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return _learn(
        tokenizer, size, trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet)
    )


def metaspace(size: int) -> Any:
    """Return a tokenizer like that of LLaMA: byte pairs, a leading space, punctuation apart from letters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    split = pre_tokenizers.Punctuation(behavior="contiguous")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first"), split])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return _learn(tokenizer, size, trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", END]))


def unigram(size: int) -> Any:
    """Return a tokenizer like that of T5: unigrams, a leading space, punctuation apart from letters."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    split = pre_tokenizers.Punctuation(behavior="contiguous")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(prepend_scheme="first"), split])
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    return _learn(
        tokenizer,
        size,
        trainers.UnigramTrainer(vocab_size=size, special_tokens=["<pad>", END, "<unk>"], unk_token="<unk>"),
    )


def _learn(tokenizer: Any, size: int, trainer: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    trainer.show_progress = False
    tokenizer.train_from_iterator(texts(size), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=END)


def replies(tokenizer: Any) -> Replies:
    """Return the replies by signature, as token ids that include the end."""
    draw, replies_by_signature = random.Random(0), {}
    for signature in dict.fromkeys(task.signature for task in TASKS):
        constraint = TokenConstraint(PlanConstraint(signature), tokenizer, tokenizer.eos_token_id)
        gold = [task.plan.write() for task in TASKS if task.signature == signature]
        replies_by_signature[signature] = [[token for token, _ in constraint.trace(text)] for text in gold]
        for _ in range(WALKS):
            cursor, ids = constraint.start(), []
            while not cursor.ended:
                ids.append(draw.choice(cursor.allowed))
                cursor = cursor.advance(ids[-1])
            replies_by_signature[signature].append(ids)
    return replies_by_signature


def walk(constraint: TokenConstraint, token_rows: Iterable[Sequence[int]], row: Any) -> Iterator[float]:
    """Seconds of each step of these replies. `row`: the logits of one step, [vocabulary]; None: the cursor alone."""
    import torch

    for ids in token_rows:
        cursor = constraint.start()
        for token in ids:
            began = time.perf_counter()
            if row is not None:
                allowed_ids = torch.tensor(cursor.allowed)
                row[allowed_ids].log_softmax(0)
            else:
                len(cursor.allowed)
            cursor = cursor.advance(token)
            yield time.perf_counter() - began


def measure(name: str, make: Callable[[], Any], remake: Callable[[Any], Any]) -> Cost:
    """Measure one tokenizer. `remake` returns a copy of it for which nothing is cached."""
    import torch

    tokenizer = make()
    replies_by_signature = replies(tokenizer)
    row = torch.randn(len(tokenizer))
    row[torch.tensor([0])].log_softmax(0)  # what is slow the first time only
    steps: dict[str, list[float]] = {"cursor": [], "whole": []}
    again: dict[str, list[float]] = {"cursor": [], "whole": []}
    open_seconds = 0.0
    for way, logits in (("cursor", None), ("whole", row)):
        for signature, ids in replies_by_signature.items():
            # Another limit that allows the same plans: what was found out for the replies is not cached for it.
            fresh = PlanConstraint(signature, max_modules=11 if way == "cursor" else 12)
            fresh_tokenizer = remake(tokenizer)
            began = time.perf_counter()
            constraint = TokenConstraint(fresh, fresh_tokenizer, tokenizer.eos_token_id)
            open_seconds += time.perf_counter() - began
            steps[way] += walk(constraint, ids, logits)
            again[way] += walk(constraint, ids, logits)
    return Cost(
        name,
        len(tokenizer),
        len(steps["whole"]),
        1e3 * open_seconds / (2 * len(replies_by_signature)),
        _mean(steps["cursor"]),
        _mean(again["cursor"]),
        _mean(steps["whole"]),
        _mean(again["whole"]),
        1e6 * sorted(steps["whole"])[-len(steps["whole"]) // 1000],
    )


def _mean(seconds: Sequence[float]) -> float:
    return 1e6 * sum(seconds) / len(seconds)


def _remake(tokenizer: Any) -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    copy = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    return PreTrainedTokenizerFast(tokenizer_object=copy, eos_token=END)


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of one constrained step.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="tokenizers of 2,000 tokens")
    options = parser.parse_args()
    small, large = (2000, 2000) if options.quick else (32_000, 50_257)
    makers = (("byte-level BPE", byte_level, large), ("Metaspace BPE", metaspace, small), ("unigram", unigram, small))
    costs = [measure(name, lambda make=make, size=size: make(size), _remake) for name, make, size in makers]
    if options.json:
        print(json.dumps([asdict(cost) for cost in costs]))
        return
    print(f"{'tokenizer':16}{'tokens':>8}{'steps':>8}{'open ms':>9}{'cursor first':>14}{'again':>8}", end="")
    print(f"{'step first':>12}{'again':>8}{'1 in 1,000':>12}")
    for cost in costs:
        print(f"{cost.name:16}{cost.tokens:8,}{cost.steps:8,}{cost.open:9.1f}{cost.cursor_first:14.1f}", end="")
        print(f"{cost.cursor_again:8.1f}{cost.first:12.1f}{cost.again:8.1f}{cost.rare:12.0f}")
    print(f"goal: less than {GOAL} a step; {'met' if all(cost.first < GOAL for cost in costs) else 'missed'}")


if __name__ == "__main__":
    main()
