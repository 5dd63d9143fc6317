"""Experts by rule do better than doing nothing, or always answering the same, on pictures and texts not seen before."""

from __future__ import annotations

import asyncio
from collections import Counter

import numpy as np
import pytest

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.benchmarks.openagi.rules import pictures, texts
from lumos_queue.benchmarks.openagi.rules.translation import translate
from lumos_queue.experts.backends.own import RULES
from lumos_queue.experts.backends.own.restoration import Deblur, Denoise, ReduceBlocks
from lumos_queue.experts.backends.pixels import MAX_PIXELS, read_picture
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.base import Kind
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.experts.host import ExpertHost
from lumos_queue.experts.problems import BAD_INPUT, Problem, SampleError
from lumos_queue.scoring.media.pixels import psnr

N = 6
_SOURCES = ("labels", "captions", "objects", "signs")


@pytest.mark.parametrize("profile", ["released", "strong"])
@pytest.mark.parametrize(
    ("model", "augmentation"),
    [(Denoise, "noisy"), (Deblur, "blurry"), (ReduceBlocks, "low-resolutioned"), (pictures.Colorize, "grayscale")],
)
def test_what_restores_pictures_brings_them_nearer_to_the_original(model, augmentation, profile):
    gained = []
    for number in range(N):
        source = _SOURCES[number % 4]
        clean = load_input(source, "test", number, "image")
        given = load_input(source, "test", number, "image", (augmentation,), profile)
        gained.append(psnr(model().run(given), clean) - psnr(given, clean))
    assert sum(gain > 0 for gain in gained) >= N - 1, gained
    assert sum(gained) / N > 0.2, gained


@pytest.mark.parametrize(
    ("model", "source", "channels"),
    [
        (pictures.ClassifyScene, "labels", ("image",)),
        (pictures.DetectThings, "objects", ("image",)),
        (pictures.AnswerFromScene, "signs", ("image", "question")),
        (texts.FeelSentiment, "sentiments", ("text",)),
        (texts.AnswerByCounts, "passages", ("document", "question")),
    ],
)
def test_what_answers_is_right_on_clean_samples(model, source, channels):
    expert = model()
    wanted = [load_sample(source, "test", number).target.en for number in range(N)]
    made = [expert.run(*(load_input(source, "test", n, one) for one in channels)).decode() for n in range(N)]
    assert made == wanted
    assert Counter(wanted).most_common(1)[0][1] < N, "one answer would not do"


def test_a_caption_names_what_is_there():
    for number in range(N):
        made = pictures.CaptionScene().run(load_input("captions", "test", number, "image")).decode()
        assert Counter(made.split()) == Counter(load_sample("captions", "test", number).target.en.split())


@pytest.mark.parametrize("source", ["labels", "captions", "objects", "documents", "sentiments", "signs", "passages"])
def test_a_translation_is_the_german_of_the_grammar(source):
    for number in range(40):
        target = load_sample(source, "test", number).target
        assert translate(target.en) == target.de


def test_a_translation_keeps_what_it_does_not_know():
    assert translate("Quux and two red apples in a meadow") == "Quux und zwei rote Äpfel auf einer Wiese"


def test_most_masks_are_filled_as_they_were():
    filler = texts.FillByCounts()
    right = 0
    for number in range(40):
        given = load_input("captions", "test", number, "text", ("clozed",))
        right += filler.run(given) == load_input("captions", "test", number, "text")
    assert right >= 28
    assert b"[MASK]" not in filler.run(b"two [MASK] apples in a [MASK]")
    assert filler.run(b"nothing is missing") == b"nothing is missing"


def test_a_drawing_shows_what_its_text_says():
    for number in range(N):
        caption = load_sample("captions", "test", number).texts["text"]
        again = pictures.CaptionScene().run(pictures.Draw().run(caption.encode())).decode()
        assert Counter(again.split()) == Counter(caption.split())


def test_bad_pictures_and_texts_are_problems_of_their_sample():
    bomb = load_input("labels", "test", 0, "image")
    bomb = bomb[:16] + (60_000).to_bytes(4, "big") * 2 + bomb[24:]
    for model, given in (
        (Denoise(), b"no image"),
        (Denoise(), bomb),
        (pictures.Draw(), b" "),
    ):
        with pytest.raises(SampleError) as raised:
            model.run(given)
        assert raised.value.kind == BAD_INPUT
    assert MAX_PIXELS < 60_000**2


def test_every_expert_that_plans_may_name_runs_by_rule_in_a_process():
    image = load_input("captions", "test", 0, "image")
    given = {Kind.IMAGE: [image], Kind.TEXT: [b"a red apple in a meadow"]}

    async def main() -> dict[str, object]:
        host = ExpertHost()
        try:
            return {
                name: (await host.run(resolve(name, "own:"), [given[slot.kind] for slot in EXPERTS[name].slots]))[0]
                for name in PLANNABLE
            }
        finally:
            await host.close()

    made = asyncio.run(main())
    assert set(made) == set(PLANNABLE) < set(RULES) == set(EXPERTS)
    assert not [name for name, one in made.items() if isinstance(one, Problem)]
    assert np.asarray(read_picture(made["Colorization"])).shape == (64, 64, 3)  # type: ignore[arg-type]
