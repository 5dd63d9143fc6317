"""Experts by rule at their limits: pictures too small to filter, clean ones, too many things, words never seen."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from lumos_queue.benchmarks.openagi.data.samples import load_input, load_sample
from lumos_queue.benchmarks.openagi.rules import pictures, texts
from lumos_queue.experts.backends.own.restoration import Deblur, Denoise, ReduceBlocks, noise_level, smooth_bilateral
from lumos_queue.experts.backends.pixels import from_pixels, read_picture
from lumos_queue.experts.problems import BAD_INPUT, SampleError


@pytest.mark.parametrize("model", [Denoise, Deblur, ReduceBlocks])
@pytest.mark.parametrize("size", [(1, 1), (2, 5), (3, 3), (8, 8)])
def test_a_picture_of_one_colour_stays_as_it_is_to_its_rim(model, size):
    for light in (0.5, 0.02):  # a dark one tells whether its rim is mixed with black
        plain = from_pixels(np.full((*size, 3), light, np.float32))
        assert (np.asarray(read_picture(model().run(plain))) == np.asarray(read_picture(plain))).all()


def test_the_noise_is_measured_that_was_added():
    ramp = np.linspace(0.3, 0.7, 64, dtype=np.float32)[:, None, None] * np.ones((64, 64, 3), np.float32)
    noise = np.random.default_rng(1).normal(0, 0.05, (64, 64, 1)).astype(np.float32)
    assert noise_level(ramp) < 1e-3
    assert noise_level(ramp + noise) == pytest.approx(0.05, rel=0.1)


def test_a_neighbour_counts_less_the_further_it_is_and_beyond_two_pixels_not_at_all():
    point = np.zeros((9, 9, 3), np.float32)
    point[4, 4] = 1
    made = smooth_bilateral(point, spatial=1.5, range_=1e3)[4, :, 0]
    assert made[3] / made[4] == pytest.approx(math.exp(-1 / 4.5), rel=1e-4)
    assert made[2] / made[4] == pytest.approx(math.exp(-4 / 4.5), rel=1e-4)
    assert made[1] == made[0] == 0
    edge = smooth_bilateral(point, spatial=1.5, range_=0.05)
    assert edge[4, 4, 0] == pytest.approx(1.0, abs=1e-4) and edge[4, 3, 0] == pytest.approx(0.0, abs=1e-4)


def test_more_than_six_things_are_not_drawn_and_more_than_four_not_counted():
    drawn = pictures.Draw().run(b"four balls and four balls in a meadow")
    assert pictures.DetectThings().run(drawn) == b", ".join([b"ball"] * 6)
    assert pictures.CaptionScene().run(drawn).startswith(b"four ")


def test_a_continuation_ends_with_its_sentence_or_after_twenty_words():
    continues = texts.ContinueByCounts()
    for start in ("The film was", "a", "On Monday"):
        made = continues.run(start.encode()).decode()
        new = made.removeprefix(start).split()
        assert made.startswith(start) and 0 < len(new) <= 20
        assert not {".", "!", "?"} & {*new[:-1]}, "it stops there"
    assert continues.run(b"quux") == b"quux", "a word that was never seen"
    continues.next = {"a": Counter({"b": 2, "c": 1}), "b": Counter({"a": 1})}
    assert continues.run(b"a").split() == [b"a", b"b"] * 10 + [b"a"]


def test_a_summary_has_two_sentences_of_the_text_in_their_order_and_those_that_matter():
    model, gained = texts.SummarizeByCounts(), []
    for number in range(12):
        text = load_input("documents", "test", number, "text").decode()
        wanted = Counter(load_sample("documents", "test", number).target.en.split())
        sentences = texts._sentences(text)
        made = model.run(text.encode()).decode()
        places = [sentences.index(one) for one in texts._sentences(made)]
        assert len(places) == 2 and places == sorted(places)
        last = Counter(" ".join(sentences[-2:]).split())
        gained.append(((Counter(made.split()) & wanted).total()) - (last & wanted).total())
    assert sum(gained) > 0, "more of what is wanted than the last two sentences have"
    assert model.run(b"Only this.") == b"Only this."


def test_a_mask_among_words_never_seen_is_filled_all_the_same():
    assert texts.FillByCounts().run(b"quux zot [MASK] blip blop") == b"quux zot the blip blop"


def test_a_document_without_a_word_is_a_problem_of_its_sample():
    with pytest.raises(SampleError) as raised:
        texts.AnswerByCounts().run(b"... !", b"who is it?")
    assert raised.value.kind == BAD_INPUT
