"""Files in the released layout: read with their quirks, joined by task and subgoals, stored whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.journal.step_records import load_steps
from db.models import Attempt, EpisodeRow, JobRow, TaskRow
from lumos_queue.builds.annotations import annotation_of
from lumos_queue.compat.file_import import JoinedAnnotation, read_joined_annotations, store_released
from lumos_queue.compat.lines import JsonLine
from lumos_queue.compat.raw_annotations import RawAnnotation
from lumos_queue.compat.reading import read_row
from lumos_queue.compat.row_join import open_join
from lumos_queue.compat.training_files import export_rows
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.formulations.defaults import RELEASED
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.settings import Settings

PLANS = {
    "maths": (
        "Subgoal 1: Multiply.\nAction 1-1: R1 = Calculator(12 * 3) = 36 \n\n"
        "Subgoal 2: Subtract.\nAction 2-1: R2 = Calculator(R1 - 5) = 31 \nAction 2-2: Output = R2 = 31 "
    ),
    "complex_qa": (
        "Subgoal 1: How tall is A?\nAction 1-1: R1 = KnowledgeQuery(A) = WikipediaPage(A). \n"
        "Action 1-2: R2 = QA([R1], Question: How tall?; in metres?) = 330 metres. \n\n"
        "Subgoal 2: How tall is B?\nAction 2-1: R3 = QA([R1], Question: B?) = 96 metres. \n\n"
        "Subgoal 3: Which is taller?\nAction 3-1: R4 = QA([R2, R3], Question: taller?) = A. "
    ),
    "web_agent": (
        "Subgoal 1: Click on the City box\nAction 1-1: R1 = CLICK(Env, QUERY: City). \n\n"
        "Subgoal 2: Type Rome in it\nAction 2-1: R2 = TYPE(R1, QUERY: City, TEXT: Rome). "
    ),
}
RESULTS = {"maths": ["36", "31"], "complex_qa": ["330 metres", "96 metres", "A"], "web_agent": ["", ""]}


def write(path: Path, lines) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def made(folder: Path, domain: str, raws: list[RawAnnotation], kind="iterative") -> tuple[Path, Path]:
    """The planner's and the grounder's file of the annotations."""
    return (
        write(folder / "plan.jsonl", export_rows(raws, domain, "plan", kind)),
        write(folder / "ground.jsonl", export_rows(raws, domain, "ground", kind)),
    )


def read(plan: Path, ground: Path) -> list[JoinedAnnotation]:
    with open_join(plan, ground) as joining:
        assert joining.summary.bad == []
        return list(read_joined_annotations(joining, "made-up"))


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(home=tmp_path / "home")


@pytest.fixture
def database(settings):
    opened = open_database(settings.database)
    upgrade(opened)
    yield opened
    opened.close()


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", PLANS)
def test_both_files_together_give_the_annotation_back(domain, tmp_path):
    [one] = read(*made(tmp_path, domain, [RawAnnotation("What is it?", "", PLANS[domain])]))
    assert [step.results[-1] for step in one.annotation.steps] == RESULTS[domain]
    assert (one.task.question, one.task.row, one.task.inputs["domain"]) == ("What is it?", f"{domain}_0", domain)
    assert one.level == "format"
    last = one.annotation.steps[-1].actions[-1]
    assert last.variables == {"maths": ("R2",), "complex_qa": ("R4",), "web_agent": ("R2",)}[domain]


@pytest.mark.parametrize("domain", PLANS)
def test_an_annotation_read_from_files_makes_their_conversations_again(domain, tmp_path):
    plan, ground = made(tmp_path, domain, [RawAnnotation("What is it?", "", PLANS[domain])])
    [one] = read(plan, ground)
    agent = Agent(roles={}, domain=domain)
    for path, again in zip(
        (plan, ground), gold_conversations(one.task, one.annotation, FORMULATIONS.load("iterative"), agent), strict=True
    ):
        messages = json.loads(path.read_text())["messages"]
        assert [turn.content.strip() for turn in again.turns] == [message["content"].strip() for message in messages]


@pytest.mark.parametrize("domain", PLANS)
def test_onetime_files_give_one_pass_annotations(domain, tmp_path):
    plan, ground = made(tmp_path, domain, [RawAnnotation("What is it?", "", PLANS[domain])], "onetime")
    [one] = read(plan, ground)
    agent = Agent(roles={}, domain=domain)
    conversations = gold_conversations(one.task, one.annotation, FORMULATIONS.load("one-pass"), agent)
    for path, again in zip((plan, ground), conversations, strict=True):
        messages = json.loads(path.read_text())["messages"]
        assert [turn.content.strip() for turn in again.turns] == [message["content"].strip() for message in messages]


def test_rows_are_joined_by_task_and_subgoals_and_not_by_id(tmp_path):
    def raw(number: int) -> RawAnnotation:
        return RawAnnotation(
            f"Task {number}?", "", f"Subgoal 1: Add {number}.\nAction 1-1: R1 = Define({number}) = {number} "
        )

    plan = write(tmp_path / "p", export_rows([raw(1), raw(2), raw(3)], "maths", "plan", "iterative"))
    ground = write(tmp_path / "g", export_rows([raw(3), raw(2), raw(4)], "maths", "ground", "iterative"))
    found = read(plan, ground)
    assert [(one.task.row, one.task.inputs["ground_id"]) for one in found] == [
        ("maths_1", "maths_1"),
        ("maths_2", "maths_0"),
    ]
    assert [one.annotation.steps[0].actions[0].arguments for one in found] == ["2", "3"]


def test_equal_tasks_pair_by_their_subgoals_and_then_in_order(tmp_path):
    def raw(subgoal: str, value: int) -> RawAnnotation:
        return RawAnnotation("Same?", "", f"Subgoal 1: {subgoal}\nAction 1-1: R1 = Define({value}) = {value} ")

    plan = write(
        tmp_path / "p", export_rows([raw("a", 1), raw("b", 2), raw("b", 3), raw("c", 4)], "maths", "plan", "iterative")
    )
    ground = write(
        tmp_path / "g",
        export_rows([raw("b", 2), raw("a", 1), raw("b", 3), raw("d", 5)], "maths", "ground", "iterative"),
    )
    with open_join(plan, ground) as joining:
        values = [one.annotation.steps[0] for one in read_joined_annotations(joining, "made-up")]
        assert joining.summary.pairs == 3
        assert joining.summary.other_plan == {"plan": 1, "ground": 1}
    assert [(step.actions[0].arguments, step.results) for step in values] == [
        ("1", ("1",)),
        ("2", ("2",)),
        ("3", ("3",)),
    ]


def test_quirks_are_tolerated_and_noted(tmp_path):
    quirky = (
        "Subgoal 1: a\nAction 1-1: R1 = Calculator(2 + 3)=5 \n\n"
        "Subgoal 2: b\nAction 2-1: R2 = 5\nSubgoal 3: merged\nAction 3-1: Output = R2 = 5 "
    )
    [one] = read(*made(tmp_path, "maths", [RawAnnotation("q", "", quirky)]))
    assert {(v.module, v.name, v.rejects) for v in one.verdicts} == {
        ("grounder", "unreadable", True),
        ("grounder", "alias of itself", False),
        ("planner", "empty result", True),
    }
    assert one.level == ""
    [one] = read(*made(tmp_path, "maths", [RawAnnotation("q", "", quirky.partition("\n\n")[0])]))
    assert ([v.module for v in one.verdicts], one.level) == (["planner"], "format")  # the grounder's row is accepted


def test_two_dots_and_closing_spaces_of_web_rows_do_no_harm(tmp_path):
    plan = PLANS["web_agent"].replace("City box\n", "City box. \n")
    [one] = read(*made(tmp_path, "web_agent", [RawAnnotation("q", "", plan)]))
    assert one.annotation.steps[0].subgoal.text == "Subgoal 1: Click on the City box."


# --- bad input --------------------------------------------------------------------------------------------------------


def good_row(module="plan") -> dict:
    [line] = export_rows([RawAnnotation("q", "", PLANS["maths"])], "maths", module, "iterative")
    return json.loads(line)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"dataset": None}, "dataset"),
        ({"dataset": "sums", "id": "sums_0"}, "dataset"),
        ({"id": 7}, "id"),
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}, "messages"),
        ({"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "b"}]}, "messages"),
        ({"messages": good_row()["messages"][:4]}, "messages"),
    ],
)
def test_a_bad_row_names_its_number_and_field(change, field):
    with pytest.raises(BadRow) as caught:
        read_row(JsonLine(7, 0, good_row() | change))
    assert (caught.value.row, caught.value.field) == (7, field)


def bad_lines() -> Iterator[tuple[bytes, int, str]]:
    good = json.dumps(good_row()).encode()
    other = json.dumps(good_row() | {"messages": good_row()["messages"][:1] + good_row()["messages"][3:]}).encode()
    yield good + b'\n{"half": ', 2, ""
    yield good + b"\n" + good.replace(b"Multiply", b"Multipli\xe9"), 2, ""
    yield good + b"\n[1]", 2, ""
    yield good + b"\n" + b"[" * 100_000, 2, ""
    yield good + b"\n\n" + other, 3, "id"
    yield json.dumps(good_row("ground")).encode(), 1, "messages"


@pytest.mark.parametrize(("data", "row", "field"), list(bad_lines()))
def test_bad_lines_are_found_before_anything_is_stored(data, row, field, tmp_path):
    (tmp_path / "p").write_bytes(data)
    ground = write(tmp_path / "g", [json.dumps(good_row("ground"))])
    with open_join(tmp_path / "p", ground) as joining:
        assert [(bad.row, bad.field) for _, bad in joining.summary.bad] == [(row, field)]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty: expected JSON lines in UTF-8"),
        (b"\n \n", "is empty"),
        (b"\xef\xbb\xbf", "is empty"),
        (json.dumps(good_row()).encode("utf-16"), "looks like UTF-16: expected JSON lines in UTF-8"),
        (json.dumps(good_row()).encode("utf-16-le"), "looks like UTF-16"),
        (json.dumps([good_row()]).encode(), "is one JSON array: expected JSON lines"),
        (json.dumps([good_row()] * 2, indent=1).encode(), "is one JSON array"),
    ],
)
def test_a_file_that_is_no_json_lines_is_one_clear_line(data, problem, tmp_path):
    (tmp_path / "p").write_bytes(data)
    ground = write(tmp_path / "g", [json.dumps(good_row("ground"))])
    with pytest.raises(SpecError, match=problem), open_join(tmp_path / "p", ground):
        pass


def test_a_line_that_holds_no_row_is_named_without_a_field(tmp_path):
    plan = write(tmp_path / "p", [json.dumps(good_row()), '{"half": '])
    ground = write(tmp_path / "g", [json.dumps(good_row("ground"))])
    with open_join(plan, ground) as joining:
        assert str(joining.summary.bad[0][1]).startswith("row 2: is not JSON")


def test_a_line_that_never_ends_is_not_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("lumos_queue.compat.lines.MAX_LINE_BYTES", 1 << 20)
    (tmp_path / "p").write_bytes(b'{"x": "' + b"a" * (3 << 20) + b'"}\n' + json.dumps(good_row()).encode())
    ground = write(tmp_path / "g", [json.dumps(good_row("ground"))])
    with open_join(tmp_path / "p", ground) as joining:
        assert [(bad.row, bad.problem) for _, bad in joining.summary.bad] == [(1, "is longer than 1.0 MB")]
        assert joining.summary.pairs == 1
        assert len(list(read_joined_annotations(joining, "made-up"))) == 1


def test_an_identical_row_counts_once(tmp_path):
    plan = write(tmp_path / "p", [json.dumps(good_row())] * 2)
    ground = write(tmp_path / "g", [json.dumps(good_row("ground"))])
    with open_join(plan, ground) as joining:
        assert (joining.summary.duplicates, joining.summary.bad, joining.summary.pairs) == (1, [], 1)


def test_missing_files_and_files_without_a_pair_are_named(tmp_path, database, settings):
    plan = write(tmp_path / "p", [json.dumps(good_row())])
    with pytest.raises(SpecError, match=r"none\.jsonl"), open_join(plan, tmp_path / "none.jsonl"):
        pass
    other = write(tmp_path / "g", [json.dumps(good_row("ground")).replace("Multiply", "Divide")])
    with open_join(plan, other) as joining, pytest.raises(SpecError, match="No row of the plan file"):
        store_released(database, settings, joining, "maths", "train", "CC BY 4.0", formulations=RELEASED)


# --- storing ----------------------------------------------------------------------------------------------------------


def test_stored_episodes_are_the_annotations_again(tmp_path, database, settings):
    raws = [RawAnnotation(f"Task {number}\x00?", "", PLANS["maths"]) for number in range(3)]
    with open_join(*made(tmp_path, "maths", raws)) as joining:
        job, new, verdicts = store_released(
            database, settings, joining, "maths", "train", "CC BY 4.0", formulations=RELEASED
        )
        expected = list(read_joined_annotations(joining, "maths"))
        assert store_released(database, settings, joining, "maths", "train", "CC BY 4.0", formulations=RELEASED)[
            :2
        ] == (job, False)
    assert new
    assert verdicts == {"alias of itself": 3}
    with database.engine.connect() as connection:
        stored = connection.execute(
            select(EpisodeRow.__table__, TaskRow.question, TaskRow.row).join(TaskRow, TaskRow.id == EpisodeRow.task)
        ).all()
        assert [(one.row, one.question) for one in stored] == [(one.task.row, one.task.question) for one in expected]
        assert {(one.origin, one.licence, one.level, one.ending) for one in stored} == {
            ("imported", "CC BY 4.0", "format", "answered")
        }
        steps = load_steps(connection, {one.id: 1 for one in stored})
        assert [annotation_of(steps[one.id], one.answer) for one in stored] == [one.annotation for one in expected]


def test_a_file_that_changes_while_it_is_imported_leaves_nothing(tmp_path, database, settings):
    raws = [RawAnnotation(f"Task {number}?", "", PLANS["maths"]) for number in range(600)]
    plan, ground = made(tmp_path, "maths", raws)
    with open_join(plan, ground) as joining:
        plan.write_bytes(plan.read_bytes()[: 2 * plan.stat().st_size // 3])
        with pytest.raises(SpecError):
            store_released(database, settings, joining, "maths", "train", "CC BY 4.0", formulations=RELEASED)
    with database.engine.connect() as connection:
        for table in (JobRow, EpisodeRow, TaskRow, Attempt):
            assert connection.execute(select(func.count()).select_from(table.__table__)).scalar_one() == 0
