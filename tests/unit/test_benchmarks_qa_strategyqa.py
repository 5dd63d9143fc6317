"""StrategyQA: two files, two protocols, and what counts as yes and no."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.formulations.cot import cot
from lumos_queue.formulations.direct import direct
from lumos_queue.records import Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.yes_no import contains_yes, read_yes_no
from tests.benchmark_files import said_by, scores, write_json

STRATEGYQA = open_benchmark("strategyqa")
FOUND, OPERATION, NOTHING = [["Ann-3"]], ["operation"], ["no_evidence"]


def native(qid="1a", question="Could Ann have met Bob?", answer=False, evidence=((FOUND, OPERATION),)):
    return {
        "qid": qid,
        "term": "Ann Berg",
        "question": question,
        "answer": answer,
        "evidence": evidence,
        "facts": ["Ann died in 1800.", "Bob was born in 1810."],
        "decomposition": ["When did Ann die?", "Is that after 1810?"],
    }


def example(question="Could Ann have met Bob?", yes=0, **changes):
    target = f"{'Yes' if yes else 'No'}. Ann died in 1800. Bob was born in 1810."
    return {"input": question, "target_scores": {"Yes": yes, "No": 1 - yes}, "target": target, **changes}


def strategy(answer="Yes"):
    return Task("strategyqa", "", "1", "Is it?", gold={"answer": answer})


def test_both_files_of_strategyqa_are_read(tmp_path):
    (one,) = STRATEGYQA.read(write_json(tmp_path, [native()]), "train")
    (two,) = STRATEGYQA.read(write_json(tmp_path, {"name": "strategyqa", "examples": [example()]}), "paper")
    assert isinstance(one, Task) and isinstance(two, Task)
    assert (one.row, two.row) == ("1a", "1") and one.question == two.question
    assert one.gold["answer"] == two.gold["answer"] == "No"
    facts = ["Ann died in 1800.", "Bob was born in 1810."]
    assert one.inputs == {"paragraphs": [{"title": "Ann Berg", "text": fact} for fact in facts]}
    assert two.inputs == {"paragraphs": [{"title": "Facts", "text": " ".join(facts)}]}
    assert "answer" not in json.dumps(one.inputs) and STRATEGYQA.answers == AnswerKind.YES_NO


def test_the_list_that_the_scripts_of_lumos_read_is_read(tmp_path):
    """Answers are truth values, or their names; the questions are those of BIG-bench's file."""
    rows = [
        {"question": "Could Ann  have met Bob?", "answer": False},
        {"question": "Is the sea wet?", "answer": "True"},
    ]
    first, second = STRATEGYQA.read(write_json(tmp_path, rows), "paper")
    assert isinstance(first, Task) and isinstance(second, Task)
    assert (first.row, first.question, first.gold["answer"]) == ("1", "Could Ann  have met Bob?", "No")
    assert (second.row, second.question, second.gold["answer"]) == ("2", "Is the sea wet?", "Yes")
    assert first.inputs == second.inputs == {"paragraphs": []}
    assert STRATEGYQA.notes[1] == "2 of them have no facts: for them, KnowledgeQuery only searches its corpus"
    trained = write_json(tmp_path, [native("kept", "Is the sea  wet?")], "train.json")
    (clean,) = STRATEGYQA.read(write_json(tmp_path, rows), "clean", trained=str(trained))
    assert isinstance(clean, Task) and clean.row == "1"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"examples": []}, "no list 'examples', or an empty one"),
        ({"data": [1]}, "no list 'examples'"),
        ([{"problem": "1 + 1"}], "its first row has the fields: problem"),
    ],
)
def test_a_file_that_is_neither_is_refused(tmp_path, content, words):
    with pytest.raises(SpecError, match=words):
        list(STRATEGYQA.read(write_json(tmp_path, content), "paper"))


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (7, "row"),
        ({"input": "Is it?"}, "target_scores"),
        (example(input="  "), "input"),
        (example(target_scores={"Yes": 1, "No": 1}), "target_scores"),
        (example(target=3), "target"),
        (example(target_scores={"Yes": 1}), "target_scores.No"),
        (example(target_scores={"Yes": True, "No": 0}), "target_scores.Yes"),
    ],
)
def test_a_bad_example_is_reported_and_the_others_are_read(tmp_path, row, field):
    good = example("Is the sea wet?", yes=1)
    bad, task = STRATEGYQA.read(write_json(tmp_path, {"examples": [row, good]}), "paper")
    assert isinstance(bad, BadRow) and (bad.row, bad.field) == (1, field)
    assert isinstance(task, Task) and task.gold["answer"] == "Yes"


def test_fault_21_the_clean_split_leaves_out_what_lumos_was_trained_on(tmp_path):
    """Kept by the conversion, and so trained on: some annotator has evidence for every step."""
    trained = write_json(
        tmp_path,
        [
            native("kept", "Is ONE  so?"),
            native("second", "Is two so?", evidence=[[NOTHING, OPERATION], [FOUND, OPERATION]]),
            native("partly", "Is three so?", evidence=[[FOUND, NOTHING], [[["Bob-1"], "no_evidence"], OPERATION]]),
            native("none", "Is four so?", evidence=[]),
        ],
        "train.json",
    )
    names = ["one", "two", "three", "four", "five"]
    data = write_json(tmp_path, {"examples": [example(f"Is {name} so?") for name in names]})
    clean = list(STRATEGYQA.read(data, "clean", trained=str(trained)))
    assert [task.question for task in clean if isinstance(task, Task)] == ["Is three so?", "Is four so?", "Is five so?"]
    assert [task.row for task in clean if isinstance(task, Task)] == ["3", "4", "5"]  # rows keep their numbers
    assert (
        "2 of them were left out and 3 kept" in STRATEGYQA.notes[1] and "2 different questions" in STRATEGYQA.notes[1]
    )
    assert len(list(STRATEGYQA.read(data, "paper"))) == 5
    assert "the file has 5 rows" in STRATEGYQA.notes[0] and "--split clean" in STRATEGYQA.notes[1]
    own = list(STRATEGYQA.read(trained, "clean", trained=str(trained)))
    assert [task.row for task in own if isinstance(task, Task)] == ["partly", "none"]


def test_fault_21_what_was_trained_on_must_be_said_and_be_readable(tmp_path):
    data = write_json(tmp_path, [native()])
    with pytest.raises(SpecError, match="'clean' and --option trained=PATH need each other"):
        list(STRATEGYQA.read(data, "clean"))
    with pytest.raises(SpecError, match="need each other"):
        list(STRATEGYQA.read(data, "paper", trained=str(data)))
    broken = write_json(tmp_path, [native(), native("2b", question="")], "broken.json")
    with pytest.raises(SpecError, match=r"trained='.*broken\.json': row 2, field 'question'"):
        list(STRATEGYQA.read(data, "clean", trained=str(broken)))


def test_fault_21_on_the_original_files(shared_data):
    train, task_file = (shared_data / "strategyqa" / name for name in ("train.json", "bigbench_task.json"))
    counts = {
        (path.name, split): len(list(STRATEGYQA.read(path, split, **options)))
        for path in (train, task_file)
        for split, options in (("paper", {}), ("clean", {"trained": str(train)}))
    }
    assert counts == {
        ("train.json", "paper"): 1861,
        ("train.json", "clean"): 256,
        ("bigbench_task.json", "paper"): 300,
        ("bigbench_task.json", "clean"): 42,
    }
    assert "258 of them were left out and 42 kept" in STRATEGYQA.notes[1]


YES = [
    "Yes",
    "yes.",
    " YES ",
    "True",
    "Yes, because Ann met Bob.",
    "Yes: they met.",
    "Yes; they met",
    "Yes!",
    "Yes…",
    "Yes - they met",
    "Yes\nThey met.",
    "Yes (they met)",
    "**Yes**",
    "**Yes.** They met.",
    "__yes__",
    "'Yes'",
    "“Yes,”",
    "Answer: yes",
    "**Answer:** Yes",
    "The answer is yes.",
    "So the answer is yes",
    "answer is: **Yes**.",
    "The answer to the question is yes.",
    "Yes, no doubt",
    "Yes, it is not a no.",
    "Yes. True.",
    "The answer is no at first, but then the answer is yes.",
    "Based on these evidences and decomposed questions, the answer is True.",
]
NO = [
    "No",
    "no.",
    "False",
    "No, he could not.",
    "No: he could not.",
    "No, it is not true.",
    "No. 1800 is before 1810.",
    "Answer: no",
    "Answer: No, he could not.",
    "Final answer: no",
    "The answer is no.",
    "Question: Is it? Say yes; Answer: No",
    "No one said yes, so the answer is no.",
    "Ann was not alive, so the answer is no.",
    "Based on these evidences and decomposed questions, the answer is False.",
]
NEITHER = [
    "not yes",
    "I cannot say yes",
    "Neither yes",
    "Neither yes nor no",
    "yes and no",
    "yes no",
    "yes or no",
    "yes/no",
    "Yes, no",
    "Yes, and no",
    "Yes. No.",
    "yes\nno",
    "No: yes",
    "No, he did not; the answer is yes",
    "It is not true, yes",
    "The answer is not no",
    "The answer is yes and no.",
    "The answer is yes. The answer is no.",
    "I do not think that the answer is yes.",
    "I don't know if the answer is yes.",
    "Is the answer yes?",
    "No one knows",
    "No idea",
    "No more than 5 people",
    "Yes men met",
    "True story",
    "He said yes to it",
    "I think yes.",
    "Is it true? No one could say yes",
    "correct",
    "eyes",
    "yesterday",
    "Yesterday.",
    "Nobody",
    "None",
    "nope",
    "Not the answer is yes",
    "Not at all",
    "untrue",
    "No answer",
    "No answer.",
    "Answer: No answer",
    "The answer is no answer",
    "",
    "...",
    ":",
    "1800",
]


@pytest.mark.parametrize(("answers", "said"), [(YES, True), (NO, False), (NEITHER, None)])
def test_fault_16_yes_and_no_are_whole_words(answers, said):
    assert {answer: read_yes_no(answer) for answer in answers} == dict.fromkeys(answers, said)


def test_fault_16_what_says_neither_is_wrong_and_counted_apart():
    yes, no = strategy("Yes"), strategy("No")
    assert scores(STRATEGYQA, yes, "Yes.") == {"accuracy": 1, "original": 1, "unparsed": 0}
    assert scores(STRATEGYQA, no, "yesterday") == {"accuracy": 0, "original": 0, "unparsed": 1}
    assert scores(STRATEGYQA, yes, "eyes") == {"accuracy": 0, "original": 1, "unparsed": 1}  # as the original judged
    assert scores(STRATEGYQA, no, "maybe") == {"accuracy": 0, "original": 1, "unparsed": 1}
    assert scores(STRATEGYQA, no, None, "action_error") == {"accuracy": 0, "original": 1, "unparsed": 0}
    assert contains_yes("eyes") and not contains_yes(None)


def test_fault_14_the_answer_of_a_chain_of_thought_is_found():
    """The original looked for `Answer is `; its own training data end in `the answer is True.`"""
    frame = "Ann died in 1800. Based on these evidences and decomposed questions, the answer is {}."
    for said, gold, other in [("True", "Yes", "No"), ("False", "No", "Yes")]:
        answer = said_by(cot, strategy(gold), frame.format(said))
        assert scores(STRATEGYQA, strategy(gold), answer)["accuracy"] == 1
        assert scores(STRATEGYQA, strategy(other), answer)["accuracy"] == 0


def test_fault_15_a_direct_answer_is_judged_whole():
    """The original cut `[10:-1]` out of it, as if `Answer is ` stood in front."""
    for said, gold in [("True", "Yes"), ("False", "No"), ("Yes", "Yes"), ("No.", "No")]:
        assert scores(STRATEGYQA, strategy(gold), said_by(direct, strategy(gold), said))["accuracy"] == 1


def test_the_baselines_of_strategyqa():
    found = STRATEGYQA.baselines([strategy("Yes"), strategy("No"), strategy("No")])
    assert found == {"always yes": [True, False, False], "always no": [False, True, True]}
