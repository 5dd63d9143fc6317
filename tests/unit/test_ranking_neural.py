"""Neural rankers on tiny random models: real transformers models and tokenizers, weights that know nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.actions.ranking.base import join_title
from lumos_queue.actions.ranking.lexical import Lexical
from lumos_queue.actions.ranking.neural import BATCH, MAX_LENGTH, Neural
from lumos_queue.actions.ranking.registry import RANKERS, open_prepared, open_ranker, prepare_ranker
from lumos_queue.errors import InfrastructureError, SpecError
from tests.tiny_rankers import make_bert_dpr, make_deberta, make_roberta

QUERY = "Which river flows through the old town?"
TEXTS = [
    join_title("Aare", "The Aare flows through Bern and around its old town."),
    join_title("Oat", "Oats are eaten as porridge."),
    "A text without a title",
    "",
    join_title("Long", "water " * 900),
    *(join_title(f"Page {n}", "flows " * n) for n in range(1, 2 * BATCH)),
]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("rankers")
    make_bert_dpr(folder / "dpr")
    make_roberta(folder / "roberta")
    make_deberta(folder / "deberta")
    make_roberta(folder / "three", labels=3)
    return folder


def run(ranker, *queries: tuple[str, list[str]]) -> list[list[float]]:
    async def ask():
        try:
            return await asyncio.gather(*(ranker.scores(query, texts) for query, texts in queries))
        finally:
            await ranker.close()

    return asyncio.run(ask())


def direct_dpr(folder: Path, query: str, title: str, text: str) -> float:
    import torch
    from transformers import DPRReader, DPRReaderTokenizerFast

    read = DPRReaderTokenizerFast.from_pretrained(folder)
    model = DPRReader.from_pretrained(folder).eval()
    given = read(
        questions=[query], titles=[title], texts=[text], truncation=True, max_length=MAX_LENGTH, return_tensors="pt"
    )
    with torch.inference_mode():
        return float(model(**given).relevance_logits[0])


def direct_pair(folder: Path, first: str, second: str) -> float:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    read = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    given = read(first, second, truncation="longest_first", max_length=MAX_LENGTH, return_tensors="pt")
    with torch.inference_mode():
        return float(model(**given).logits[0, 0])


def test_dpr_scores_are_the_relevance_logits_of_question_title_and_text(models):
    [found] = run(open_ranker(f"dpr:{models / 'dpr'}"), (QUERY, TEXTS))
    expected = [
        direct_dpr(models / "dpr", QUERY, *(text.split("\n", 1) if "\n" in text else ("", text))) for text in TEXTS
    ]
    assert found == pytest.approx(expected, abs=2e-5)
    assert len(set(found)) > len(TEXTS) // 2  # the weights tell texts apart


@pytest.mark.parametrize("model", ["roberta", "deberta"])
def test_cross_encoder_scores_are_the_logits_of_the_pair(models, model):
    [found] = run(open_ranker(f"cross-encoder:{models / model}"), (QUERY, TEXTS))
    assert found == pytest.approx([direct_pair(models / model, QUERY, text) for text in TEXTS], abs=2e-5)
    assert len(set(found)) > len(TEXTS) // 2


def test_a_swapped_cross_encoder_puts_the_text_first(models):
    [found] = run(open_ranker(f"swapped-cross-encoder:{models / 'deberta'}"), (QUERY, TEXTS[:4]))
    [other] = run(open_ranker(f"cross-encoder:{models / 'deberta'}"), (QUERY, TEXTS[:4]))
    assert found == pytest.approx([direct_pair(models / "deberta", text, QUERY) for text in TEXTS[:4]], abs=2e-5)
    assert found != pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("spec", ["dpr:dpr", "cross-encoder:roberta", "swapped-cross-encoder:deberta"])
def test_batches_give_what_single_texts_give(models, spec):
    kind, _, name = spec.partition(":")
    together = Neural(kind, models / name)
    [all_at_once] = run(together, (QUERY, TEXTS))
    singles = run(Neural(kind, models / name), *((QUERY, [text]) for text in TEXTS))
    assert all_at_once == pytest.approx([score for [score] in singles], abs=2e-5)


def test_fault_29_the_model_is_loaded_once_for_all_queries_of_a_job(models, monkeypatch):
    loads = []
    load = Neural._load
    monkeypatch.setattr(Neural, "_load", lambda self: (loads.append(self.name), load(self)))
    run(Neural("cross-encoder", models / "roberta"), *((f"query {n}", TEXTS[:2]) for n in range(8)))
    assert len(loads) == 1


def test_a_query_longer_than_the_model_can_read_is_cut_and_not_refused(models):
    [dpr] = run(Neural("dpr", models / "dpr"), ("river " * 2000, TEXTS[:2]))
    [pair] = run(Neural("cross-encoder", models / "roberta"), ("river " * 2000, TEXTS[:2]))
    assert len(dpr) == len(pair) == 2


def test_no_texts_have_no_scores_and_load_no_model(models):
    ranker = Neural("dpr", models / "dpr")
    assert run(ranker, (QUERY, [])) == [[]]
    assert ranker._model is None


def test_closing_ends_the_thread_fails_what_waits_and_lets_go_of_the_model(models):
    async def close_while_it_works():
        ranker = Neural("cross-encoder", models / "roberta")
        await ranker.scores(QUERY, ["one"])
        waiting = [asyncio.ensure_future(ranker.scores(QUERY, TEXTS * 20)) for _ in range(3)]
        await asyncio.sleep(0.05)
        await ranker.close()
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert ranker._model is None
        with pytest.raises(InfrastructureError, match="is closed"):
            await ranker.scores(QUERY, ["one"])
        return ends, [thread for thread in ranker._thread._threads if thread.is_alive()]

    ends, threads = asyncio.run(close_while_it_works())
    assert [type(end) for end in ends] == [InfrastructureError] * 3
    assert threads == []


def test_the_event_loop_goes_on_while_a_model_ranks(models):
    async def turns_of_the_loop() -> int:
        ranker, turns = Neural("cross-encoder", models / "roberta"), 0
        await ranker.scores(QUERY, ["imports torch and loads"])
        task = asyncio.ensure_future(ranker.scores(QUERY, TEXTS * 3))
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        await ranker.close()
        return turns

    assert asyncio.run(turns_of_the_loop()) > 10


@pytest.mark.parametrize("kind", ["dpr", "cross-encoder", "swapped-cross-encoder"])
def test_a_folder_that_is_not_there_says_not_run_and_how_to_get_the_weights(tmp_path, kind):
    with pytest.raises(SpecError, match=r"^not run: needs the weights of") as error:
        open_ranker(f"{kind}:{tmp_path / 'none'}")
    message = str(error.value)
    assert RANKERS.load(kind).published in message and str(tmp_path / "none") in message and "hf download" in message
    assert "\n" not in message


def test_weights_that_can_run_code_are_refused(models, tmp_path):
    folder = copy(models / "roberta", tmp_path / "pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(SpecError, match=r"not run: .* no \*\.safetensors"):
        open_ranker(f"cross-encoder:{folder}")


def test_an_unknown_kind_lists_the_choices():
    with pytest.raises(SpecError, match=r"No ranker called 'bm42'.*cross-encoder:DIR.*lexical"):
        open_ranker("bm42")
    with pytest.raises(SpecError, match="No ranker called 'dpr:'"):
        open_ranker("dpr:")


def test_a_model_of_another_kind_is_refused_when_it_is_first_asked(models):
    with pytest.raises(SpecError, match="3 outputs, expected 1"):
        run(Neural("cross-encoder", models / "three"), (QUERY, ["text"]))
    with pytest.raises(SpecError, match=r"is not a cross-encoder: it has no weights for|cannot be loaded"):
        run(Neural("cross-encoder", models / "dpr"), (QUERY, ["text"]))


def test_a_broken_folder_is_an_error_of_one_line(models, tmp_path):
    folder = copy(models / "roberta", tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(SpecError, match="cannot be loaded as a cross-encoder") as error:
        run(Neural("cross-encoder", folder), (QUERY, ["text"]))
    assert "\n" not in str(error.value)


def test_damaged_weights_give_no_scores(models, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = copy(models / "roberta", tmp_path / "nan")
    found = load_file(folder / "model.safetensors")
    save_file({name: one * float("nan") for name, one in found.items()}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(SpecError, match="weights are damaged"):
        run(Neural("cross-encoder", folder), (QUERY, ["text"]))


def test_prepared_options_name_the_weights_and_others_are_refused_later(models, tmp_path, monkeypatch):
    folder = copy(models / "roberta", tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    prepared = prepare_ranker({"ranker": "cross-encoder:moved", "other": "1"})
    assert prepared["ranker"] == f"cross-encoder:{folder}" and prepared["other"] == "1"
    assert len(prepared["ranker_sha256"]) == 64
    assert open_prepared(prepared).name == prepared["ranker"]
    make_roberta(folder, seed=1)
    with pytest.raises(SpecError, match="as submitted"):
        open_prepared(prepared)


def test_without_a_word_the_ranker_is_lexical():
    assert isinstance(open_ranker(""), Lexical) and isinstance(open_prepared({}), Lexical)
    assert open_ranker("lexical").name == "lexical"
    assert prepare_ranker({"ranker": "lexical"}) == {"ranker": "lexical"}


def test_rankers_are_known_without_importing_torch():
    code = (
        "import sys, lumos_queue.actions.ranking.registry; print('torch' in sys.modules, 'transformers' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def copy(source: Path, target: Path) -> Path:
    target.mkdir()
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target
