"""Conversions keep the rules with which they began, and `--recheck` compares them with the present ones."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.models import EpisodeRow, TaskRow, VerdictRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.errors import SpecError
from lumos_queue.jobs.convert import Convert
from lumos_queue.records import Task
from lumos_queue.submission.recheck import recheck_conversion
from lumos_queue.submission.store import Rows, submit
from tests.fake_endpoint import FakeEndpoint
from tests.kills.killed_child import KILLED, end_sessions, make_settings, resume_job, work_and_die
from tests.stored_rows import read_stored_rows, run_embedded, state

#: Question, solution and answer of invented rows, by name.
ROWS = {
    "plain": ("Ann has 8 pens and buys 3 pens. How many pens has she?", "Ann has 8+3=<<8+3=11>>11 pens.", "11"),
    "other link": (
        "A shop has 20 boxes. A quarter of the boxes are red and a fifth are blue. How many boxes are neither?",
        "The shop has 20/4=<<20/4=5>>5 reds.\nIt has 20/5=<<20/5=4>>4 blues.\nIt has 20-5-4=<<20-5-4=11>>11 others.",
        "11",
    ),
    "doubtful": ("Tom, Ann and Kim share 30 nuts. How many has Tom?", "Tom has 30/3=<<30/3=10>>10 nuts.", "10"),
    "rejected": ("Bo has 7 mugs. How many has he?", "He has 7 mugs.", "7"),
}


@pytest.fixture
def rows() -> Rows:
    tasks = (
        Task("gsm8k", "invented", name, question, gold={"answer": answer, "solution": solution})
        for name, (question, solution, answer) in ROWS.items()
    )
    return Rows(GSM8K(), "train", "invented", tuple(tasks), ())


def load_judgements(database, job):
    """Return, by row, the level and the verdicts of its episode."""
    with database.engine.connect() as connection:
        episodes = select(EpisodeRow.id, EpisodeRow.level, TaskRow.row).join(TaskRow, TaskRow.id == EpisodeRow.task)
        judgements = {}
        for episode, level, row in connection.execute(episodes.where(EpisodeRow.job == job)).all():
            verdicts = select(VerdictRow.name, VerdictRow.module, VerdictRow.detail, VerdictRow.rejects)
            judgements[row] = (
                level,
                sorted(map(tuple, connection.execute(verdicts.where(VerdictRow.episode == episode)))),
            )
        return judgements


def make_conversion(version: int, **options) -> Convert:
    return Convert("gsm8k", "invented", "train", rule_version=version, **options)


def test_a_doubtful_row_waits_with_the_reason_and_its_draft(rows, tmp_path):
    database, job = run_embedded(tmp_path, make_conversion(2), rows)
    judgements = load_judgements(database, job)
    assert judgements["plain"] == ("perturbed", [])
    level, verdicts = judgements["doubtful"]
    assert level == ""
    assert {(name, module, rejects) for name, module, _, rejects in verdicts} == {
        ("unsure", "planner", True),
        ("unsure", "grounder", True),
    }
    assert all(detail.startswith("number: 3 is neither") for _, _, detail, _ in verdicts)
    assert read_stored_rows(database, job)["doubtful", 0]["execution"], "its actions are stored as a draft"
    (link,) = [verdict for verdict in judgements["other link"][1] if verdict[0] == "ambiguous link"]
    assert "5 is a constant (word)" in link[2], link
    database.close()


def test_a_half_done_conversion_of_the_first_rules_ends_with_their_verdicts(rows, tmp_path):
    undisturbed, job = run_embedded(tmp_path / "undisturbed", make_conversion(1), rows)
    target = read_stored_rows(undisturbed, job), load_judgements(undisturbed, job)
    assert target[1]["doubtful"][0] == "executed" and "unsure" not in str(target[1])
    settings = make_settings(tmp_path / "killed", concurrency=1)
    database = open_database(settings.database)
    upgrade(database)
    identifier, _ = submit(database, settings, make_conversion(1), rows)
    with database.engine.connect() as connection:
        assert "rule_version" not in get_job(connection, identifier).spec
    assert work_and_die(settings, identifier, tmp_path / "log", 4) == KILLED
    end_sessions(settings)
    resume_job(settings, identifier)
    assert state(database, identifier) == "done"
    assert (read_stored_rows(database, identifier), load_judgements(database, identifier)) == target
    for opened in (undisturbed, database):
        opened.close()


def test_a_teacher_is_sent_the_same_prompts_by_either_version(rows, tmp_path):
    prompts: dict[int, list[str]] = {1: [], 2: []}
    for version, list_of_prompts in prompts.items():

        def answer(prompt: str, store=list_of_prompts) -> str:
            store.append(prompt)
            return "Subgoal 1: Add.\nAction 1-1: R1 = Calculator(8 + 3) = 11"

        with FakeEndpoint(answer) as server:
            job = make_conversion(version, teacher=server.chat)
            database, _ = run_embedded(tmp_path / str(version), job, rows, concurrency=1)
            database.close()
    assert sorted(prompts[1]) == sorted(prompts[2]) and len(prompts[1]) > len(ROWS)


def test_recheck_lists_what_the_present_rules_reject_or_write_differently(rows, tmp_path):
    database, job = run_embedded(tmp_path, make_conversion(1), rows)
    before = read_stored_rows(database, job), load_judgements(database, job)
    with database.engine.connect() as connection:
        report = recheck_conversion(database, get_job(connection, job))
    assert (report.rules, report.present_rules, report.accepted, report.same) == (1, 2, 3, 1)
    (rejection,), (change,) = report.rejected, report.changed
    assert rejection.row == "doubtful" and rejection.reason.startswith("unsure: number: 3 is neither")
    assert change.row == "other link" and "'R2 = Calculator(20 / R1)' would be 'R2 = Calcul" in change.reason
    assert (read_stored_rows(database, job), load_judgements(database, job)) == before
    database.close()


def test_recheck_of_a_conversion_by_the_present_rules_finds_nothing(rows, tmp_path):
    database, job = run_embedded(tmp_path, make_conversion(2), rows)
    with database.engine.connect() as connection:
        report = recheck_conversion(database, get_job(connection, job))
    assert (report.accepted, report.same, report.rejected, report.changed, report.reworded) == (
        2,
        2,
        [],
        [],
        [],
    )
    database.close()


def test_recheck_tells_other_words_from_other_actions(tmp_path):
    solution = "On Monday Una gets 8+3=<<8+3=11>>11 pens."
    gold = {"answer": "11", "solution": solution}
    task = Task("gsm8k", "invented", "worded", "Una has 8 pens and 3 more.", gold=gold)
    database, job = run_embedded(tmp_path, make_conversion(1), Rows(GSM8K(), "train", "invented", (task,), ()))
    with database.engine.connect() as connection:
        report = recheck_conversion(database, get_job(connection, job))
    (change,) = report.reworded
    assert (report.same, report.rejected, report.changed) == (0, [], [])
    assert "'On Monday Una gets how many pens?' by adding 8 and 3" in change.reason
    database.close()


def test_recheck_refuses_a_conversion_by_a_teacher(rows, tmp_path):
    with FakeEndpoint(lambda prompt: "Subgoal 1: Add.\nAction 1-1: R1 = Calculator(8 + 3) = 11") as server:
        database, job = run_embedded(tmp_path, make_conversion(2, teacher=server.chat), rows)
    with database.engine.connect() as connection, pytest.raises(SpecError, match="for conversions by rule"):
        recheck_conversion(database, get_job(connection, job))
    database.close()


def test_the_command_prints_the_recheck_as_text_and_json(rows, tmp_path, lumos):
    database, job = run_embedded(tmp_path / "home", make_conversion(1), rows)
    database.close()
    lumos.set(LUMOS_HOME=tmp_path / "home")
    assert " ".join(lumos("job", job).out.split()).count("rules version 1") == 1
    text = lumos("convert", "--recheck", job).out
    assert "1 would be the same, 1 rejected, 1 have other actions, 0 other subgoals only" in text
    assert "Nothing was changed." in text
    report = lumos("convert", "--recheck", job, "--json").json
    assert [row["row"] for row in report["rejected"] + report["changed"]] == ["doubtful", "other link"]
    assert "leave out 'gsm8k'" in lumos("convert", "gsm8k", "--recheck", job).err
    assert "Name a source or a file" in lumos("convert").err
    assert "give it alone" in lumos("convert", "--recheck", job, "--limit", "3").err
