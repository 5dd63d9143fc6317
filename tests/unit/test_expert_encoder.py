"""The parser that takes the nearest name by a sentence encoder: on tiny random weights, as files say."""

from __future__ import annotations

import math

import pytest

from lumos_queue.errors import InfrastructureError, SpecError
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.experts.duplicates import apply_policy
from lumos_queue.experts.encoder import ParserChoice, SentenceEncoder, open_parser, read_parser
from lumos_queue.experts.parsing import parse_plan

WORDS = sorted({word for name in PLANNABLE for word in name.lower().split()} | {"bake", "the", "cake", "##s"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A BERT of one layer and random weights, which knows the words of the names."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    from transformers.trainer_utils import set_seed

    set_seed(0)
    path = tmp_path_factory.mktemp("encoder")
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(path)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    BertModel(config).eval().save_pretrained(path)
    return path


def test_a_name_is_nearest_to_itself_and_the_threshold_decides(folder):
    encoder = SentenceEncoder(folder)
    for name in PLANNABLE:
        assert encoder.nearest(name, 0.99) == name
    assert encoder.nearest("bake the cake", 0.999) == "" != encoder.nearest("bake the cake", -1.0)
    assert encoder.nearest("", -1.0) == encoder.nearest("…", -1.0) == ""


def test_a_plan_is_read_with_it(folder):
    find = open_parser(read_parser("parser", f"encoder:{folder}@0.999"))
    read = parse_plan("Step 1: image denoising\nStep 2: bake the cake\nStep 3: Colorization", None, find)
    assert read.plan.names == ("Image Denoising", "Colorization") and read.unresolved == ("bake the cake",)


def test_the_vectors_are_means_over_the_tokens(folder):
    """As sentence-transformers take them, without what pads a batch."""
    import torch

    encoder = SentenceEncoder(folder)
    alone, beside = encoder._encode(["fill mask"])[0], encoder._encode(["fill mask", " ".join(["image"] * 20)])[0]
    assert torch.allclose(alone, beside, atol=1e-6) and abs(float(alone.norm()) - 1) < 1e-5


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("best", "must be names or encoder:FOLDER or model:URL"),
        ("encoder:", "must be names or encoder:FOLDER or model:URL"),
        ("encoder:/nowhere", "not run: needs config.json, tokenizer.json"),
        ("encoder:/nowhere@0.5", "not run: needs config.json"),
    ],
)
def test_what_is_missing_is_said_at_submission(value, message):
    with pytest.raises(SpecError, match=message):
        read_parser("parser", value)


def test_half_a_model_is_refused(folder, tmp_path):
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(SpecError, match=r"needs safetensors: .*pytorch_model.bin"):
        read_parser("parser", f"encoder:{tmp_path}")
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    choice = read_parser("parser", f"encoder:{tmp_path}")
    with pytest.raises(InfrastructureError, match="cannot be loaded"):
        open_parser(choice)


def test_names_need_no_weights():
    assert read_parser("parser", "names") == ParserChoice()


def test_without_a_threshold_nonsense_becomes_an_expert_and_each_name_counts_once(folder):
    """As in OpenAGI's code: the threshold -1 with the policy dedupe_first."""
    choice = read_parser("parser", f"encoder:{folder}@-1")
    assert choice == ParserChoice(folder, -1.0)
    read = parse_plan(
        "Step 1: bake the cake\nStep 2: zzz\nStep 3: bake the cake\nStep 4: Colorization", None, open_parser(choice)
    )
    assert read.unresolved == () and len(read.plan.names) == 4 and read.plan.names[0] == read.plan.names[2]
    plan, problem = apply_policy(read.plan, "dedupe_first")
    assert problem == "" and len(set(plan.names)) == len(plan.names) < 4


def test_the_threshold_minus_1_holds_where_rounding_gives_less(folder, monkeypatch):
    import torch

    encoder = SentenceEncoder(folder)
    monkeypatch.setattr(encoder, "_encode", lambda texts: torch.ones(1, 2))
    for cosine, name in ((-1.0000001, PLANNABLE[0]), (math.nan, "")):
        encoder._names = torch.full((len(PLANNABLE), 2), cosine / 2)
        assert encoder.nearest("x", -1.0) == name
