"""The layer of BERTScore follows from the model: a variable, bert-score's published table, or the last layer."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lumos_queue.benchmarks.openagi.benchmark import benchmark
from lumos_queue.errors import SpecError
from lumos_queue.scoring.media.bert_layers import BERT_LAYERS
from lumos_queue.scoring.media.paper import BERT, SCORES, bert_score, has_score_weights, name_score_weights
from tests.tiny_experts import WORDS, save
from tests.tiny_scores import TEXTS

LAYERS = 4
PAIR = (TEXTS[0], TEXTS[1])


def make_encoder(folder: Path, layers: int = LAYERS, name: str = "") -> Path:
    """A BERT with random weights; `name` is the model's own name in its configuration."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        max_position_embeddings=64,
    )
    save(folder, BertModel(config))
    if name:
        set_name(folder, name)
    return folder


def set_name(folder: Path, name: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"_name_or_path": name}))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return make_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(autouse=True)
def no_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LUMOS_BERT_LAYER", raising=False)


@pytest.fixture
def by_layer(encoder, monkeypatch):
    """The score of PAIR by the embeddings of each layer."""
    monkeypatch.setenv("LUMOS_BERT_WEIGHTS", str(encoder))
    scores = []
    for layer in range(LAYERS + 1):
        monkeypatch.setenv("LUMOS_BERT_LAYER", str(layer))
        scores.append(bert_score(*PAIR))
    monkeypatch.delenv("LUMOS_BERT_LAYER")
    assert len(set(scores)) == LAYERS + 1
    return scores


def use(monkeypatch, folder: Path) -> None:
    monkeypatch.setenv("LUMOS_BERT_WEIGHTS", str(folder))


def test_without_a_name_it_is_the_last_layer(by_layer):
    assert bert_score(*PAIR) == by_layer[LAYERS]


def test_a_folder_name_does_not_decide(encoder, by_layer, tmp_path, monkeypatch):
    shutil.copytree(encoder, tmp_path / "deberta-xlarge-mnli")
    use(monkeypatch, tmp_path / "deberta-xlarge-mnli")
    assert bert_score(*PAIR) == by_layer[LAYERS]


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("google/bert_uncased_L-4_H-128_A-2", 3),
        ("sshleifer/tiny-mbart", 2),
        ("google-bert/bert-base-uncased", LAYERS),  # the table has layer 9, and this model has 4
        ("somebody/roberta-large", LAYERS),
        ("/models/google/bert_uncased_L-4_H-128_A-2", LAYERS),
        (7, LAYERS),
        ("", LAYERS),
    ],
)
def test_the_table_decides_by_the_name_in_the_configuration(name, layer, encoder, by_layer, tmp_path, monkeypatch):
    shutil.copytree(encoder, tmp_path / "weights")
    set_name(tmp_path / "weights", name)
    use(monkeypatch, tmp_path / "weights")
    assert bert_score(*PAIR) == by_layer[layer]
    assert ("layer 3@" in name_score_weights(BERT)) == (layer == 3)


def test_names_of_owners_that_the_hub_added_are_those_of_the_table(tmp_path, monkeypatch):
    use(monkeypatch, make_encoder(tmp_path / "weights", 12, "google-bert/bert-base-uncased"))
    assert name_score_weights(BERT).startswith("weights layer 9@")


def test_the_variable_comes_first(encoder, by_layer, tmp_path, monkeypatch):
    shutil.copytree(encoder, tmp_path / "weights")
    set_name(tmp_path / "weights", "google/bert_uncased_L-4_H-128_A-2")
    use(monkeypatch, tmp_path / "weights")
    monkeypatch.setenv("LUMOS_BERT_LAYER", "1")
    assert bert_score(*PAIR) == by_layer[1]
    assert name_score_weights(BERT).startswith("weights layer 1@")


@pytest.mark.parametrize("text", ["last", "-1", "1.5", "5", "99999999999", "²"])
def test_a_layer_that_there_is_not_is_refused_in_a_line(text, encoder, monkeypatch):
    use(monkeypatch, encoder)
    monkeypatch.setenv("LUMOS_BERT_LAYER", text)
    with pytest.raises(SpecError, match=r"LUMOS_BERT_LAYER=.*: expected a layer from 0 to 4") as refusal:
        name_score_weights(BERT)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300
    with pytest.raises(SpecError, match="LUMOS_BERT_LAYER"):  # at submission, before a task is read
        benchmark.read(None, "heldout")


def test_the_last_layer_has_the_name_of_earlier_versions(encoder, monkeypatch):
    use(monkeypatch, encoder)
    assert " layer " not in name_score_weights(BERT)
    monkeypatch.setenv("LUMOS_BERT_LAYER", str(LAYERS))
    assert " layer " not in name_score_weights(BERT)


def test_a_layer_is_part_of_the_version_because_scores_of_two_layers_differ(encoder, monkeypatch):
    use(monkeypatch, encoder)
    monkeypatch.setenv("LUMOS_BERT_LAYER", "2")
    second = name_score_weights(BERT)
    monkeypatch.setenv("LUMOS_BERT_LAYER", "3")
    assert name_score_weights(BERT) != second and second.partition(" layer 2@")[1]


# --- the right checkpoint in any folder


def fill_cache(cache: Path, name: str, folder: Path) -> None:
    """Put a model into the cache of Hugging Face, with the weights as a link to a blob."""
    repository = cache / f"models--{name.replace('/', '--')}"
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0" * 40)
    (repository / "blobs").mkdir()
    for file in folder.iterdir():
        shutil.copy(file, repository / "blobs" / file.name)
        (snapshot / file.name).symlink_to(repository / "blobs" / file.name)


@pytest.fixture(scope="module")
def paper_like(tmp_path_factory):
    """An encoder with as many layers as the paper's has."""
    return make_encoder(tmp_path_factory.mktemp("paper"), 48)


def test_the_checkpoint_is_recognised_in_any_folder(paper_like, tmp_path, monkeypatch):
    checkpoint = SCORES[BERT].checkpoint
    fill_cache(tmp_path / "cache", checkpoint, paper_like)
    monkeypatch.delenv("LUMOS_BERT_WEIGHTS", raising=False)
    by_name = name_score_weights(BERT), bert_score(*PAIR)
    copied = tmp_path / "somewhere"
    shutil.copytree(paper_like, copied)
    use(monkeypatch, copied)
    assert (name_score_weights(BERT), bert_score(*PAIR)) == by_name
    assert by_name[0].startswith(f"{checkpoint}@"), "layer 40 is that of the released code"
    monkeypatch.setenv("LUMOS_BERT_LAYER", "40")
    assert name_score_weights(BERT) == by_name[0]
    monkeypatch.setenv("LUMOS_BERT_LAYER", "48")
    assert name_score_weights(BERT).startswith(f"{checkpoint} layer 48@")


def test_other_weights_in_a_folder_of_the_checkpoints_name_are_not_it(paper_like, encoder, tmp_path, monkeypatch):
    checkpoint = SCORES[BERT].checkpoint
    fill_cache(tmp_path / "cache", checkpoint, paper_like)
    folder = tmp_path / checkpoint
    shutil.copytree(encoder, folder)
    use(monkeypatch, folder)
    assert name_score_weights(BERT).startswith("deberta-xlarge-mnli layer 4@")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_BERT_WEIGHTS", checkpoint)  # a relative path, which comes before the cache
    assert name_score_weights(BERT).startswith("deberta-xlarge-mnli layer 4@")


def test_the_table_is_that_of_bert_score():
    assert len(BERT_LAYERS) > 100 and BERT_LAYERS[SCORES[BERT].checkpoint] == 40
    utils = pytest.importorskip("bert_score.utils")
    assert dict(BERT_LAYERS) == utils.model2layers


# --- in reports


def test_reports_remark_on_a_last_layer():
    remarks = benchmark.remark_on_versions(
        {
            "bert_score": {
                "encoder@0123456789ab": 3,
                "microsoft/deberta-xlarge-mnli@0123456789ab": 2,
                "x layer 3@0123456789ab": 1,
                "deberta-xlarge-mnli@0123456789ab": 1,  # of an earlier version, which took layer 40
            },
            "chrf": {"1": 3},
        }
    )
    assert len(remarks) == 1
    assert "encoder@0123456789ab" in remarks[0] and "last layer" in remarks[0] and "LUMOS_BERT_LAYER" in remarks[0]


def test_weights_are_there_whatever_the_layer_is(encoder, monkeypatch):
    use(monkeypatch, encoder)
    assert has_score_weights(BERT)
