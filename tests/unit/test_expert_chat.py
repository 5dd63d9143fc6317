"""Experts that a chat model is: prompts, reading of replies, options, and runs that belong to an episode."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import asdict, replace

import pytest

from lumos_queue.actions.experts.chat_runs import ask_samples
from lumos_queue.actions.experts.interface import ExpertActions
from lumos_queue.actions.experts.options import (
    IMAGES,
    NEEDED,
    PROMPTS,
    WARNING,
    chat_addresses,
    describe_backend,
    open_experts,
    prepare_experts,
)
from lumos_queue.actions.experts.reuse import ReusedRuns
from lumos_queue.actions.experts.session import Run
from lumos_queue.actions.experts.values import Values
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.image_support import takes_images
from lumos_queue.endpoints.roles import TOOL_ROLES
from lumos_queue.errors import EpisodeError, SpecError
from lumos_queue.execution.serving.experts import ServedExperts
from lumos_queue.experts.backends import chat
from lumos_queue.experts.backends.base import Fidelity
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.base import Kind
from lumos_queue.experts.catalogue import EXPERTS
from lumos_queue.experts.problems import Problem
from lumos_queue.records import Completion, Ending, FinishReason
from lumos_queue.settings import Settings
from tests.fake_endpoint import FakeEndpoint, images

#: The sha256 of the prompts of version 1 as JSON.
PINNED_1 = "66f9a1d617b70a17cc9ab25fdecab3fc43149eaa00e7ab38e485e6f01c653b59"
URL = "chat://127.0.0.1:9?model=tiny"
TEXTS = (
    "Sentiment Analysis",
    "Text Summarization",
    "Machine Translation",
    "Fill Mask",
    "Question Answering",
    "Text Generation",
)


def refuse(_url: str) -> bool:
    raise AssertionError("no server is asked here")


def test_the_prompts_of_a_stored_version_never_change():
    stored = json.dumps({name: asdict(prompt) for name, prompt in chat.PROMPTS["1"].items()}, sort_keys=True)
    assert hashlib.sha256(stored.encode()).hexdigest() == PINNED_1, "a changed prompt is a new version"
    assert chat.VERSION in chat.PROMPTS and (*TEXTS, "Image Captioning", "Visual Question Answering") == chat.SERVED


def test_each_expert_has_a_greedy_role_without_stop_strings():
    roles = {chat.role_of(EXPERTS[name]) for name in chat.SERVED}
    assert roles == {role for role in TOOL_ROLES if role.startswith("expert-")}
    assert all(TOOL_ROLES[role].temperature == 0 and not TOOL_ROLES[role].stop for role in roles)


def test_a_prompt_has_the_instruction_and_each_text_under_its_label():
    prompt = chat.write_prompt("Question Answering", ("It is {red}.", "What colour?"), "1")
    assert prompt.splitlines()[2:] == ["Document: It is {red}.", "", "Question: What colour?"]
    assert max(len(one.instruction) for one in chat.PROMPTS["1"].values()) < 160, "prompts are short"


@pytest.mark.parametrize(
    ("expert", "texts", "reply", "output"),
    [
        ("Sentiment Analysis", ("x",), " Positive.\n", "positive"),
        ("Sentiment Analysis", ("x",), "The sentiment is **Negative**", "negative"),
        ("Sentiment Analysis", ("x",), "I like it", "i like it"),
        ("Machine Translation", ("a",), 'Translation: "ein Boot"\n', "ein Boot"),
        ("Machine Translation", ("a",), "```\nein\nBoot\n```", "ein Boot"),
        ("Machine Translation", ("a",), "```text\nein Boot\n```", "ein Boot"),
        ("Machine Translation", ("a",), '"a" und "b"', '"a" und "b"'),
        ("Machine Translation", ("a",), "\u201eein Boot\u201c", "ein Boot"),
        ("Fill Mask", ("a [MASK] car",), '"red".', "a red car"),
        ("Fill Mask", ("a [MASK] car",), "The word: red", "a The car"),
        ("Fill Mask", ("a [MASK] car",), "a red car", "a red car"),
        ("Fill Mask", ("a [MASK] car",), "[MASK]", ""),
        ("Fill Mask", ("a [MASK] car",), "a car", ""),
        ("Fill Mask", ("a [MASK] [MASK]",), "red, car", "a red car"),
        ("Fill Mask", ("a [MASK] [MASK]",), "red", ""),
        ("Fill Mask", ("[MASK]",), "red", "red"),
        ("Fill Mask", ("a [MASK] car",), "...", ""),
        ("Fill Mask", ("an [MASK]",), "another", "an another"),
        ("Fill Mask", ("red [MASK] red",), "red", "red red red"),
        ("Fill Mask", ("It is a [MASK]",), "It is a dog.", "It is a dog"),
        ("Text Generation", ("It rains .",), "We stay.", "It rains . We stay."),
        ("Text Generation", ("It  rains",), "It rains and we stay.", "It rains and we stay."),
        ("Question Answering", ("d", "q"), "Answer: 1951", "1951"),
        ("Image Captioning", (), "a\n\nboat", "a boat"),
        ("Image Captioning", (), " \n", ""),
        ("Image Captioning", (), "```", "```"),
        ("Image Captioning", (), '"', '"'),
    ],
)
def test_replies_are_read(expert, texts, reply, output):
    assert chat.read_reply(expert, texts, reply, "1") == output


def test_an_option_for_all_experts_leaves_to_rules_what_the_model_is_not():
    prepared = prepare_experts({"experts": URL}, ask=lambda url: url != URL)
    facts = open_experts(prepared)
    assert {name for name in facts if facts[name].url == URL} == set(TEXTS)
    assert {facts[name].url for name in facts if name not in TEXTS} == {"own:"}
    assert all(backend.fidelity == Fidelity.SUBSTITUTE for backend in facts.values())
    assert prepared[PROMPTS] == "1" and prepared[IMAGES] == "no" and "takes no images" in prepared[WARNING]
    with_images = prepare_experts({"experts": URL}, ask=lambda url: url == URL)
    assert set(chat_addresses(with_images)) == {chat.role_of(EXPERTS[name]) for name in chat.SERVED}
    assert with_images[IMAGES] == "yes" and "images" not in with_images[WARNING]
    silent = prepare_experts({"experts": URL}, ask=lambda url: None)
    assert silent[IMAGES] == "no" and "did not answer whether it takes images" in silent[WARNING]


def test_a_person_may_state_whether_the_model_takes_images():
    prepared = prepare_experts({"experts": URL, IMAGES: "yes"}, ask=refuse)
    assert open_experts(prepared)["Image Captioning"].url == URL
    named = {"experts": URL, "image-captioning": "own:", "visual-question-answering": URL}
    assert prepare_experts(named, ask=refuse)["visual-question-answering"] == URL
    with pytest.raises(SpecError, match="experts-images=perhaps is not known: expected yes or no"):
        prepare_experts({"experts": URL, IMAGES: "perhaps"}, ask=refuse)


def test_one_expert_may_be_a_chat_model_beside_other_backends():
    prepared = prepare_experts({"experts": "own", "fill-mask": URL}, ask=refuse)
    assert chat_addresses(prepared) == {"expert-fill-mask": URL} and WARNING not in prepared
    for domain in ("experts", "local_tools"):
        assert DOMAINS.load(domain).model_addresses(prepared) == {"expert-fill-mask": URL}
    facts = open_experts(prepared)
    assert {name for name in facts if facts[name].url != "own:"} == {"Fill Mask"}
    assert describe_backend("Fill Mask", prepared) == (URL, "substitute")
    assert describe_backend("Colorization", prepared) == ("own:", "substitute")
    assert describe_backend("Text Generation", {"experts": "hf"}) == ("hf:gpt2", "reference")


def test_options_of_chat_models_have_no_effect_without_one():
    assert prepare_experts({"experts": "own", PROMPTS: "1", IMAGES: "yes"}, ask=refuse) == prepare_experts(
        {"experts": "own"}
    )
    assert DOMAINS.load("maths").model_addresses({}) == {}


def test_the_digest_depends_on_address_model_and_version(monkeypatch):
    digests = {resolve("Fill Mask", url).digest for url in (URL, "chat://127.0.0.1:9?model=b", "chats://h?model=tiny")}
    monkeypatch.setattr(chat, "PROMPTS", {"1": chat.PROMPTS["1"], "2": chat.PROMPTS["1"]})
    assert len(digests | {chat.find("Fill Mask", URL, "2").digest}) == 4


def test_a_stored_job_keeps_the_version_of_its_prompts(monkeypatch):
    stored = prepare_experts({"experts": "own", "fill-mask": URL}, ask=refuse)
    newer = {name: replace(prompt, instruction="Fill it.") for name, prompt in chat.PROMPTS["1"].items()}
    monkeypatch.setattr(chat, "PROMPTS", {"1": chat.PROMPTS["1"], "2": newer})
    monkeypatch.setattr(chat, "VERSION", "2")
    assert open_experts(stored)["Fill Mask"].note.endswith("prompt of version 1")
    assert prepare_experts({"experts": "own", "fill-mask": URL}, ask=refuse)[PROMPTS] == "2"
    again = {name: value for name, value in stored.items() if not name.endswith("_sha256")}
    assert prepare_experts(again, ask=refuse) == stored
    context = Context(lambda prompt: Completion("red", FinishReason.STOP))
    ask("Fill Mask", context, ("a [MASK]",))
    assert context.asked[0][1].startswith(chat.PROMPTS["1"]["Fill Mask"].instruction)


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ({"experts": "chat://127.0.0.1:9"}, "names no model: expected chat://HOST:PORT"),
        ({"experts": "own", "fill-mask": "chat://127.0.0.1:9"}, "names no model"),
        ({"experts": "chat://a:b@h?model=x"}, "Credentials in an endpoint's URL are refused"),
        ({"experts": "chat://h?model=x&y=z"}, "says more than"),
        ({"experts": "own", "image-denoising": URL}, "a chat model cannot be Image Denoising; it can be Sentiment"),
        ({"experts": URL, PROMPTS: "99"}, "Version 99 of the prompts of experts is unknown: expected 1"),
    ],
)
def test_wrong_options_are_refused_in_one_line(tools, message):
    with pytest.raises(SpecError, match=message) as raised:
        prepare_experts(tools, ask=refuse)
    assert "\n" not in str(raised.value) and "a:b" not in str(raised.value)


def test_a_server_of_experts_serves_no_chat_model():
    with pytest.raises(SpecError, match="Fill Mask is a chat model, which jobs ask themselves"):
        ServedExperts({"Fill Mask": resolve("Fill Mask", URL)}, None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("mode", "answer"),
    [
        ("ok", True),
        *((mode, False) for mode in ("400", "422", "500", "301:http://127.0.0.1:1/")),
        *((mode, None) for mode in ("401", "429", "503", "garbage", "wrong", "reset")),
    ],
)
def test_a_server_is_asked_once_whether_it_takes_images(mode, answer):
    with FakeEndpoint(lambda prompt: "2", mode=mode, keep_bodies=True) as server:
        assert asyncio.run(takes_images(server.chat, Settings())) is answer
        (body,) = server.bodies
    assert body["model"] == "fake" and body["max_tokens"] == 1 and images(body)[0].startswith(b"\x89PNG")


def test_a_server_that_does_not_run_is_not_waited_for():
    assert asyncio.run(takes_images("chat://127.0.0.1:1?model=x", Settings())) is None


class Context:
    """A step context that answers by a function, and remembers what was asked."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    async def ask(self, role, prompt, images=()):
        self.asked.append((role, prompt, images))
        return self.reply(prompt)


def ask(expert: str, context: Context, *items: tuple[str | None, ...]) -> list:
    slots = zip(EXPERTS[expert].slots, items, strict=True)
    samples = tuple(n for n in range(len(items[0])) if all(slot[n] is not None for slot in items))
    run = Run(EXPERTS[expert], tuple(Values(slot.kind, texts) for slot, texts in slots), samples)
    return list(asyncio.run(ask_samples(run, "1", context)))  # pyright: ignore[reportArgumentType]


def test_each_sample_is_one_call_in_the_order_of_the_samples():
    context = Context(lambda prompt: Completion(prompt[-1].upper(), FinishReason.STOP))
    assert ask("Machine Translation", context, ("a", None, "b", "c")) == [b"A", b"B", b"C"]
    assert [(role, prompt[-1]) for role, prompt, _ in context.asked] == [
        ("expert-machine-translation", letter) for letter in "abc"
    ]


def test_a_text_without_a_mask_is_not_asked_about():
    context = Context(lambda prompt: Completion("red", FinishReason.STOP))
    assert ask("Fill Mask", context, ("a car", "a [MASK] car")) == [b"a car", b"a red car"] and len(context.asked) == 1


def test_images_go_to_the_model_and_texts_into_the_prompt():
    context = Context(lambda prompt: Completion("blue", FinishReason.STOP))
    assert ask("Visual Question Answering", context, ("f" * 64,), ("What colour?",)) == [b"blue"]
    ((role, prompt, shown),) = context.asked
    assert role == "expert-visual-question-answering" and shown == ("f" * 64,)
    assert prompt.endswith("Question: What colour?") and "f" * 64 not in prompt
    assert EXPERTS["Visual Question Answering"].slots[0].kind is Kind.IMAGE


def test_samples_fail_one_by_one_and_an_endpoint_that_fails_fails_the_episode():
    def reply(prompt: str) -> Completion:
        if prompt.endswith("long"):
            raise EpisodeError(Ending.LIMIT, "the model's context is full")
        return Completion("" if prompt.endswith("empty") else "ok", FinishReason.LENGTH)

    full, empty, good = ask("Text Summarization", Context(reply), ("long", "empty", "good"))
    assert isinstance(full, Problem) and full.kind == "bad_input" and "context is full" in full.message
    assert isinstance(empty, Problem) and empty.kind == "bad_output" and "limit of tokens" in empty.message
    assert good == b"ok"

    def refuse_all(prompt: str) -> Completion:
        raise EpisodeError(Ending.INFRA_ERROR, "refused")

    with pytest.raises(EpisodeError, match="refused"):
        ask("Text Summarization", Context(refuse_all), ("a",))


def test_the_first_episode_makes_an_equal_run_and_the_others_wait_for_it():
    async def run() -> tuple[list, int]:
        runs, made = ReusedRuns(), []

        async def make():
            made.append(1)
            await asyncio.sleep(0)
            return [b"x"]

        outcomes = await asyncio.gather(*(runs.find_or_lead("k", make) for _ in range(5)))
        return [provenance for _, provenance in outcomes], len(made)

    assert asyncio.run(run()) == (["live", *["recorded"] * 4], 1)


@pytest.mark.parametrize("ends", ["cancelled", "failed", "problem"])
def test_a_run_that_ends_with_its_episode_is_made_by_the_next(ends):
    async def run() -> tuple[list, str]:
        runs, may_end = ReusedRuns(), asyncio.Event()

        async def end():
            await may_end.wait()
            if ends == "problem":
                return [Problem("bad_output", "no")]
            raise EpisodeError(Ending.INFRA_ERROR, "down")

        async def make():
            return [b"x"]

        first = asyncio.ensure_future(runs.find_or_lead("k", end))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(runs.find_or_lead("k", make))
        await asyncio.sleep(0)
        if ends == "cancelled":
            first.cancel()
        may_end.set()
        await asyncio.gather(first, return_exceptions=True)
        outcome = await second
        assert not runs._leaders
        return outcome

    assert asyncio.run(run()) == ([b"x"], "live")


def test_every_needed_expert_has_a_backend_with_a_chat_model_alone():
    assert set(NEEDED) <= set(ExpertActions(prepare_experts({"experts": URL}, ask=lambda url: False)).facts)
