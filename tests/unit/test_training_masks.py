"""Which tokens are learnt, against a computation of its own; and one optimizer step, against plain PyTorch."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from lumos_queue.models.folders import models_folder
from lumos_queue.models.tokens import prepare_tokenizer
from lumos_queue.prompts.conversations import Conversation
from lumos_queue.training.engine.plan import WindowPlan
from lumos_queue.training.engine.spec import ADAMW
from tests.tiny_fits import conversation, own_tokenizer, random_conversation, small_spec, write_fit, write_llama
from tests.tiny_llama import make_tiny_llama


@pytest.fixture(scope="module", params=["own", "llama", "smollm2"])
def tokenizer(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "own":
        return own_tokenizer()
    if request.param == "llama":
        make_tiny_llama(folder / "base")
        return prepare_tokenizer(folder / "base").tokenizer
    base = models_folder() / "smollm2"
    if not base.is_dir():
        pytest.skip("needs `lumos models get smollm2`")
    return prepare_tokenizer(base, ("<|user|>\n", "\n<|assistant|>\n")).tokenizer


def by_prefixes(said: Conversation, tokenizer) -> tuple[list[int], list[bool]]:
    """As the authors of LUMOS mask (spec 3.5): message by message, counting the tokens of everything before.

    What follows the last `</s>` is cut off. The header of a reply belongs to the message before it.
    """
    text = "".join(
        f"<|user|>\n{turn.content.strip()}\n" if turn.role == "user" else f"<|assistant|>\n{turn.content.strip()}</s>\n"
        for turn in said.turns
    ).strip()
    ids = tokenizer(text)["input_ids"]
    learnt = [True] * len(ids)
    sofar = ""
    for number, turn in enumerate(said.turns):
        if turn.role == "user":
            start = len(tokenizer(sofar)["input_ids"]) if number else 0
            sofar += f"<|user|>\n{turn.content.strip()}\n"
            stop = len(tokenizer(sofar + "<|assistant|>\n")["input_ids"])
            learnt[start:stop] = [False] * (stop - start)
        else:
            sofar += f"<|assistant|>\n{turn.content.strip()}</s>\n"
    return ids, learnt


def test_ids_and_mask_are_those_of_prefix_counts(tokenizer):
    from lumos_queue.training.engine.masks import encode

    source = random.Random(11)
    for _ in range(300):
        said = random_conversation(source)
        example, was_longer = encode(said, tokenizer, 10**6)
        ids, learnt = by_prefixes(said, tokenizer)
        assert not was_longer and example is not None
        assert example.ids.tolist() == ids
        assert example.learnt.tolist() == learnt


def test_encoding_by_parts_gives_other_tokens_for_llama(tmp_path):
    """What the check above is worth: SentencePiece puts a space in front of each text that is encoded alone."""
    make_tiny_llama(tmp_path / "base")
    tokenizer = prepare_tokenizer(tmp_path / "base").tokenizer
    said = conversation(3)
    alone = [token for text, _ in said.pieces() for token in tokenizer(text, add_special_tokens=False)["input_ids"]]
    assert len(alone) != len(tokenizer(said.text().strip(), add_special_tokens=False)["input_ids"])


def test_only_replies_are_learnt_with_their_end_and_the_line_break_after_it():
    from lumos_queue.training.engine.masks import encode

    tokenizer = own_tokenizer()
    example, _ = encode(conversation(3), tokenizer, 100)
    said = tokenizer.decode(example.ids[example.learnt].tolist())
    assert said == "It is 7.</s>\nThat is all.</s>"


def test_a_conversation_is_cut_at_the_limit_and_left_out_without_a_reply():
    from lumos_queue.training.engine.masks import encode

    tokenizer = own_tokenizer()
    whole, _ = encode(conversation(3), tokenizer, 100)
    cut, was_longer = encode(conversation(3), tokenizer, len(whole.ids) - 3)
    assert was_longer and cut.ids.tolist() == whole.ids[:-3].tolist()
    first_reply = int(np.argmax(whole.learnt))
    assert encode(conversation(3), tokenizer, first_reply) == (None, True)
    assert encode(conversation(3), tokenizer, first_reply + 1)[0].learnt.sum() == 1


def test_examples_come_back_as_they_were_written(tmp_path):
    from lumos_queue.training.engine.data import IGNORED, EncodedConversations, pad_right, write_examples
    from lumos_queue.training.engine.masks import encode

    tokenizer = own_tokenizer()
    examples = [encode(conversation(number), tokenizer, 100)[0] for number in range(5)]
    assert write_examples(examples, tmp_path / "some.safetensors") == 5
    read = EncodedConversations(tmp_path / "some.safetensors")
    for example, row in zip(examples, read, strict=True):
        assert row["input_ids"].tolist() == example.ids.tolist()
        assert (row["labels"] != IGNORED).tolist() == example.learnt.tolist()
    batch = pad_right([read[0], read[3]], 9)
    assert batch["lengths"].tolist() == [len(examples[0].ids), len(examples[3].ids)]
    assert batch["input_ids"][0, len(examples[0].ids) :].tolist() == [9] * (
        batch["labels"].shape[1] - len(examples[0].ids)
    )
    assert (
        write_examples([], tmp_path / "none.safetensors") == 0
        and len(EncodedConversations(tmp_path / "none.safetensors")) == 0
    )


@pytest.mark.parametrize("micro_batch", [8, 4])
def test_one_step_is_that_of_plain_pytorch(micro_batch, tmp_path: Path):
    """The mean over each micro-batch's assistant tokens, averaged over the micro-batches (spec 3.5), clipped, AdamW."""
    import torch
    from safetensors.torch import load_file

    from lumos_queue.training.engine.data import IGNORED, EncodedConversations
    from lumos_queue.training.engine.model import load_model
    from lumos_queue.training.engine.window import run_window

    tokenizer = own_tokenizer()
    write_fit(tmp_path, tokenizer, rows=8)
    base = write_llama(tmp_path / "base", tokenizer)
    spec = small_spec(
        tmp_path,
        base=str(base),
        optimizer=ADAMW,
        rate=1e-2,
        warm_up=0.0,
        decay=1.0,
        dropout=0.0,
        prompt_weight=0.0,
        weight_decay=0.0,
        micro_batch=micro_batch,
        steps=1,
    )
    done = run_window(spec, tmp_path / "fit", WindowPlan(0, 1))

    model = load_model(spec)
    data = EncodedConversations(tmp_path / "train.safetensors")
    longest_first = sorted(range(8), key=lambda index: -data.lengths[index])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    losses = []
    # Rows of one length may come in any order: the loss of a micro-batch is then taken over what the trainer drew.
    for start in range(0, 8, micro_batch):
        rows = [data[index] for index in longest_first[start : start + micro_batch]]
        per_row = []
        for row in rows:
            logits = model(row["input_ids"][None]).logits[0, :-1]
            labels = row["labels"][1:]
            per_row.append(torch.nn.functional.cross_entropy(logits, labels, reduction="none", ignore_index=IGNORED))
        tokens = sum(int((row["labels"][1:] != IGNORED).sum()) for row in rows)
        losses.append(sum(one.sum() for one in per_row) / tokens)
    loss = torch.stack(losses).mean()
    loss.backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    assert done.steps[0].loss == pytest.approx(loss.item(), abs=1e-6)
    assert done.steps[0].grad_norm == pytest.approx(norm.item(), rel=1e-5)
    written = load_file(done.checkpoint / "model.safetensors")
    for name, value in model.named_parameters():
        # The first step of AdamW is the gradient's sign: where that is all but zero, rounding decides.
        told = value.grad.abs() > 1e-6
        assert torch.allclose(written[name][told], value[told], atol=1e-6), name
