"""Scores equal those of the libraries that define them, on tiny random models; without weights they are not run.

The expected numbers were computed on these models, pictures and texts by torchmetrics 1.9.0 (`clip_score`, whose model
was wrapped to return tensors, as it does not run with transformers 5 otherwise, / 100; `cosine_similarity` of the class
tokens), bert-score 0.3.13 (`BERTScorer(model_type=FOLDER, num_layers=2)`), scikit-image 0.25.2
(`structural_similarity(gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=1, channel_axis=2)`),
sacrebleu 2.6.0 (`sentence_chrf` / 100). Where those are installed, the tests compute them anew.
"""

from __future__ import annotations

import math

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.scoring.media.chrf import chrf
from lumos_queue.scoring.media.paper import (
    SCORES,
    bert_score,
    clip_score,
    find_score_weights,
    name_score_weights,
    vit_score,
)
from lumos_queue.scoring.media.pixels import psnr, ssim
from tests import tiny_scores
from tests.tiny_scores import TEXTS

PICTURES = tiny_scores.pictures()
EXPECTED = {
    "clip": [[0.4457494, 0.4340968, 0.0927587], [0.4107746, 0.3970996, 0.0632677], [0.646694, 0.6150669, 0.3225737]],
    "bert": [[1.0, 0.9055911, 0.7583048], [0.9055911, 1.0000002, 0.7797174], [0.7583048, 0.7797174, 1.0000001]],
    "vit": [[1.0, 0.9992033, 0.9273605], [0.9992033, 1.0, 0.9196513], [0.9273605, 0.9196513, 1.0]],
    "ssim": [[1.0, 0.9381204, 0.0015886], [0.9381204, 1.0, -0.0139795], [0.0015886, -0.0139795, 1.0]],
    "chrf": [[1.0, 0.4187746, 0.0514731], [0.5358766, 1.0, 0.086939], [0.0579173, 0.0787205, 1.0]],
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {"CLIP": tiny_scores.make_clip, "BERT": tiny_scores.make_bert, "VIT": tiny_scores.make_vit}
    return {name: make(tmp_path_factory.mktemp(name)) for name, make in made.items()}


@pytest.fixture(autouse=True)
def weights(folders, monkeypatch):
    for name, folder in folders.items():
        monkeypatch.setenv(f"LUMOS_{name}_WEIGHTS", str(folder))


@pytest.mark.parametrize(
    ("name", "score", "firsts", "seconds"),
    [
        ("clip", clip_score, PICTURES, TEXTS),
        ("bert", bert_score, TEXTS, TEXTS),
        ("vit", vit_score, PICTURES, PICTURES),
        ("ssim", ssim, PICTURES, PICTURES),
        ("chrf", chrf, TEXTS, TEXTS),
    ],
)
def test_a_score_is_that_of_the_library_that_defines_it(name, score, firsts, seconds):
    ours = [score(one, other) for one in firsts for other in seconds]
    assert ours == pytest.approx([value for row in EXPECTED[name] for value in row], abs=1e-5)


def test_chrf_anew_where_sacrebleu_is_installed():
    sacrebleu = pytest.importorskip("sacrebleu")
    for one in (*TEXTS, "", "a", "größer als zwölf"):
        for other in (*TEXTS, "b"):
            assert chrf(one, other) == pytest.approx(sacrebleu.sentence_chrf(one, [other]).score / 100, abs=1e-9)


def test_psnr_of_a_known_difference():
    assert psnr(PICTURES[0], PICTURES[1]) == pytest.approx(20.1687378, abs=1e-5)
    assert psnr(PICTURES[0], PICTURES[0]) == math.inf


@pytest.mark.parametrize(("one", "other"), [("", "the film"), ("the film", ""), ("  ", "")])
def test_an_empty_text_scores_nothing(one, other):
    assert bert_score(one, other) == 0.0 == chrf(one, other)


def test_a_file_that_is_no_picture_cannot_be_compared():
    with pytest.raises(ValueError, match="cannot be compared"):
        ssim(b"no picture", PICTURES[0])


@pytest.mark.parametrize("name", SCORES)
def test_without_weights_a_score_is_not_run(name, monkeypatch, tmp_path):
    monkeypatch.delenv(SCORES[name].variable)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(SpecError, match=rf"{name}: not run: needs .*{SCORES[name].variable}") as raised:
        find_score_weights(name)
    assert "\n" not in str(raised.value)


def test_a_score_names_its_weights_without_their_folder():
    named = {name_score_weights(name) for name in SCORES}
    assert len({one.partition("@")[2] for one in named}) == 3
    assert all(len(one.partition("@")[2]) == 12 and "/" not in one for one in named)
