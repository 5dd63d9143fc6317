"""What a model has read is not read again, and replies are the same."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.local import Batcher, Row
from lumos_queue.endpoints.prefixes import MIN_TOKENS, PrefixCache, count_common
from tests.tiny_model import make_tiny_model

HEAD = "<|user|>\nPlease solve the task with the tools that you have, one step at a time.\nTask: "
TASKS = [f"Tom has {number} apples and gives {number % 7} to Ann. How many does he have?" for number in range(12)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    make_tiny_model(folder, context=1024)
    return folder


class CountingBatcher(Batcher):
    """Counts the tokens that the model reads, padding included."""

    read = 0

    def _load(self) -> None:
        super()._load()
        self._model.register_forward_pre_hook(self._count, with_kwargs=True)

    def _count(self, _model, arguments, _options) -> None:
        self.read += arguments[0].numel()


def answer(batcher: Batcher, prompts: list[str], temperature: float = 0.0) -> list[tuple[str, list[int]]]:
    """The replies to prompts that arrive together, and their tokens."""
    rows = [Row(prompt, Sampling(temperature, max_tokens=12, stop=()), random.Random(5)) for prompt in prompts]
    for row in rows:
        batcher.arrivals.put(row)
    return [(row.reply.result(timeout=120)[0], row.tokens) for row in rows]


def dialogues(batcher: Batcher, turns: int = 3, temperature: float = 0.0) -> list:
    """Each prompt is the one before, the reply, and a line more."""
    prompts, found = [HEAD + task for task in TASKS], []
    for turn in range(turns):
        replies = answer(batcher, prompts, temperature)
        found += replies
        prompts = [f"{prompt}\n{text}\nresult {turn}" for prompt, (text, _) in zip(prompts, replies, strict=True)]
    batcher.arrivals.put(None)
    return found


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_replies_are_those_of_a_model_that_remembers_nothing(folder, monkeypatch, temperature):
    remembering = CountingBatcher(folder)
    found = dialogues(remembering, temperature=temperature)
    monkeypatch.setattr(PrefixCache, "find", lambda self, tokens: (0, []))
    forgetting = CountingBatcher(folder)
    assert found == dialogues(forgetting, temperature=temperature)
    assert remembering.read < forgetting.read / 2


def test_a_prompt_that_was_read_whole_is_answered_again(folder):
    batcher = CountingBatcher(folder)
    first = answer(batcher, [HEAD + TASKS[0]])
    read = batcher.read
    assert answer(batcher, [HEAD + TASKS[0]]) == first
    # At most a token for the prompt and one for each of the reply; more only where two nearly tie.
    assert batcher.read - read < read / 2
    batcher.arrivals.put(None)


def layers(positions: int) -> list:
    import torch

    return [(torch.zeros(1, positions, 1), torch.zeros(1, positions, 1))]  # 8 bytes a position


def test_the_longest_common_beginning_is_found():
    cache = PrefixCache(10**6)
    tokens = list(range(100))
    cache.add(tokens, layers(100))
    other = tokens[:60] + [7] * 40
    cache.add(other, layers(100))
    assert cache.find(tokens[:60] + [7] * 10 + [8])[0] == 70
    assert cache.find(tokens[:80])[0] == 79  # never all
    assert cache.find([*tokens, 5])[0] == 100
    assert cache.find(tokens[: MIN_TOKENS - 1] + [500] * 20) == (0, [])
    assert cache.find([]) == (0, [])


def test_the_bytes_are_bounded_and_what_is_used_stays():
    cache = PrefixCache(8 * 100)
    one, two, three = ([start, *range(49)] for start in (1, 2, 3))
    cache.add(one, layers(50))
    cache.add(two, layers(50))
    cache.find([*one, 0])
    cache.add(three, layers(50))
    assert [cache.find([*tokens, 0])[0] for tokens in (one, two, three)] == [50, 0, 50]
    cache.add([9] * 101, layers(101))
    assert cache.find([9] * 102)[0] == 0


def test_what_is_continued_is_dropped():
    cache = PrefixCache(8 * 150)
    cache.add(list(range(50)), layers(50))
    cache.add(list(range(70)), layers(70))
    cache.add([5] * 80, layers(80))
    assert cache.find([*range(70), 1])[0] == 70


@pytest.mark.parametrize("seed", range(20))
def test_count_common(seed):
    dice = random.Random(seed)
    one, two = ([dice.randrange(2) for _ in range(dice.randrange(12))] for _ in range(2))
    expected = next((at for at, pair in enumerate(zip(one, two, strict=False)) if pair[0] != pair[1]), None)
    assert count_common(one, two) == (min(len(one), len(two)) if expected is None else expected)
