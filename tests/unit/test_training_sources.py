"""What the starter agent learns from, and what it must never see."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from lumos_queue.benchmarks.masked_table import read_masked_task
from lumos_queue.benchmarks.mawps.benchmark import benchmark as mawps
from lumos_queue.builds.augment import replace_names, replace_numbers
from lumos_queue.builds.heldout import HeldOutTexts, asdiv_texts, mask, svamp_texts
from lumos_queue.endpoints.model_folder import check_folder
from lumos_queue.errors import SpecError
from lumos_queue.models.merge import merge_adapter
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.training.recipes.starter import Starter, starter
from lumos_queue.training.starter.data import StarterData, is_dev
from tests.tiny_llama import make_tiny_llama

ROW = {
    "Question": "Joan had number0 kites . She gave number1 of them to Tom . How many kites does Joan have now ?",
    "Numbers": "9.0 4.0",
    "Equation": "- number0 number1",
    "Answer": "5.0",
}


def test_masked_text_ignores_numbers_names_case_spacing_and_punctuation():
    text = "Tom's aunt didn't give Joan 1,250 kites, but 3.5 euros."
    assert mask(text) == "@auntdidntgive@#kitesbut#euros"
    for same in (
        "tom 's aunt did n't give joan number0 kites , but number1 euros .",
        "Megan's aunt didn't give Paul nine kites but two euros!",
    ):
        assert mask(same) == mask(text)
    assert mask("Tom's aunt did give Joan 1,250 kites, but 3.5 euros.") != mask(text)


def test_an_unknown_name_within_a_sentence_is_a_name_wherever_it_stands():
    assert mask("Zebulon had 3 pens. Then Zebulon lost one.") == mask("Wuzzle had 8 pens. Then Wuzzle lost one.")


def test_a_problem_with_other_numbers_and_names_is_still_held_out():
    held = HeldOutTexts(["Tom has 3 kites. He buys 4 more. How many has he now?"])
    assert "Daniel has 77 kites . He buys number1 more . How many has he now ?" in held
    assert "Tom has 3 kites. He loses 2. How many has he now?" not in held


def test_other_numbers_keep_the_equation_true_whole_and_positive():
    random = Random(3)
    for _ in range(200):
        varied = replace_numbers(ROW, random)
        first, second = map(Fraction, varied["Numbers"].split())
        assert first - second == Fraction(varied["Answer"]) > 0
        assert first.denominator == second.denominator == 1
        assert varied["Numbers"] != "9 4"


def test_a_varied_row_has_a_gold_solution_that_gives_its_answer():
    varied = replace_numbers(ROW, Random(5))
    task = read_masked_task("mawps", 1, varied)
    annotation = mawps.gold(task)
    assert annotation.steps[-1].results[-1] == annotation.answer == task.gold["answer"]


@pytest.mark.parametrize(
    "equation", ["", "- number0", "^ number0 number1", "- number0 number7", "number0", "/ number0 0"]
)
def test_a_row_whose_equation_cannot_be_computed_is_not_varied(equation):
    assert replace_numbers({**ROW, "Equation": equation}, Random(1)) is None


def test_names_are_swapped_everywhere_and_stay_apart():
    random = Random(2)
    for _ in range(50):
        text = replace_names("Joan met Tom. Joan's kite flew over Tom and Paris.", random)
        first, second = text.split(" met ")[0], text.split(" met ")[1].split(".")[0]
        assert text == f"{first} met {second}. {first}'s kite flew over {second} and Paris."
        assert len({first, second, "Joan", "Tom"}) == 4


BOXES = {
    "Question": "Ann packs number0 pens in number1 boxes . How many pens does each box hold ?",
    "Numbers": "12.0 3.0",
    "Equation": "/ number0 number1",
    "Answer": "4.0",
}
PROBLEM = """<Corpus><ProblemSet><Problem><Body>Ada had 6 kites. She gave 5 of them to Bob.</Body>
<Question>How many kites does Ada have now?</Question></Problem></ProblemSet></Corpus>"""
LONG = "It rains. " * 60


@pytest.fixture
def data(tmp_path):
    """A data folder in the published formats, with records made up here. ASDiv's problem is the first row of MAWPS."""
    write_table(tmp_path / "mawps" / "cv_mawps" / "fold0" / "train.csv", [ROW, BOXES])
    write_table(tmp_path / "svamp" / "any" / "dev.csv", [ROW | {"Question": "nothing like it"}])
    (tmp_path / "asdiv").mkdir()
    (tmp_path / "asdiv" / "ASDiv.xml").write_text(PROBLEM)
    (tmp_path / "gsm8k").mkdir()
    with (tmp_path / "gsm8k" / "train.jsonl").open("w") as file:
        for more in ("", LONG):
            question = f"Bob puts 12 pens into 3 boxes. {more}How many pens are in each?"
            solution = "Each box has 12/3 = <<12/3=4>>4 pens.\n#### 4"
            file.write(json.dumps({"question": question, "answer": solution}) + "\n")
    return tmp_path


def write_table(path, rows):
    path.parent.mkdir(parents=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_what_equals_a_held_out_problem_is_left_out_and_counted(data):
    sources = StarterData(data, generated=5, variants=2)
    questions = [task.question for task, _ in sources.problems()]
    assert sources.counts["mawps: equals a problem of asdiv"] == 1
    assert sources.counts["wordmath: used"] == 5
    assert sources.counts["gsm8k: used"] == 1
    assert sources.counts["gsm8k: question too long"] == 1
    assert not any("kites does Joan" in question for question in questions)
    assert len(questions) == sum(count for what, count in sources.counts.items() if what.endswith(": used"))


def test_the_same_seed_gives_the_same_problems(data):
    one, other = ([task for task, _ in StarterData(data, generated=4).problems()] for _ in range(2))
    assert one == other
    assert one != [task for task, _ in StarterData(data, generated=4, seed=1).problems()]


def test_a_missing_data_folder_is_named(tmp_path):
    with pytest.raises(SpecError, match="mawps"):
        list(StarterData(tmp_path, generated=1).problems())


@pytest.mark.long
def test_no_training_problem_is_one_of_asdiv_or_svamp(shared_data):
    held = {
        *HeldOutTexts(asdiv_texts(shared_data / "asdiv")).masked,
        *HeldOutTexts(svamp_texts(shared_data / "svamp")).masked,
    }
    sources = StarterData(shared_data, generated=500, variants=2)
    used = {mask(task.question) for task, _ in sources.problems()}
    assert len(held) > 2000
    assert len(used) > 6000
    assert not used & held
    assert sources.counts["mawps: equals a problem of asdiv"] > 300


def test_rows_kept_for_development_are_about_one_in_twelve(shared_data):
    records = list(StarterData(shared_data).mawps_records())
    assert 60 < sum(is_dev(record["Question"]) for record in records) < 170


@pytest.mark.long
def test_no_training_problem_equals_one_that_is_kept_for_development(shared_data):
    sources = StarterData(shared_data, generated=10, variants=1)
    development = {mask(task.question) for task, _ in sources.dev_problems()}
    assert len(development) > 60
    assert not development & {mask(task.question) for task, _ in sources.problems()}


def small(data, folder, **values) -> Starter:
    return starter(data, folder, None, **{"steps": 4, "one_pass_steps": 2, "window": 4, "generated": 40, **values})


@pytest.mark.long
def test_the_one_pass_fit_starts_from_the_weights_of_the_iterative_one(data, tmp_path):
    from safetensors.torch import load_file

    recipe = small(data, tmp_path / "work")
    assert [window.get("fit") for window in recipe.windows()] == [None, "iterative", "one-pass", None]
    done = [run_item(recipe, window) for window in recipe.windows()]
    assert {step.fit for step in done[1].steps} == {"iterative"} and len(done[1].steps) == 4
    exported = {}
    for name, folder in done[-1].output.items():
        check_folder(Path(folder))
        exported[name] = {key: value.float() for key, value in load_file(Path(folder) / "model.safetensors").items()}
    before, after = exported["iterative"], exported["one-pass"]
    changes = [(after[key] - before[key]).abs().max().item() for key in before]
    assert 0 < max(changes) < 0.1
    assert json.loads((tmp_path / "work" / "counts.json").read_text())["mawps: equals a problem of asdiv"] == 1


def test_an_adapter_of_a_base_learns_the_phrases_as_tokens(data, tmp_path):
    from transformers import AutoTokenizer

    from lumos_queue.training.starter.work import list_phrases

    make_tiny_llama(tmp_path / "base")
    recipe = starter(data, tmp_path / "work", tmp_path / "base", fits=("adapter",), adapter_steps=2, generated=40)
    done = [run_item(recipe, window) for window in recipe.windows()]
    folder = Path(done[-1].output["adapter"])
    tokenizer = AutoTokenizer.from_pretrained(folder)
    phrases = [phrase for phrase in list_phrases() if phrase[0] not in " \n"]
    assert phrases and {len(tokenizer.tokenize(phrase)) for phrase in phrases} == {1}
    check_folder(merge_adapter(tmp_path / "base", folder, tmp_path / "merged"))


def test_a_killed_starter_would_give_the_same_data(data, tmp_path):
    for name in ("one", "other"):
        run_item(small(data, tmp_path / name), {"do": "prepare"})
    for fit in ("iterative", "one-pass"):
        one, other = (
            (tmp_path / name / fit / "encoded" / "train.safetensors").read_bytes() for name in ("one", "other")
        )
        assert one == other
