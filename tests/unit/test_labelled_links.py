"""The rules that choose links, compared with labels of GSM8K's test rows. Rules are not tuned on these rows."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest

from lumos_queue.benchmarks.gsm8k.benchmark import benchmark
from lumos_queue.notation import read_actions
from lumos_queue.records import AnnotatedSubgoal, Subgoal
from lumos_queue.scoring.numerals import numbers_in
from tests.labelled_links import Label, compare, count_notes, judge, list_steps, read_labelled_tasks, read_labels

_MARK = re.compile(r"<<[^<>]*>>|(?<=[0-9])x(?=[0-9])")  #: a calculator's mark, or the sign of `10x6`


@pytest.fixture(scope="module")
def tasks(shared_data):
    return read_labelled_tasks(shared_data / "gsm8k" / "test.jsonl")


def rules_of_version(version):
    """Return the benchmark with the rules of a version; before rules have versions, there is only one."""
    at_rules = getattr(benchmark, "at_rules", None)
    return at_rules(version) if at_rules else benchmark


def test_labels_are_consistent():
    labels = read_labels()
    rows = Counter(group for _, group in {(label.row, label.group) for label in labels})
    assert rows == {"literal": 48, "note": 27, "unused": 4}
    assert len({(label.row, label.step, label.value) for label in labels}) == len(labels)
    for label in labels:
        assert label.reason
        if label.group == "unused":
            assert not label.chosen and not label.verdict, label
            assert int(label.right[0][1:]) > label.step, label
        else:
            assert len(label.chosen) == len(label.right), label
            assert {*label.chosen, *label.right} <= {*label.equal, "question"}, label
            assert label.verdict == (sorted(label.chosen) == sorted(label.right)), label


def test_each_label_names_a_line_and_numbers_of_its_row(tasks):
    for label in read_labels():
        line = _MARK.sub(" ", tasks[label.row].gold["solution"].split("\n")[label.line])
        assert {Fraction(label.value), Fraction(label.result)} <= set(numbers_in(line, words=True)), label


def test_the_first_rules_choose_the_links_that_were_labelled(tasks):
    findings = compare(rules_of_version(1), tasks)
    assert [label for label, finding in findings if (finding == "right") != label.verdict] == []
    counts = Counter((label.group == "unused", finding) for label, finding in findings)
    assert counts == {(False, "right"): 120, (False, "wrong"): 15, (True, "wrong"): 6}


def test_the_note_names_each_false_link_of_the_first_rules_but_no_unused_result(tasks):
    source = rules_of_version(1)
    findings = compare(source, tasks)
    links = count_notes(source, tasks, findings, ("literal", "note"))
    assert (links.noted, links.false, links.both) == (75, 10, 10)
    unused = count_notes(source, tasks, findings, ("unused",))
    assert (unused.noted, unused.false, unused.both) == (0, 4, 0)


def test_the_newest_rules_choose_no_more_false_links_than_the_first(tasks):
    newest = compare(rules_of_version(getattr(benchmark, "newest_rules", 1)), tasks)
    first = compare(rules_of_version(1), tasks)
    assert len(newest) == len(first)
    assert sum(finding == "wrong" for _, finding in newest) <= sum(finding == "wrong" for _, finding in first)


def test_the_newest_rules_let_rows_with_false_links_and_unused_results_wait(tasks):
    newest = rules_of_version(2)
    findings = compare(newest, tasks)
    accepted = {row for row in {label.row for label, _ in findings} if not newest.review(tasks[row]).doubts}
    false_rows = {label.row for label, finding in findings if finding == "wrong" and label.row in accepted}
    groups = Counter(group for row, group in {(label.row, label.group) for label, _ in findings} if row in accepted)
    assert groups == {"literal": 35, "note": 19}
    assert len(false_rows) == 2


def make_program(*lines):
    """Return the steps of actions such as `R1 = 2 + 2 = 4`."""
    subgoals = []
    for number, line in enumerate(lines, start=1):
        name, formula, result = line.split(" = ")
        actions = read_actions(f"{name} = Calculator({formula})")
        subgoals.append(AnnotatedSubgoal(Subgoal(number, "Calculate."), actions, (result,)))
    return list_steps(subgoals)


def make_label(**fields):
    label = Label(1, 3, 2, "4", "16", "literal", ["R1"], ["R1", "question"], ["R1", "question"], True, "an example")
    return replace(label, **fields)


@pytest.mark.parametrize(
    ("formula", "result", "right", "finding"),
    [
        ("4 * R1", "16", ["R1", "question"], "right"),
        ("4 / R1", "1", ["R1", "question"], "wrong"),
        ("4 * 4", "16", ["R1", "question"], "wrong"),
        ("8 * 2", "16", ["R1", "question"], "changed"),
    ],
)
def test_a_label_is_compared_with_the_program_of_other_rules(formula, result, right, finding):
    label = make_label(result=result, right=right)
    assert judge(label, make_program("R1 = 2 + 2 = 4", "R2 = 7 - 2 = 5", f"R3 = {formula} = {result}")) == finding


def test_a_label_follows_its_step_to_another_number():
    program = make_program("R1 = 9 - 2 = 7", "R2 = 2 + 2 = 4", "R3 = R1 - 5 = 2", "R4 = R2 * 4 = 16")
    assert judge(make_label(), program) == "right"


def test_a_row_without_a_program_waits():
    assert judge(make_label(), ()) == "waiting"
