"""A teacher converts the rows that a rule left waiting: its prompts, the samples that pass, a kill, and notes."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import select

from db.models import CompletionRow
from db.queries.jobs import get_job
from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.benchmarks.registry import open_source
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.jobs.convert import Convert
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.requests.conversion import ConversionRequest
from lumos_queue.submission.store import Rows, submit
from lumos_queue.submission.waiting_request import make_waiting_job
from tests.fake_endpoint import FakeEndpoint
from tests.integration.test_rules_of_conversions import load_judgements
from tests.kills.killed_child import KILLED, end_sessions, make_settings, resume_job, work_and_die
from tests.stored_rows import read_stored_rows, run_embedded, state
from workers.context import WorkerContext
from workers.dispatcher import Dispatcher

#: Question, solution and answer of invented rows, by name. Only the first is converted; the others wait.
ROWS = {
    "plain": ("Ann has 8 pens and buys 3 pens. How many pens has she?", "8+3=<<8+3=11>>11 pens.", "11"),
    "toys": (
        "Max has 2 boxes with 6 toys each and 3 bags with 4 toys each. 5 of the toys in the boxes are lost. A friend "
        "brings the rest and the toys in the bags. How many toys does she bring?",
        "2*6=<<2*6=12>>12 toys.\n3*4=<<3*4=12>>12 toys.\n12-5=<<12-5=7>>7 toys.\n7+12=<<7+12=19>>19 toys.",
        "19",
    ),
    "nuts": ("Tom, Ann and Kim share 30 nuts. How many has Tom?", "Tom has 30/3=<<30/3=10>>10 nuts.", "10"),
    "eggs": ("Ned sells 40 eggs in full trays. How many trays are there?", "40/8=<<40/8=5>>5 trays.", "5"),
}
TOYS = """Subgoal 1: Calculate the toys in the 2 boxes.
Action 1-1: R1 = Calculator(2 * 6) = 12

Subgoal 2: Calculate the toys in the 3 bags.
Action 2-1: R2 = Calculator(3 * 4) = 12

Subgoal 3: Subtract the 5 lost toys from the 12 toys in the boxes.
Action 3-1: R3 = Calculator(R1 - 5) = 7

Subgoal 4: Add the 12 toys in the bags.
Action 4-1: R4 = Calculator(R3 + R2) = 19"""
OTHER_TOYS = TOYS.replace("R1 = Calculator(2 * 6)", "R1 = Calculator(6 * 2)").replace("in the 2 boxes", "in 2 boxes")
WRONG_TOYS = TOYS.replace("(R1 - 5)", "(R2 - 5)").replace("(R3 + R2)", "(R3 + R1)")
ONE_STEP_TOYS = (
    "Subgoal 1: Take the 5 lost toys from the boxes and add the bags.\n"
    "Action 1-1: R1 = Calculator(2 * 6 - 5 + 3 * 4) = 19"
)
NUTS = """Subgoal 1: Count the people who share the nuts.
Action 1-1: R1 = Count([Tom, Ann, Kim]) = 3

Subgoal 2: Divide the nuts by the people.
Action 2-1: R2 = Calculator(30 / R1) = 10"""
EGGS = "Subgoal 1: Divide the eggs by the size of a tray.\nAction 1-1: R1 = Calculator(40 / 8) = 5"


@pytest.fixture
def rows() -> Rows:
    tasks = (
        Task("gsm8k", "invented", name, question, gold={"answer": answer, "solution": solution})
        for name, (question, solution, answer) in ROWS.items()
    )
    return Rows(GSM8K(), "train", "invented", tuple(tasks), ())


@pytest.fixture
def waiting(rows, tmp_path):
    """Return the database and the id of a conversion by rule, three of whose rows wait."""
    database, job = run_embedded(tmp_path, Convert("gsm8k", "invented", "train", rule_version=2), rows)
    yield database, job
    database.close()


def row_of(prompt: str) -> str:
    """The row that a prompt of the teacher is about."""
    question = prompt.rpartition("natural language plan!\n\nTask: ")[2]
    return next(name for name, (text, _, _) in ROWS.items() if question.startswith(text))


def answer_by_prompt(prompt: str) -> str:
    """The links of `toys` are wrong until the teacher is asked again; no reply explains the 8 of `eggs`."""
    name = row_of(prompt)
    if name == "toys":
        return TOYS if "That is not accepted:" in prompt else WRONG_TOYS
    return {"nuts": NUTS, "eggs": EGGS}[name]


def in_turn(replies: dict[str, list[str]]):
    """Return a teacher that gives the replies for a row one after the other."""
    remaining = {name: list(texts) for name, texts in replies.items()}
    return lambda prompt: remaining[row_of(prompt)].pop(0)


def make_request(teacher: str, **changes) -> ConversionRequest:
    return ConversionRequest(**{"source": "gsm8k", "teacher": teacher, "max_tokens": 300} | changes)


def submit_waiting(database, job, settings: Settings, teacher: str, **changes) -> str:
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    request = make_request(teacher, **changes)
    return make_waiting_job(database, settings, row, request, Scheduling(), lambda _: None).create(database, False)[0]


def run(settings: Settings, job: str) -> None:
    process = WorkerContext(Deployment(settings))
    try:
        Dispatcher(process, ["llm"], only=job).run(lambda: False)
    finally:
        process.close()


def teach(waiting, folder, answer, **changes):
    """Send the waiting rows to a teacher; return level and verdict names by row, the stored rows, and the prompts."""
    database, job = waiting
    prompts: list[str] = []

    def reply(prompt: str):
        prompts.append(prompt)
        return answer(prompt)

    settings = Settings(home=folder, concurrency=1)
    with FakeEndpoint(reply) as server:
        identifier = submit_waiting(database, job, settings, server.chat, **changes)
        run(settings, identifier)
    judgements = load_judgements(database, identifier)
    names = {
        row: (level, sorted({name for name, _, _, _ in verdicts})) for row, (level, verdicts) in judgements.items()
    }
    return names, read_stored_rows(database, identifier), prompts, identifier


def test_the_teacher_is_sent_rationale_draft_and_reason_and_only_waiting_rows(waiting, tmp_path):
    names, _, prompts, _ = teach(waiting, tmp_path, answer_by_prompt, reasks=0)
    assert sorted(map(row_of, prompts)) == ["eggs", "nuts", "toys"] == sorted(names)
    (prompt,) = [prompt for prompt in prompts if row_of(prompt) == "nuts"]
    request = prompt.rpartition("Task: ")[2]
    assert "Natural language plan: Tom has 30/3=10 nuts." in request
    assert "Action 1-1: R1 = Calculator(30 / 3) = 10" in request
    assert "The rule is unsure of its draft: number: 3 is neither in the question nor a constant" in request


def test_a_reply_passes_the_checks_of_the_rule_or_the_row_still_waits(waiting, tmp_path):
    names, rows, prompts, _ = teach(waiting, tmp_path, answer_by_prompt)
    assert names["nuts"] == ("executed", []) or names["nuts"] == ("perturbed", []), names
    assert names["toys"][0] == "perturbed" and "unsure" not in names["toys"][1]
    assert names["eggs"] == ("", ["unsure"])
    assert Counter(map(row_of, prompts)) == {"nuts": 1, "toys": 2, "eggs": 2}
    (again,) = [prompt for prompt in prompts if row_of(prompt) == "toys" and "That is not accepted:" in prompt]
    assert "- unsure: links: 12 may be R2" in again
    assert len(rows["toys", 0]["execution"]) == 8, "the steps of both replies are stored"


def test_two_samples_with_the_same_formulas_and_links_are_noted(waiting, tmp_path):
    replies = {"toys": [TOYS, OTHER_TOYS], "nuts": [NUTS, EGGS], "eggs": [EGGS, EGGS]}
    names, rows, _, _ = teach(waiting, tmp_path, in_turn(replies), samples=2, reasks=0)
    assert names["toys"][0] == "perturbed" and "samples agree" in names["toys"][1]
    assert names["nuts"][0] and "samples agree" not in names["nuts"][1], "one sample passes"
    assert names["eggs"] == ("", ["unsure"]), "two samples with the same fault are no agreement"
    (_, *actions) = [row[4:6] for row in rows["toys", 0]["execution"]]
    assert len(actions) == 3, "only the selected sample is acted out"
    assert rows["toys", 0]["execution"][0][5] == "2 * 6", "of two that agree, the first is stored"
    assert rows["nuts", 0]["answer"] == "10"


def test_the_only_sample_that_passes_is_stored_whether_it_is_the_first_or_the_last(waiting, tmp_path):
    replies = {
        "toys": [TOYS, WRONG_TOYS],
        "nuts": [NUTS.replace(") = 10", ") = 11"), NUTS],
        "eggs": [EGGS, "I cannot help with that."],
    }
    names, rows, _, _ = teach(waiting, tmp_path, in_turn(replies), samples=2, reasks=0)
    assert names["toys"][0] == "perturbed" and names["nuts"][0] and not names["eggs"][0]
    assert [row[5] for row in rows["toys", 0]["execution"]] == ["2 * 6", "3 * 4", "R1 - 5", "R3 + R2"]


def test_a_sample_with_a_wrong_result_is_requested_again_before_it_is_acted_out(waiting, tmp_path):
    wrong = NUTS.replace(") = 10", ") = 11")
    replies = {"toys": [TOYS, TOYS], "nuts": [wrong, NUTS, NUTS], "eggs": [EGGS] * 4}
    names, rows, prompts, _ = teach(waiting, tmp_path, in_turn(replies), samples=2)
    assert "samples agree" in names["nuts"][1]
    (again,) = [prompt for prompt in prompts if row_of(prompt) == "nuts" and "That is not accepted:" in prompt]
    assert "- result differs: R2 = Calculator(30 / R1) = 11 gives 10" in again
    assert len(rows["nuts", 0]["execution"]) == 2


def test_samples_that_differ_in_a_formula_do_not_agree_and_a_third_decides(waiting, tmp_path):
    replies = {"toys": [ONE_STEP_TOYS, TOYS, OTHER_TOYS], "nuts": [NUTS, NUTS, NUTS], "eggs": [EGGS] * 3}
    names, rows, prompts, _ = teach(waiting, tmp_path, in_turn(replies), samples=3, reasks=0)
    assert "samples agree" in names["toys"][1]
    assert rows["toys", 0]["execution"][0][5] == "2 * 6"
    assert Counter(map(row_of, prompts)) == {"toys": 3, "nuts": 2, "eggs": 3}, "two that agree are enough"


def test_a_killed_job_resumes_with_the_same_prompts_and_repeats_no_call(rows, tmp_path):
    states, calls = [], []
    for name in ("undisturbed", "killed"):
        settings = make_settings(tmp_path / name, concurrency=1)
        database, job = run_embedded(tmp_path / name, Convert("gsm8k", "invented", "train", rule_version=2), rows)
        with FakeEndpoint(answer_by_prompt) as server:
            identifier = submit_waiting(database, job, settings, server.chat, samples=2)
            if name == "killed":
                assert work_and_die(settings, identifier, tmp_path / "log", 8) == KILLED
                with database.engine.connect() as connection:
                    recorded = len(connection.execute(select(CompletionRow.episode)).all())
                before = server.count
                assert 0 < recorded < 10
                end_sessions(settings)
                resume_job(settings, identifier)
                assert server.count - before == len(calls[0]) - recorded
            else:
                run(settings, identifier)
            calls.append([call["sha256"] for call in server.calls])
        assert state(database, identifier) == "done"
        states.append((read_stored_rows(database, identifier), load_judgements(database, identifier)))
        database.close()
    assert states[0] == states[1]
    assert set(calls[0]) == set(calls[1])


def test_the_job_ends_after_the_conversion_by_rule_is_removed(waiting, tmp_path, lumos):
    database, job = waiting
    settings = Settings(home=tmp_path, concurrency=1)
    with FakeEndpoint(answer_by_prompt) as server:
        identifier = submit_waiting(database, job, settings, server.chat)
        lumos.set(LUMOS_HOME=tmp_path)
        assert lumos("rm", job, "--yes").code == 0
        run(settings, identifier)
    assert state(database, identifier) == "done"
    assert load_judgements(database, identifier)["nuts"][0]


def test_notes_are_known_to_filters_audits_and_builds(waiting, tmp_path, lumos):
    replies = {"toys": [TOYS, OTHER_TOYS], "nuts": [NUTS, EGGS], "eggs": [EGGS, EGGS]}
    *_, job = teach(waiting, tmp_path, in_turn(replies), samples=2, reasks=0)
    lumos.set(LUMOS_HOME=tmp_path)
    agreed = f"job={job} verdict='samples agree'"
    (episode,) = lumos("episodes", "--where", agreed, "--json").json["episodes"]
    assert episode["question"].startswith("Max has 2 boxes")
    drawn = lumos("audit", "draw", "first", "--where", f"job={job}", "--by", "note", "--size", "9", "--json")
    assert any("samples agree" in str(stratum) for stratum in drawn.json["strata"]), drawn.json
    built = lumos("dataset", "build", "agreed", "--where", agreed, "--out", tmp_path / "out", "--json")
    assert built.code == 0, built.err
    text = lumos("report", job).out
    assert "teacher, rules 2" in text and "samples agree" in text


def test_other_jobs_and_options_are_refused_in_one_line(waiting, tmp_path, lumos):
    database, job = waiting
    lumos.set(LUMOS_HOME=tmp_path)

    def refuse(*arguments: str) -> str:
        result = lumos("convert", *arguments)
        assert result.code == 2 and len(result.err.strip().splitlines()) == 1, result.err
        return result.err

    with FakeEndpoint(answer_by_prompt) as server:
        taught = submit_waiting(database, job, Settings(home=tmp_path), server.chat)
    url = ("--teacher", "chat://127.0.0.1:9?model=m")
    assert "give --teacher URL" in refuse("--waiting", job)
    assert "No job has an id that starts with" in refuse("--waiting", "nothing", *url)
    assert "was converted by a teacher" in refuse("--waiting", taught, *url)
    assert "is a conversion of 'gsm8k', not of 'svamp'" in refuse("svamp", "--waiting", job, *url)
    assert "leave out --data, --split" in refuse("--waiting", job, "--data", "x.jsonl", "--split", "test", *url)
    assert "samples of a greedy teacher are equal" in refuse(
        "--waiting", job, "--samples", "2", "--temperature", "0", *url
    )
    assert "--samples is for conversions by a teacher" in refuse("wordmath", "--deterministic", "--samples", "2")
    plain = Rows(
        GSM8K(), "train", "plain", (Task("gsm8k", "plain", "1", "8?", gold={"answer": "8", "solution": ""}),), ()
    )
    conversion = Convert("gsm8k", "plain", "train", rule_version=2)
    _, nothing_waits = run_embedded(tmp_path, conversion, plain)
    assert "No row of job" in refuse("--waiting", nothing_waits, *url)
    unfinished, _ = submit(database, Settings(home=tmp_path), Convert("gsm8k", "plain", "train"), plain)
    assert f"Complete it first with: lumos resume {unfinished}" in refuse("--waiting", unfinished, *url)


def test_a_teacher_without_waiting_rows_is_reviewed_too_and_earlier_jobs_are_not(rows, tmp_path):
    levels = {}
    for checks in (0, 1):
        with FakeEndpoint(lambda prompt: EGGS) as server:
            eggs = Rows(rows.benchmark, "train", "invented", rows.tasks[3:], ())
            job = Convert("gsm8k", "invented", "train", teacher=server.chat, reasks=0, teacher_checks=checks)
            database, identifier = run_embedded(tmp_path / str(checks), job, eggs)
        levels[checks] = {row: level for row, (level, _) in load_judgements(database, identifier).items()}
        database.close()
    assert levels == {0: {"eggs": "executed"}, 1: {"eggs": ""}}


def test_fields_of_earlier_jobs_are_not_stored():
    spec = Convert("gsm8k", "invented", "train", teacher="chat://a:1").as_json()
    assert not spec.keys() & {"teacher_checks", "samples", "waiting", "drafts", "waiting_prompt"}
    assert Convert.from_json(spec) == Convert("gsm8k", "invented", "train", teacher="chat://a:1")
    assert open_source("gsm8k").newest_rules >= 2
