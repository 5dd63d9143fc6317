"""How rows of people's own files teach: marks make annotations, other rationales wait for a teacher."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.from_file.benchmark import FileBenchmark
from lumos_queue.benchmarks.from_file.definition import FieldNames, FileDefinition
from lumos_queue.errors import SpecError
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Level, Task
from lumos_queue.submission.own_source import check_own_source, own_split, require_marks

QUESTION = "Ann has 2 pens and buys 3 more. Each costs 4 dollars. What do all of them cost?"
MARKED = "Ann has 2+3=<<2+3=5>>5 pens.\nThey cost 5*4=<<5*4=20>>20 dollars.\n#### 20"


def benchmark_of(domain: str = "maths", scorer: str = "number", rationale: str = "why") -> FileBenchmark:
    fields = FieldNames("question", ("answer",), rationale=rationale)
    return FileBenchmark(FileDefinition("pens", fields, scorer, domain))


def task_of(rationale: str | None = MARKED, answer: str = "20") -> Task:
    gold = {"answer": answer} | ({} if rationale is None else {"rationale": rationale})
    return Task("file:pens", "", "1", QUESTION, {}, gold)


def test_marks_of_a_rationale_become_actions():
    gold = benchmark_of().gold(task_of())
    actions = [action.arguments for step in gold.steps for action in step.actions]
    assert (actions, gold.answer) == (["2 + 3", "R1 * 4"], "20")
    assert benchmark_of().reference(task_of()) is not None


def test_a_teacher_is_shown_the_rationale_without_marks_and_answer_line():
    assert benchmark_of().rationale(task_of()).split("\n") == [
        "Ann has 2+3=5 pens.",
        "They cost 5*4=20 dollars.",
    ]
    assert benchmark_of("complex_qa", "exact").rationale(task_of("a <<b>> c #### d")) == "a <<b>> c #### d"


@pytest.mark.parametrize("rationale", [None, "", "  "])
def test_a_row_without_a_rationale_has_no_annotation(rationale):
    for read in (benchmark_of().gold, benchmark_of().rationale):
        with pytest.raises(NotConvertible, match="no_rationale"):
            read(task_of(rationale))
    assert benchmark_of().reference(task_of(rationale)) is None


def test_a_task_without_gold_has_no_annotation():
    bare = Task("file:pens", "", "1", QUESTION)
    with pytest.raises(NotConvertible, match="no_rationale"):
        benchmark_of().gold(bare)


def test_marks_without_words_are_converted_too():
    assert benchmark_of().count_ambiguous(task_of("<<2+3=5>>\n<<5*4=20>>")) == 0


def test_prose_has_no_rule():
    with pytest.raises(NotConvertible, match="no_mark"):
        benchmark_of().gold(task_of("She has five pens, which cost 20 dollars."))
    with pytest.raises(NotConvertible, match="no_rule"):
        benchmark_of("complex_qa").gold(task_of())


def test_the_domain_decides_how_annotations_are_checked():
    checks = {
        name: (benchmark_of(name).check_level, benchmark_of(name).teacher_prompt)
        for name in ("maths", "complex_qa", "multimodal", "mylab.words")
    }
    assert checks == {
        "maths": (Level.EXECUTED, "maths"),
        "complex_qa": (Level.ORACLE_TOOL, "qa"),
        "multimodal": (Level.ORACLE_TOOL, "multimodal"),
        "mylab.words": (Level.FORMAT, ""),
    }


def test_without_a_scorer_a_conversion_compares_texts():
    plain = benchmark_of("complex_qa", "")
    assert plain.is_right(task_of(answer="New York"), "new  york.")
    assert not plain.is_right(task_of(answer="New York"), "York")


@pytest.mark.parametrize(
    ("source", "by_rule", "message"),
    [
        (benchmark_of(rationale=""), True, "--rationale FIELD"),
        (benchmark_of("complex_qa"), True, "--teacher URL"),
        (benchmark_of("mylab.words"), False, "--domain maths"),
        (benchmark_of(scorer="judge"), False, "--scorer"),
    ],
)
def test_what_cannot_be_converted_is_refused_with_the_option_to_change(source, by_rule, message):
    with pytest.raises(SpecError, match=message):
        check_own_source(source, by_rule)


def test_a_rule_needs_marks_in_some_row():
    require_marks(benchmark_of(), [task_of("none here"), task_of()])
    with pytest.raises(SpecError, match="--teacher URL"):
        require_marks(benchmark_of(), [task_of("none here")])


def test_a_file_called_test_is_mentioned_when_it_is_stored_as_rows_to_train_on(tmp_path):
    remarks: list[str] = []
    assert own_split(benchmark_of(), tmp_path / "my_test.csv", remarks.append) == "own"
    assert own_split(benchmark_of(), tmp_path / "mine.csv", remarks.append) == "own"
    [remark] = remarks
    assert "--split test" in remark
