"""Summaries and translations have the lengths that their checkpoint states; jobs of earlier versions keep theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lumos_queue.actions.experts.options import DIGEST, find_experts, open_experts, prepare_experts
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.needs import versions
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.util.weights import digest_of_weights
from tests import tiny_experts

TEXT = b"the film is dull ."
SUMMARY, TRANSLATION = "Text Summarization", "Machine Translation"
OPTIONS = {SUMMARY: "text-summarization", TRANSLATION: "machine-translation"}


def make(folder: Path, task_settings: object = None, **lengths: object) -> Path:
    """A T5 of random weights that never ends its output, with lengths in its configurations."""
    tiny_experts.make(SUMMARY, folder)
    changes_by_name = {"config.json": {"task_specific_params": task_settings}, "generation_config.json": lengths}
    for name, changes in changes_by_name.items():
        content = json.loads((folder / name).read_text()) | {"eos_token_id": None} | changes
        (folder / name).write_text(json.dumps(content))
    return folder


def count_tokens(expert: str, folder: Path, **options: str) -> int:
    """The number of new tokens of an output."""
    from lumos_queue.experts.backends.hf import texts

    model = {SUMMARY: texts.Summarize, TRANSLATION: texts.Translate}[expert](str(folder), **options)
    counts = []
    generate = model.model.generate

    def count(**arguments):
        output = generate(**arguments)
        counts.append(output.shape[1] - 1)  # the first token starts the decoder
        return output

    model.model.generate = count
    model.run(TEXT)
    return counts[0]


@pytest.mark.parametrize("expert", [SUMMARY, TRANSLATION])
@pytest.mark.parametrize(
    ("task_settings", "lengths", "count"),
    [
        (None, {"max_length": 12}, 11),
        (None, {"max_new_tokens": 9}, 9),
        (None, {"max_length": 250}, 249),
        (None, {}, 200),
        ({"other": {"max_length": 5}}, {}, 200),
        ("hello", {}, 200),
        ({"summarization": {"max_length": 21}, "translation_en_to_de": {"max_length": 21}}, {"max_length": 12}, 20),
        ({"summarization": ["max_length"], "translation_en_to_de": 3}, {"max_length": 12}, 11),
        ({"summarization": {"max_length": "x"}, "translation_en_to_de": {"max_length": -3}}, {}, 200),
    ],
)
def test_the_checkpoint_decides_the_length(expert, task_settings, lengths, count, tmp_path):
    assert count_tokens(expert, make(tmp_path, task_settings, **lengths)) == count


def test_each_task_has_its_own_lengths(tmp_path):
    settings = {"summarization": {"max_length": 8}, "translation_en_to_de": {"max_length": 15}}
    folder = make(tmp_path, settings)
    assert [count_tokens(expert, folder) for expert in (SUMMARY, TRANSLATION)] == [7, 14]


def test_a_huge_length_is_bounded(tmp_path):
    assert count_tokens(SUMMARY, make(tmp_path, max_length=10**9)) == 1023


def test_earlier_jobs_have_200_tokens(tmp_path):
    folder = make(tmp_path, max_length=12)
    facts = resolve(SUMMARY, f"hf:{folder}")
    assert facts.earlier is not None and facts.earlier.loading is not None
    assert count_tokens(SUMMARY, folder, lengths=facts.earlier.loading.options["lengths"]) == 200


# --- digests of jobs


@pytest.fixture
def tools(tmp_path):
    folder = make(tmp_path / "model", max_length=12)
    return {"experts": "own", **{option: f"hf:{folder}" for option in OPTIONS.values()}}


def test_a_half_done_job_of_an_earlier_version_continues_with_the_earlier_lengths(tools, tmp_path):
    """The digest of that version: the weights and the libraries alone."""
    parts = digest_of_weights(tmp_path / "model"), *versions("torch", "transformers")
    facts = find_experts(tools)
    earlier = {name: digest("hf", name, *parts) if name in OPTIONS else facts[name].digest for name in facts}
    stored = tools | {DIGEST: digest(*(part for name in sorted(earlier) for part in (name, earlier[name])))}
    opened = open_experts(stored)
    assert opened[SUMMARY].loading is not None and opened[SUMMARY].loading.options["lengths"] == "fixed"
    assert opened[SUMMARY].digest == earlier[SUMMARY] != facts[SUMMARY].digest


def test_a_new_job_has_the_new_lengths(tools):
    opened = open_experts(prepare_experts(tools))
    assert opened[SUMMARY].loading is not None and "lengths" not in opened[SUMMARY].loading.options


def test_other_experts_are_refused_as_before(tools):
    with pytest.raises(SpecError, match="not those that the job was submitted with"):
        open_experts(tools | {DIGEST: "0" * 64})
