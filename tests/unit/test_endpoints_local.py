"""The in-process endpoint on a small random model: what it writes depends on nobody else in the batch."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.replies import completion
from lumos_queue.errors import EpisodeError, InfrastructureError, SpecError
from lumos_queue.settings import Settings
from tests.tiny_model import make_tiny_model

SETTINGS = Settings(request_seconds=60.0, request_retries=0, api_keys=None, endpoint_hosts="", concurrency=64)
FREELY = Sampling(max_tokens=24, stop=())  #: nothing but the limit or the model itself ends a reply


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_tiny_model(folder)
    return folder


@pytest.fixture(scope="module")
def plain(folder):
    """The model as transformers itself runs it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


@pytest.fixture(scope="module")
def prompts():
    chance = random.Random(5)
    words = ["Task", "Tom has", "8", "apples", "gives 3", "to Ann", "Subgoal 1:", "R1 =", "Calculator(", ")", "left."]
    return ["<|user|>\n" + " ".join(chance.choices(words, k=chance.randint(1, 60))) for _ in range(48)]


def ask(folder, prompts, sampling=FREELY, seeds=None, together=True):
    """The completions, all asked at once or one after the other."""

    async def run():
        endpoint = open_endpoint(f"local:{folder}", SETTINGS)
        calls = [
            endpoint.generate(ModelCall(prompt, sampling, seeds[i] if seeds else 0)) for i, prompt in enumerate(prompts)
        ]
        try:
            return await asyncio.gather(*calls) if together else [await call for call in calls]
        finally:
            await endpoint.close()

    return asyncio.run(run())


def test_a_batch_writes_what_each_prompt_alone_gets(folder, prompts):
    together, alone = ask(folder, prompts), ask(folder, prompts, together=False)
    assert [reply.text for reply in together] == [reply.text for reply in alone]
    assert len({reply.text for reply in together}) > 20, "the model must not say the same to all"


def test_a_reply_equals_greedy_generate(folder, plain, prompts):
    tokenizer, model = plain
    for prompt, reply in zip(prompts[:6], ask(folder, prompts[:6]), strict=True):
        inputs = tokenizer(prompt, return_tensors="pt")
        written = model.generate(**inputs, max_new_tokens=24, do_sample=False)[0, inputs.input_ids.shape[1] :]
        assert reply.text == tokenizer.decode(written, skip_special_tokens=True).strip()
        assert (reply.prompt_tokens, reply.completion_tokens) == (inputs.input_ids.shape[1], len(written))


def test_tokens_that_nearly_tie_are_decided_alone(folder, prompts, monkeypatch):
    from lumos_queue.endpoints import local

    usual = ask(folder, prompts[:8])
    monkeypatch.setattr(local, "NEAR_TIE", 1e9)  # each token is decided by its own sequence, without padding or cache
    assert [reply.text for reply in ask(folder, prompts[:8])] == [reply.text for reply in usual]


def test_the_prompt_starts_with_one_bos(folder, plain, prompts):
    tokenizer, _ = plain
    reply = ask(folder, prompts[:1])[0]
    ids = tokenizer(prompts[0])["input_ids"]
    assert ids.count(tokenizer.bos_token_id) == 1
    assert reply.prompt_tokens == len(ids)


def test_without_bos_the_prompt_is_tokenized_as_it_stands(folder, plain, prompts):
    tokenizer, model = plain
    inputs = tokenizer(prompts[0], return_tensors="pt", add_special_tokens=False)
    reply = ask(folder, prompts[:1], Sampling(max_tokens=24, stop=(), bos=False))[0]
    assert reply.prompt_tokens == inputs.input_ids.shape[1] == len(tokenizer(prompts[0])["input_ids"]) - 1
    written = model.generate(**inputs, max_new_tokens=24, do_sample=False)[0, inputs.input_ids.shape[1] :]
    assert reply.text == tokenizer.decode(written, skip_special_tokens=True).strip()


@pytest.mark.parametrize("room", [1, 7, 32])
def test_rows_join_and_leave_a_running_batch(folder, prompts, room, monkeypatch):
    from lumos_queue.endpoints import row_cache

    monkeypatch.setattr(row_cache, "ROOM", room)  # little room: keys and values are moved again and again

    async def staggered():
        endpoint = open_endpoint(f"local:{folder}", SETTINGS)

        async def later(number, prompt):
            await asyncio.sleep(0.01 * number)
            sampling = Sampling(max_tokens=1 + number % 24, stop=())
            return await endpoint.generate(ModelCall(prompt, sampling))

        replies = await asyncio.gather(*(later(number, prompt) for number, prompt in enumerate(prompts)))
        await endpoint.close()
        return replies

    whole = ask(folder, prompts)
    for number, reply in enumerate(asyncio.run(staggered())):
        assert whole[number].text.startswith(reply.text.rstrip("\ufffd"))
        assert reply.completion_tokens <= 1 + number % 24


def test_a_reply_ends_at_a_stop_string_and_not_later(folder, prompts):
    tried = 0
    for whole, prompt in zip(ask(folder, prompts), prompts, strict=True):
        pairs = (whole.text[at : at + 2] for at in range(1, len(whole.text) // 2))
        if stop := next((pair for pair in pairs if pair.isascii() and pair.isprintable()), None):
            tried += 1
            reply = ask(folder, [prompt], Sampling(max_tokens=24, stop=(stop,)))[0]
            assert reply.text == whole.text[: whole.text.index(stop)].strip()
            assert reply.completion_tokens < whole.completion_tokens
            assert reply.finish_reason in ("stop", "empty")
    assert tried > 10


@pytest.mark.parametrize(
    ("written", "sampling", "text", "reasoning"),
    [
        ("<think>\na\n</think>\n\n7\n8", Sampling(), "7", "a"),
        ("\n \n7\n8", Sampling(), "7", ""),
        (
            "<think>a\nObservation: b</think>Thought: c\nObservation: d",
            Sampling(stop=("\nObservation:",)),
            "Thought: c",
            "a\nObservation: b",
        ),
        ("\n7\n8", Sampling(rules=2), "", ""),
    ],
)
def test_a_stop_string_in_front_of_the_reply_does_not_end_it(
    folder, plain, prompts, written, sampling, text, reasoning, monkeypatch
):
    from lumos_queue.endpoints.local import Batcher

    tokens = plain[0](f"{written} and so on", add_special_tokens=False)["input_ids"]
    monkeypatch.setattr(
        Batcher, "_choose", lambda self, rows, logits: [tokens[len(row.tokens) - row.prompt_tokens] for row in rows]
    )
    (reply,) = ask(folder, prompts[:1], sampling)
    assert (reply.text, reply.reasoning, reply.finish_reason) == (text, reasoning, "stop" if text else "empty")
    decoded = plain[0].decode(tokens[: reply.completion_tokens])
    most = 1 if sampling.rules < 3 else written.count(sampling.stop[0])
    assert decoded.count(sampling.stop[0]) == most and "so on" not in decoded, "it ended at that stop string"


def test_a_reply_ends_at_the_end_token(folder, plain, prompts, tmp_path):
    """The model is bent to prefer `</s>` to anything else."""
    tokenizer, model = plain
    weights = model.lm_head.weight.data.clone()
    try:
        model.lm_head.weight.data.zero_()
        model.lm_head.weight.data[tokenizer.eos_token_id] = 1.0
        tokenizer.save_pretrained(tmp_path)
        hidden = model(**tokenizer(prompts[0], return_tensors="pt"), output_hidden_states=True).hidden_states[-1][0, -1]
        model.lm_head.weight.data[tokenizer.eos_token_id] = hidden.detach()
        model.save_pretrained(tmp_path)
    finally:
        model.lm_head.weight.data.copy_(weights)
    reply = ask(tmp_path, prompts[:1])[0]
    assert (reply.text, reply.finish_reason, reply.completion_tokens) == ("", "empty", 1)


def test_a_seed_fixes_a_sampled_reply(folder, prompts):
    warm = Sampling(temperature=1.0, top_p=0.95, max_tokens=16, stop=())
    once, again = (ask(folder, [prompts[0]] * 4, warm, [1, 2, 1, 3]) for _ in range(2))
    assert [reply.text for reply in once] == [reply.text for reply in again]
    assert once[0].text == once[2].text
    assert len({reply.text for reply in once}) == 3


def test_a_narrow_nucleus_is_greedy(folder, prompts):
    narrow = Sampling(temperature=1.0, top_p=1e-9, max_tokens=24, stop=())
    assert [r.text for r in ask(folder, prompts[:4], narrow)] == [r.text for r in ask(folder, prompts[:4])]


def test_sampled_tokens_follow_the_probabilities():
    import torch

    from lumos_queue.endpoints.drawing import sample_token

    logits = torch.log(torch.tensor([0.1, 0.6, 0.3]))
    for top_p, expected in (
        (1.0, {0: 100, 1: 600, 2: 300}),
        (0.9, {0: 0, 1: 667, 2: 333}),
        (0.5, {0: 0, 1: 1000, 2: 0}),
    ):
        drawn = [sample_token(logits, 1.0, top_p, (i + 0.5) / 1000) for i in range(1000)]
        for token, times in expected.items():
            assert drawn.count(token) == pytest.approx(times, abs=1)


def test_a_prompt_that_fills_the_context_ends_its_episode_only(folder):
    async def both():
        endpoint = open_endpoint(f"local:{folder}", SETTINGS)
        try:
            return await asyncio.gather(
                endpoint.generate(ModelCall("word " * 2000, FREELY)),
                endpoint.generate(ModelCall("Task", FREELY)),
                return_exceptions=True,
            )
        finally:
            await endpoint.close()

    long, short = asyncio.run(both())
    assert isinstance(long, EpisodeError)
    assert long.ending == "limit"
    assert "context of 256" in str(long)
    assert short.completion_tokens > 0


def test_a_reply_ends_where_the_context_ends(folder):
    reply = ask(folder, ["word " * 50], Sampling(max_tokens=512, stop=()))[0]
    assert reply.prompt_tokens + reply.completion_tokens == 256
    assert reply.finish_reason == "length"


def test_endpoints_on_one_folder_share_the_model(folder, tmp_path):
    one, two = (open_endpoint(f"local:{path}", SETTINGS) for path in (folder, folder / ".." / folder.name))
    assert one._batcher is two._batcher

    async def close_both():
        await one.close()
        await two.close()

    asyncio.run(close_both())


def test_the_identity_is_the_digest_of_the_weights(folder):
    known = asyncio.run(open_endpoint(f"local:{folder}", SETTINGS).identity())
    assert known["sha256"] == hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    assert (known["architecture"], known["dtype"], known["model"]) == ("LlamaForCausalLM", "float32", folder.name)


def test_weights_that_cannot_be_read_are_a_plain_line(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(SpecError, match="cannot be loaded as a language model") as caught:
        ask(tmp_path, ["Task"])
    assert "\n" not in str(caught.value)


def test_missing_weights_are_refused_and_not_drawn_at_random(folder, tmp_path):
    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    tensors = load_file(folder / "model.safetensors")
    lost = min(name for name in tensors if "mlp" in name)
    tensors.pop(lost)
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(SpecError, match=f"weights in .* are incomplete: {lost} is missing"):
        ask(tmp_path, ["Task"])


def test_models_loaded_at_once_leave_transformers_as_it_was(folder, tmp_path, prompts):
    from transformers import PreTrainedModel

    folders = [Path(shutil.copytree(folder, tmp_path / str(number))) for number in range(12)]
    before = PreTrainedModel.tie_weights

    async def ask_all():
        endpoints = [open_endpoint(f"local:{path}", SETTINGS) for path in folders]
        replies = await asyncio.gather(*(endpoint.generate(ModelCall(prompts[0], FREELY)) for endpoint in endpoints))
        await asyncio.gather(*(endpoint.close() for endpoint in endpoints))
        return {reply.text for reply in replies}

    try:
        assert asyncio.run(ask_all()) == {ask(folder, prompts[:1])[0].text}
        assert PreTrainedModel.tie_weights is before
    finally:
        PreTrainedModel.tie_weights = before  # a failure is this test's alone


def test_without_torch_the_way_out_is_named(folder, monkeypatch):
    from lumos_queue.endpoints import model_folder

    monkeypatch.setattr(model_folder.util, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match=r"pip install -e '.*\[local\]'"):
        open_endpoint(f"local:{folder}", SETTINGS)


def test_a_failing_forward_pass_costs_its_rows_and_not_the_endpoint(folder, prompts, monkeypatch):
    from lumos_queue.endpoints.local import Batcher

    step, failures = Batcher._step, [RuntimeError("not enough memory\nfor this")]

    def fail_once(batcher):
        if failures:
            raise failures.pop()
        step(batcher)

    monkeypatch.setattr(Batcher, "_step", fail_once)
    with pytest.raises(InfrastructureError, match=r"^the local model failed: not enough memory$"):
        ask(folder, prompts[:3])
    assert ask(folder, prompts[:1])[0].completion_tokens > 0


def test_a_cancelled_call_does_not_disturb_the_batch(folder, prompts):
    async def cancel_some():
        endpoint = open_endpoint(f"local:{folder}", SETTINGS)
        calls = [asyncio.create_task(endpoint.generate(ModelCall(prompt, FREELY))) for prompt in prompts[:8]]
        while not endpoint._batcher._rows:  # until they are decoded
            await asyncio.sleep(0)
        for call in calls[::2]:
            call.cancel()
        done = await asyncio.gather(*calls, return_exceptions=True)
        await endpoint.close()
        return done

    whole = ask(folder, prompts[:8])
    for at, reply in enumerate(asyncio.run(cancel_some())):
        if at % 2:
            assert reply.text == whole[at].text
        else:
            assert isinstance(reply, asyncio.CancelledError)


LEAVE_EARLY = """
import asyncio, sys
import torch
from lumos_queue.endpoints import local
from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.settings import Settings

large = torch.rand(2500, 2500)
local.Batcher._step = lambda self: large @ large  # takes as long as a pass of a large model

async def leave_early():
    values = {"request_seconds": 60.0, "request_retries": 0, "api_keys": None, "endpoint_hosts": "", "concurrency": 64}
    endpoint = open_endpoint(sys.argv[1], Settings(**values))
    asking = asyncio.ensure_future(endpoint.generate(ModelCall("one", Sampling(max_tokens=40, stop=()))))
    await asyncio.sleep(float(sys.argv[2]))
    sys.exit(3)

asyncio.run(leave_early())
"""


@pytest.mark.long  # threads that compute while the interpreter ends would abort it: status 134
def test_a_process_that_ends_in_the_middle_of_a_forward_pass_has_its_own_exit_status(folder):
    for seconds in (3, 3.1, 3.2):
        command = [sys.executable, "-c", LEAVE_EARLY, f"local:{folder}", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, "terminate" in done.stderr) == (3, False), done.stderr[-500:]


def _windowed(vocabulary):
    """Layers that attend to the last tokens only."""
    from transformers import MistralConfig, MistralForCausalLM

    return MistralForCausalLM(
        MistralConfig(
            vocab_size=vocabulary,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=1024,
            sliding_window=12,
            initializer_range=0.5,
        )
    )


def _sharing(vocabulary):
    """The last layers have no keys and values of their own."""
    from transformers import Gemma3nForCausalLM, Gemma3nTextConfig

    return Gemma3nForCausalLM(
        Gemma3nTextConfig(
            vocab_size=vocabulary,
            vocab_size_per_layer_input=vocabulary,
            hidden_size=32,
            hidden_size_per_layer_input=8,
            intermediate_size=64,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            head_dim=8,
            max_position_embeddings=1024,
            sliding_window=12,
            num_kv_shared_layers=2,
            laurel_rank=4,
            altup_num_inputs=2,
            activation_sparsity_pattern=[0.0] * 4,
            initializer_range=0.5,
            layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        )
    )


@pytest.mark.parametrize("make", [_windowed, _sharing])
def test_a_batch_of_other_models_writes_what_each_prompt_alone_gets(make, folder, prompts, tmp_path):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(3)
    make(len(tokenizer)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    # What was written before is read again: the second prompts begin with the first ones and their replies.
    first = ask(tmp_path, prompts[:6])
    longer = [
        f"{prompt}{reply.text} {more}" for prompt, reply, more in zip(prompts, first, prompts[6:12], strict=False)
    ]
    model = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    for asked, replies in ((prompts[:6], first), (longer, ask(tmp_path, longer))):
        for prompt, reply in zip(asked, replies, strict=True):
            inputs = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
            written = model.generate(**inputs, max_new_tokens=24, do_sample=False)[0, inputs.input_ids.shape[1] :]
            text = tokenizer.decode(written, skip_special_tokens=True)
            assert reply.text == completion(text, (), truncated=False).text


def test_what_a_row_leaves_behind_reaches_no_later_one():
    import torch

    from lumos_queue.endpoints.row_cache import RowCache

    cache = RowCache()
    cache.join([(0, []), (0, [])], [5, 5])
    states = torch.ones(2, 1, 5, 4)
    states[1] = float("nan")
    cache.update(states, states, 0)
    cache.keep([0])
    cache.join([(0, [])], [2])
    cache.update(torch.ones(1, 1, 2, 4), torch.ones(1, 1, 2, 4), 0)
    cache.advance()
    keys, values = cache.update(torch.ones(2, 1, 1, 4), torch.ones(2, 1, 1, 4), 0)
    assert not (keys.isnan().any() or values.isnan().any())
    assert [int(one.sum()) for one in keys[:, 0, :, 0]] == [6, 3]
