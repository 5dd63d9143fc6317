"""The tokenizers of bases, with their end and pad tokens renamed."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.models.gguf_files import get_gguf
from lumos_queue.models.tokens import CHAT_TEMPLATE, prepare_tokenizer
from tests.tiny_gguf import make_tiny_gguf
from tests.tiny_llama import TEXT, make_tiny_llama
from tests.tiny_model import make_tiny_model

PHRASES = ("<|user|>\n", "<|assistant|>\n", "Should we stop planning?")


@pytest.fixture(scope="module")
def bases(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("bases")
    make_tiny_gguf(root / "tiny.gguf")
    get_gguf(root / "tiny.gguf", root / "smollm")
    make_tiny_llama(root / "llama")
    make_tiny_model(root / "own")
    return {name: root / name for name in ("smollm", "llama", "own")}


def texts(number: int) -> list[str]:
    """Random texts of words, numbers, blanks, other scripts and what looks like a token."""
    dice = random.Random(7)
    parts = [
        *TEXT.split("\n")[0].split(" "),
        " ",
        "  ",
        "\n",
        "12",
        "3.5",
        "é",
        "世界",
        "<pad",
        "</s",
        "<|user|>",
        "\t",
    ]
    return [
        "".join(dice.choice(parts) + dice.choice(["", " "]) for _ in range(dice.randrange(1, 12)))
        for _ in range(number)
    ]


def original(folder: Path):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize(("name", "end", "pad", "added"), [("smollm", 2, 0, 0), ("llama", 2, -1, 1), ("own", 2, 0, 0)])
def test_ids_of_end_and_pad(bases, name, end, pad, added):
    before = original(bases[name])
    found = prepare_tokenizer(bases[name])
    tokenizer = found.tokenizer
    assert (tokenizer.eos_token, tokenizer.pad_token) == ("</s>", "<pad>")
    assert tokenizer.eos_token_id == end == before.eos_token_id
    assert tokenizer.pad_token_id == (pad if pad >= 0 else len(before))
    assert found.added == tuple(range(len(before), len(before) + added))
    assert len(tokenizer) == len(before) + added
    assert tokenizer.padding_side == "right"
    assert tokenizer.chat_template == CHAT_TEMPLATE


@pytest.mark.parametrize("name", ["smollm", "llama", "own"])
def test_text_has_the_ids_that_it_has_in_the_base(bases, name):
    before, tokenizer = original(bases[name]), prepare_tokenizer(bases[name]).tokenizer
    for text in texts(1000):
        assert tokenizer(text)["input_ids"] == before(text)["input_ids"], text


def test_the_tokenizer_of_llama_reads_as_sentencepiece_does(bases):
    """Texts that begin with a blank aside, which transformers reads otherwise."""
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(bases["llama"] / "tokenizer.model"))
    tokenizer = prepare_tokenizer(bases["llama"]).tokenizer
    for text in texts(1000):
        if not text[:1].isspace():
            assert tokenizer(text)["input_ids"] == [1, *processor.encode(text)], text


@pytest.mark.parametrize("name", ["smollm", "llama", "own"])
def test_the_end_in_a_text_is_the_end_token(bases, name):
    tokenizer = prepare_tokenizer(bases[name], PHRASES).tokenizer
    ids = tokenizer("8 apples</s>\n<|user|>\nTom</s>", add_special_tokens=False)["input_ids"]
    assert ids.count(tokenizer.eos_token_id) == 2
    assert ids[-1] == tokenizer.eos_token_id
    assert tokenizer.convert_tokens_to_ids(PHRASES[0]) in ids
    assert tokenizer.decode(ids, skip_special_tokens=True).endswith("Tom")


@pytest.mark.parametrize("name", ["smollm", "llama", "own"])
def test_phrases_are_added_once_and_are_no_special_tokens(bases, name):
    plain = prepare_tokenizer(bases[name])
    found = prepare_tokenizer(bases[name], (*PHRASES, PHRASES[0]))
    first = len(plain.tokenizer)
    assert found.added == (*plain.added, *range(first, first + 3))
    ids = [found.tokenizer.convert_tokens_to_ids(phrase) for phrase in PHRASES]
    assert ids == list(found.added[-3:])
    text = "x Should we stop planning? y"
    assert found.tokenizer.decode(found.tokenizer(text)["input_ids"], skip_special_tokens=True) == text


@pytest.mark.parametrize("name", ["smollm", "llama", "own"])
def test_saved_and_read_again_it_is_the_same(bases, name, tmp_path):
    """Beside the model's own configuration, by which transformers chooses a class."""
    before = prepare_tokenizer(bases[name], PHRASES).tokenizer
    shutil.copy(bases[name] / "config.json", tmp_path)
    before.save_pretrained(tmp_path)
    after = original(tmp_path)
    assert after.special_tokens_map == before.special_tokens_map
    assert len(after) == len(before)
    for text in texts(1000):
        marked = f"{text}</s>\n<|user|>\n{text}</s>"
        assert after(marked)["input_ids"] == before(marked)["input_ids"]
        assert after.decode(after(marked)["input_ids"]) == before.decode(before(marked)["input_ids"])
    again = prepare_tokenizer(tmp_path, PHRASES)
    assert again.added == ()
    assert again.tokenizer.backend_tokenizer.to_str() == before.backend_tokenizer.to_str()


def with_tokenizer(source: Path, folder: Path, **changes) -> Path:
    """A copy of a base with other values in tokenizer_config.json; None: left out."""
    shutil.copytree(source, folder)
    path = folder / "tokenizer_config.json"
    value = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: one for name, one in value.items() if one is not None}))
    return folder


def test_without_an_end_token_it_is_refused(bases, tmp_path):
    folder = with_tokenizer(bases["smollm"], tmp_path / "x", eos_token=None)
    with pytest.raises(SpecError, match="has no end token"):
        prepare_tokenizer(folder)


def test_a_base_that_ends_in_another_token_while_it_has_one_of_that_name(bases, tmp_path):
    folder = with_tokenizer(bases["own"], tmp_path / "x", eos_token="<s>", bos_token=None)
    found = prepare_tokenizer(folder)
    assert found.tokenizer.eos_token_id == 1
    assert found.tokenizer.convert_ids_to_tokens(2) == "<|former /s|>"
    assert found.tokenizer("x</s>", add_special_tokens=False)["input_ids"][-1] == 1
    assert found.added == ()


def test_a_pad_token_that_is_the_end_token_is_not_taken(bases, tmp_path):
    folder = with_tokenizer(bases["own"], tmp_path / "x", pad_token="</s>")
    assert prepare_tokenizer(folder).tokenizer.pad_token_id == 0


def test_a_tokenizer_that_cannot_be_read(tmp_path):
    with pytest.raises(SpecError, match="has no tokenizer that can be read"):
        prepare_tokenizer(tmp_path)
