"""Searches of a local model, against log-probabilities that are worked out reply by reply, without a cache."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from dataclasses import replace

import pytest

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.candidates import choose_reply
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.search import SearchReply, SearchResult
from lumos_queue.endpoints.token_constraint import TokenConstraint
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.settings import Settings
from tests.finite_texts import STEPS, FiniteTexts
from tests.tiny_model import make_tiny_model
from tests.tiny_t5 import make_tiny_t5

SETTINGS = Settings(request_seconds=60.0, request_retries=0, api_keys=None, endpoint_hosts="", concurrency=64)
PROMPT = "<|user|>\nGiven noisy image, how to return the regular image step by step?\n<|assistant|>\n"
TEXTS = len(STEPS.texts)


@pytest.fixture(scope="module", params=["causal", "t5"])
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    make_tiny_model(folder) if request.param == "causal" else make_tiny_t5(folder)
    return folder


@pytest.fixture(scope="module")
def plain(folder):
    """Tokenizer and model as transformers itself loads them, and whether an encoder reads the prompt."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    encodes = (folder / "spiece.model").exists()
    kind = AutoModelForSeq2SeqLM if encodes else AutoModelForCausalLM
    return AutoTokenizer.from_pretrained(folder), kind.from_pretrained(folder, dtype=torch.float32).eval(), encodes


def ask_all(folder, *asks):
    """The completions of (sampling, seed, constraint, n), all asked at once."""

    async def run():
        endpoint = open_endpoint(f"local:{folder}", SETTINGS)
        calls = [
            endpoint.generate(ModelCall(PROMPT, sampling, seed, constraint=constraint, candidates=n))
            for sampling, seed, constraint, n in asks
        ]
        try:
            return await asyncio.gather(*calls)
        finally:
            await endpoint.close()

    return asyncio.run(run())


def ask(folder, sampling=None, seed=0, constraint=STEPS, n=1):
    return ask_all(folder, (sampling or Sampling(), seed, constraint, n))[0]


def logits_of(plain, tokens):
    """Those before each of the reply's tokens: [tokens, vocabulary]."""
    return logits_of_all(plain, [tokens])[0]


def logits_of_all(plain, replies):
    """Those of replies of the same length: [replies, tokens, vocabulary]."""
    import torch

    tokenizer, model, encodes = plain
    prompt = tokenizer(PROMPT)["input_ids"]
    with torch.no_grad():
        if encodes:
            written = torch.tensor([[model.config.decoder_start_token_id, *tokens[:-1]] for tokens in replies])
            return model(input_ids=torch.tensor([prompt] * len(replies)), decoder_input_ids=written).logits.double()
        logits = model(torch.tensor([[*prompt, *tokens[:-1]] for tokens in replies])).logits.double()
    return logits[:, len(prompt) - 1 :]


def naive_logprob(plain, text, constraint=STEPS):
    tokenizer, _, encodes = plain
    before = "" if encodes else PROMPT
    traced = TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id, before).trace(text)
    logits = logits_of(plain, [token for token, _ in traced])
    return sum(
        float(row[token] - row[list(allowed)].logsumexp(0))
        for row, (token, allowed) in zip(logits, traced, strict=True)
    )


@pytest.fixture(scope="module")
def ranked(plain):
    """Each allowed text with its log-probability, best first."""
    return sorted(((text, naive_logprob(plain, text)) for text in STEPS.joined_texts), key=lambda one: -one[1])


def test_enough_beams_find_every_allowed_text_in_order(folder, ranked):
    reply = ask(folder, Sampling(beams=TEXTS), n=TEXTS)
    assert [one.text for one in reply.candidates] == [text for text, _ in ranked]
    assert [one.logprob for one in reply.candidates] == pytest.approx([value for _, value in ranked], abs=1e-5)
    assert sum(math.exp(one.logprob) for one in reply.candidates) == pytest.approx(1, abs=1e-5)
    assert reply.text == ranked[0][0] and reply.finish_reason == "stop"


@pytest.mark.parametrize("n", [1, 3])
def test_fewer_candidates_are_the_best_of_the_beams(folder, ranked, n):
    wide = ask(folder, Sampling(beams=TEXTS), n=n)
    assert [one.text for one in wide.candidates] == [text for text, _ in ranked[:n]]
    alone = ask(folder, n=TEXTS + 5)  # as many beams as candidates; there are no more texts than these
    assert [one.text for one in alone.candidates] == [text for text, _ in ranked]


def test_one_beam_takes_the_best_allowed_token_each_time(folder, plain):
    tokenizer, _, encodes = plain
    cursor, tokens = TokenConstraint(STEPS, tokenizer, tokenizer.eos_token_id, "" if encodes else PROMPT).start(), []
    while not cursor.ended:
        row = logits_of(plain, [*tokens, 0])[-1]
        tokens.append(max(cursor.allowed, key=lambda token: row[token]))
        cursor = cursor.advance(tokens[-1])
    reply = ask(folder)
    assert reply.text == tokenizer.decode(tokens, skip_special_tokens=True)
    assert reply.completion_tokens == len(tokens) and reply.prompt_tokens == len(tokenizer(PROMPT)["input_ids"])
    (only,) = reply.candidates
    assert (only.text, only.logprob) == (reply.text, pytest.approx(naive_logprob(plain, reply.text), abs=1e-5))


def test_a_search_without_a_constraint_is_that_over_all_tokens(folder, plain):
    """Every reply of two tokens at most, by enumeration: the search has a beam for each of the best first tokens."""
    tokenizer, model, _ = plain
    size, end = model.config.vocab_size, tokenizer.eos_token_id
    first = logits_of(plain, [0])[0].log_softmax(0)
    found = {(end,): float(first[end])}
    after = logits_of_all(plain, [[token, 0] for token in range(size)])[:, 1].log_softmax(1)
    for token, second in enumerate(after):
        if token != end:
            found |= {(token, other): float(first[token] + second[other]) for other in second.topk(8).indices.tolist()}
    best = sorted(found.items(), key=lambda one: -one[1])[:6]
    reply = ask(folder, Sampling(beams=size, max_tokens=2, stop=()), constraint=None, n=6)
    texts = [tokenizer.decode(list(tokens), skip_special_tokens=True).strip() for tokens, _ in best]
    assert [one.text for one in reply.candidates] == texts
    assert [one.logprob for one in reply.candidates] == pytest.approx([value for _, value in best], abs=1e-5)


def test_one_free_beam_writes_what_greedy_generate_does(folder, plain):
    tokenizer, model, encodes = plain
    inputs = tokenizer(PROMPT, return_tensors="pt")
    written = model.generate(**inputs, max_new_tokens=12, do_sample=False)[0]
    text = tokenizer.decode(written if encodes else written[inputs.input_ids.shape[1] :], skip_special_tokens=True)
    searched = ask(folder, Sampling(beams=1, max_tokens=12, stop=()), constraint=None)
    assert searched.text == text.strip() and len(searched.candidates) == 1
    usual = ask(folder, Sampling(max_tokens=12, stop=()), constraint=None)
    assert (usual.text, usual.candidates) == (searched.text, ()), "a plain reply lists no candidates"


def test_a_stop_string_ends_a_hypothesis(folder):
    """Drawn, as the best reply of random weights may be short; the same seed draws the same tokens."""
    free = Sampling(temperature=1.0, beams=1, max_tokens=20, stop=())
    whole = max(ask_all(folder, *((free, seed, None, 1) for seed in range(4))), key=lambda one: len(one.text))
    seed = next(seed for seed in range(4) if ask(folder, free, seed, None).text == whole.text)
    middle = len(whole.text) // 2
    stop = whole.text[middle : middle + 2]
    cut = ask(folder, Sampling(temperature=1.0, beams=1, max_tokens=20, stop=(stop,)), seed, None)
    assert cut.text == whole.text[: whole.text.index(stop)].strip()
    assert cut.completion_tokens < whole.completion_tokens and cut.finish_reason in ("stop", "empty")
    letter = next(one for one in whole.text if one.isascii() and one.isalnum())
    wide = ask(folder, Sampling(beams=8, max_tokens=6, stop=(letter,)), n=8, constraint=None)
    assert not any(letter in one.text for one in wide.candidates)


def test_drawn_replies_follow_the_allowed_distribution_and_tell_its_logprob(folder, ranked):
    expected = dict(ranked)
    warm = Sampling(temperature=1.0)
    drawn = ask_all(folder, *((warm, seed, STEPS, 1) for seed in range(100)))
    counted = Counter(one.text for one in drawn)
    for text, logprob in ranked:
        share = math.exp(logprob)
        assert counted[text] / 100 == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / 100) + 1e-3)
    for one in drawn:
        assert one.candidates[0].logprob == pytest.approx(expected[one.text], abs=1e-5)
    again = ask_all(folder, *((warm, seed, STEPS, 1) for seed in range(8)))
    assert [one.text for one in again] == [one.text for one in drawn[:8]]
    narrow = ask(folder, Sampling(temperature=1.0, top_p=1e-9), seed=5)
    assert narrow.text == ask(folder).text
    cold = ask(folder, Sampling(temperature=0.5), seed=3)
    assert cold.candidates[0].logprob == pytest.approx(expected[cold.text], abs=1e-5), "told at temperature 1"


def test_epsilon_draws_from_the_softmax_of_the_candidates(folder):
    n, times = 4, 2000
    plain = ask(folder, Sampling(beams=TEXTS), n=n)
    known = plain.candidates
    total = sum(math.exp(one.logprob) for one in known)
    sampling = Sampling(beams=TEXTS, epsilon=0.5)
    found = SearchResult(tuple(SearchReply(one.text, one.logprob, 1, False) for one in known), 1)
    call = ModelCall(PROMPT, sampling, constraint=STEPS, candidates=n)
    replies = [choose_reply(replace(call, seed=seed), found, 0.0) for seed in range(times)]
    assert all(one.candidates == known for one in replies)
    counted = Counter(one.text for one in replies)
    assert len(counted) > 1
    for place, one in enumerate(known):
        share = 0.5 * math.exp(one.logprob) / total + (0.5 if place == 0 else 0)
        assert counted[one.text] / times == pytest.approx(share, abs=4 * math.sqrt(share * (1 - share) / times) + 1e-3)
    drawn = [one for one in replies if one.note]
    assert 0.45 < len(drawn) / times < 0.55 and all("drawn: candidate" in one.note for one in drawn)
    assert not plain.note
    seeds = range(6)
    asked = ask_all(folder, *((sampling, seed, STEPS, n) for seed in seeds))
    assert [one.text for one in asked] == [replies[seed].text for seed in seeds], "the endpoint chooses in this way"


@pytest.mark.parametrize(
    ("sampling", "n", "problem"),
    [
        (Sampling(beams=2), 3, "3 candidates are asked of 2 beams"),
        (Sampling(temperature=1.0), 2, "2 candidates are of a search"),
        (Sampling(temperature=1.0, beams=4), 1, "4 beams are of a search"),
    ],
)
def test_what_contradicts_itself_is_refused_in_one_line(folder, sampling, n, problem):
    with pytest.raises(SpecError, match=problem) as caught:
        ask(folder, sampling, n=n)
    assert "\n" not in str(caught.value)


def test_a_constraint_that_cannot_be_written_is_one_line_and_the_model_goes_on(folder):
    end = "</s>"
    with pytest.raises(SpecError, match="cannot write") as caught:
        ask(folder, constraint=FiniteTexts((("left", end),)))
    assert "\n" not in str(caught.value)
    assert ask(folder).text in STEPS.joined_texts


def test_no_allowed_reply_fits_into_the_limit(folder):
    with pytest.raises(EpisodeError, match="no allowed reply fits into the limit of 1 tokens") as caught:
        ask(folder, Sampling(max_tokens=1))
    assert caught.value.ending == "limit"


def test_searches_run_beside_the_batch_and_change_nothing_in_it(folder, plain):
    if plain[2]:
        pytest.skip("an encoder-decoder has no batch")
    free = Sampling(max_tokens=24, stop=())
    alone = ask(folder, free, constraint=None)
    asks = [(free, 0, None, 1), (Sampling(beams=5), 0, STEPS, 5)] * 4
    replies = ask_all(folder, *asks)
    assert {one.text for one in replies[::2]} == {alone.text}
    assert {one.candidates for one in replies[1::2]} == {ask(folder, Sampling(beams=5), n=5).candidates}


def test_a_failing_search_costs_its_ask_alone(folder, monkeypatch):
    from lumos_queue.endpoints import search

    def fail(*_):
        raise RuntimeError("not enough memory\nfor this")

    with monkeypatch.context() as patch:
        patch.setattr(search, "open_decoder", fail)
        with pytest.raises(Exception, match=r"^the local model failed: not enough memory$"):
            ask(folder)
    assert ask(folder).text in STEPS.joined_texts


def test_a_t5_folder_with_tokenizer_json_alone_is_a_model(tmp_path):
    make_tiny_t5(tmp_path / "t5", tokenizer_json=True)
    assert ask(tmp_path / "t5").text in STEPS.joined_texts
    identity = asyncio.run(open_endpoint(f"local:{tmp_path / 't5'}", SETTINGS).identity())
    assert identity["architecture"] == "T5ForConditionalGeneration"
