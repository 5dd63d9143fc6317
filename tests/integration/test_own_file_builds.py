"""Training data from a person's own file, with scripted models: evaluate, build, convert, correct, continue."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import pytest
from sqlalchemy import text

import lumos_queue as lq
from lumos_queue.deployment.database import database
from lumos_queue.settings import read_settings

ROWS, WRONG = 12, (3, 4)
PLANNER = [
    {"contains": "Should we stop planning?", "reply": "Yes, I will stop planning."},
    {"contains": "", "reply": "Subgoal 1: Add the pens."},
]


def question_of(number: int) -> str:
    return f"Ann has {number + 2} pens and buys {number % 7 + 3} more on day {number}. How many pens has Ann?"


def answer_of(number: int) -> int:
    return number + 2 + number % 7 + 3


def write_scripts(folder: Path) -> None:
    """Replies to each question: the solver's and the grounder's are wrong for some, the teacher's for none."""
    solver, grounder, teacher = [], [], []
    for number in range(ROWS):
        first, second, right = number + 2, number % 7 + 3, answer_of(number)
        key = f"on day {number}."
        solver.append({"contains": key, "reply": f"We add. The answer is {right + (number in WRONG)}."})
        sign = "-" if number in WRONG else "+"
        grounder.append({"contains": key, "reply": f"R1 = Calculator({first} {sign} {second})"})
        action = f"Action 1-1: R1 = Calculator({first} + {second}) = {right}"
        teacher.append({"contains": f"Task: {question_of(number)}", "reply": f"Subgoal 1: Add the pens.\n{action}"})
    for name, rules in (("solver", solver), ("grounder", grounder), ("teacher", teacher), ("planner", PLANNER)):
        (folder / f"{name}.json").write_text(json.dumps(rules))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with `gsm8k.csv`, a person's own questions, and scripts of models; it is the current folder."""
    with (tmp_path / "gsm8k.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["question", "answer", "solution"])
        for number in range(ROWS):
            first, second, right = number + 2, number % 7 + 3, answer_of(number)
            table.writerow([question_of(number), right, f"{first}+{second}=<<{first}+{second}={right}>>{right}."])
    write_scripts(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


AGENT = ("--planner", "scripted:planner.json", "--grounder", "scripted:grounder.json")


def evaluate(lumos, *arguments: str) -> str:
    return lumos("evaluate", "gsm8k.csv", *arguments, "--json").json["job"]


def build(lumos, name: str, where: str, *arguments: str) -> dict:
    return lumos("dataset", "build", name, "--where", where, *arguments, "--json").json


def test_right_runs_of_an_own_file_make_a_build_whose_card_states_the_file(lumos, folder):
    job = evaluate(lumos, *AGENT)
    manifest = build(lumos, "first", f"job={job} score=1")
    sha256 = hashlib.sha256((folder / "gsm8k.csv").read_bytes()).hexdigest()
    rows = 2 * (ROWS - len(WRONG))
    assert manifest["licences"] == {"unknown": {"file:gsm8k": rows}}
    ((name, own),) = manifest["own_files"].items()
    assert (name, own["rows"]) == ("file:gsm8k", rows)
    assert [(part["rows"], part["sha256"]) for part in own["datasets"]] == [(rows, sha256)]
    assert manifest["not_verified"] == []
    assert "file:gsm8k" not in manifest["contamination"] and manifest["contamination"]["gsm8k"] == "not checked"
    card = (Path(manifest["folder"]) / "README.md").read_text()
    assert f"| file:gsm8k | {rows} | unknown |" in card and "MIT" not in card
    assert f"your own file 'gsm8k', and no published benchmark; sha256 of the file: {sha256}" in card
    assert sha256 in lumos("dataset", "show", "first").out.replace("\n", "").replace(" ", "")


def test_a_licence_is_stated_as_a_person_gave_it(lumos, folder):
    job = evaluate(lumos, *AGENT, "--licence", "CC BY 4.0 | mine")
    manifest = build(lumos, "first", f"job={job} score=1")
    assert list(manifest["licences"]) == ["CC BY 4.0 | mine"]
    assert "| CC BY 4.0 \\| mine |" in (Path(manifest["folder"]) / "README.md").read_text()


def test_replies_of_a_model_that_answered_alone_are_rows_of_its_formulation(lumos, folder):
    job = evaluate(lumos, "--solver", "scripted:solver.json")
    refused = lumos("dataset", "build", "none", "--where", f"job={job} score=1")
    assert refused.code == 2 and "(--formulations cot writes them)" in refused.err
    manifest = build(lumos, "first", f"job={job} score=1", "--formulations", "cot")
    lines = (Path(manifest["folder"]) / "solver_cot.jsonl").read_text().splitlines()
    messages = [json.loads(line)["messages"] for line in lines]
    right = [number for number in range(ROWS) if number not in WRONG]
    assert [[message["content"] for message in row] for row in messages] == [
        [question_of(number), f"We add. The answer is {answer_of(number)}."] for number in right
    ]
    assert manifest["levels"] == {"format": len(right)}


def test_test_rows_are_refused_with_the_flag(lumos, folder):
    own, test = evaluate(lumos, *AGENT), evaluate(lumos, *AGENT, "--split", "test")
    for job, reason in ((test, "of a test split"), (own, "of a test split stored here")):
        refused = lumos("dataset", "build", "none", "--where", f"job={job} score=1")
        assert refused.code == 2
        assert f"{ROWS - len(WRONG)} {reason} (--allow-test uses them)" in refused.err
        assert len(refused.err.strip().splitlines()) == 1
    assert build(lumos, "all", f"job={test} score=1", "--allow-test")["rows"] > 0


def test_a_build_is_compared_with_own_test_questions(lumos, folder):
    job = evaluate(lumos, *AGENT)
    (folder / "held.csv").write_text("query,topic\nWho was the first?,x\n")
    manifest = build(lumos, "first", f"job={job} score=1", "--against", "file:held.csv")
    assert manifest["contamination"]["file:held.csv"] == {"rows": 1, "unreadable": 0}
    (folder / "held.csv").write_text(f'query,topic\n"{question_of(0)}",x\n')
    refused = lumos("dataset", "build", "second", "--where", f"job={job} score=1", "--against", "file:held.csv")
    assert refused.code == 2 and "stands in file:held.csv: equal text (--allow-contaminated keeps them)" in refused.err
    (folder / "held.csv").write_text("a,b\n1,2\n")
    refused = lumos("dataset", "build", "second", "--where", f"job={job}", "--against", "file:held.csv")
    assert refused.code == 2 and "--against file:held.csv: " in refused.err and "TOML" in refused.err


@pytest.mark.parametrize("way", [("--deterministic",), ("--teacher", "scripted:teacher.json")])
def test_rationales_of_a_file_are_converted_and_built_from(lumos, folder, way):
    report = lumos("convert", "gsm8k.csv", *way, "--json").json
    assert (report["state"], report["items"]["done"]) == ("done", ROWS)
    manifest = build(lumos, "first", f"job={report['job']} level>=executed", "--formulations", "iterative,cot")
    assert manifest["levels"] == {"perturbed": 3 * ROWS}
    assert manifest["licences"] == {"unknown": {"file:gsm8k": 3 * ROWS}}


def test_what_cannot_be_converted_is_refused_in_a_line(lumos, folder):
    (folder / "plain.csv").write_text("question,answer,explanation\nWhat is it?,Paris,It is Paris.\n")
    (folder / "bare.csv").write_text("question,answer\nHow many?,5\n")
    refusals = [
        (("bare.csv", "--deterministic"), "--rationale"),
        (("plain.csv", "--deterministic"), "--teacher URL"),
        (("plain.csv", "--deterministic", "--domain", "maths"), "--teacher URL"),
        (("wordmath", "--deterministic", "--rationale", "why"), "--rationale is for a file of your own"),
    ]
    for arguments, message in refusals:
        refused = lumos("convert", *arguments)
        assert refused.code == 2 and message in refused.err, refused.err
        assert len([line for line in refused.err.splitlines() if line.startswith("lumos: ")]) == 1
    assert not (folder / "home").exists()


def test_a_correction_keeps_the_definition_of_the_file(lumos, folder):
    job = evaluate(lumos, *AGENT, "--rationale", "solution")
    first = lumos("correct", f"{job}-0", "--subgoal", "1: Sum the pens.", "--json").json
    assert first["level"] == "perturbed"
    second = lumos("correct", first["episode"], "--subgoal", "1: Count the pens.", "--json").json
    assert second["level"] == "perturbed"
    manifest = build(lumos, "corrected", "origin=corrected")
    assert manifest["own_files"]["file:gsm8k"]["rows"] == 2


def test_wrong_runs_are_continued_and_test_rows_of_them_are_refused(lumos, folder):
    job = evaluate(lumos, *AGENT, "--rationale", "solution", "--split", "test")
    where = f"job={job} score<1"
    [rollouts] = lumos("rollouts", "--where", where, *AGENT, "--samples", "1", "--temperature", "0", "--json").json[
        "jobs"
    ]
    report = lumos("rollouts", "report", rollouts, "--json")
    assert (report.json["episodes"], report.json["rows"], report.json["of_test_split"]) == (len(WRONG), 0, len(WRONG))
    assert "--allow-test" in report.err
    assert lumos("rollouts", "report", rollouts, "--allow-test", "--json").json["rows"] == len(WRONG)
    jobs = lumos("blame", "--where", where, *AGENT, "--json").json["jobs"]
    report = lumos("blame", "report", *jobs, "--json")
    assert (report.json["of_test_split"], report.json["pairs"]) == (len(WRONG), {"planner": 0, "grounder": 0})
    assert "--allow-test" in report.err


def test_episodes_of_two_definitions_of_a_title_are_not_mixed(lumos, folder):
    for scorer in ("number", "exact"):
        evaluate(lumos, *AGENT, "--scorer", scorer, "--domain", "maths")
    refused = lumos("rollouts", "--where", "benchmark=file:gsm8k", *AGENT, "--temperature", "0", "--samples", "1")
    assert refused.code == 2 and "two definitions of 'file:gsm8k'" in refused.err


def test_a_damaged_definition_leaves_its_episodes_out(lumos, folder):
    job = evaluate(lumos, *AGENT)
    with database(read_settings()) as opened, opened.writer.begin() as connection:
        damage = "UPDATE job SET spec = json_set(spec, '$.infer.definition.fields.unknown', 1) WHERE id = :job"
        connection.execute(text(damage), {"job": job})
    refused = lumos("dataset", "build", "none", "--where", f"job={job} score=1")
    assert refused.code == 2 and "unknown domain" in refused.err


def test_marks_without_words_under_a_published_name_are_converted(lumos, folder):
    lines = [
        {"question": question_of(n), "answer": f"<<{n + 2}+{n % 7 + 3}={answer_of(n)}>>\n#### {answer_of(n)}"}
        for n in range(3)
    ]
    (folder / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    job = lumos("convert", "gsm8k", "--data", "mine.jsonl", "--deterministic", "--json").json["job"]
    assert build(lumos, "first", f"job={job}")["licences"] == {"unknown": {"gsm8k": 6}}


def test_rows_of_a_program_and_of_a_settings_file_are_converted(lumos, folder):
    (folder / "mine.toml").write_text('data = "gsm8k.csv"\nrationale = "solution"\nlicence = "MIT"\n')
    report = lumos("convert", "mine.toml", "--deterministic", "--json").json
    assert (report["source"], report["items"]) == ("file:mine", {"done": ROWS})
    rows = [{"q": "How much is twice 4?", "a": 8, "why": "<<2*4=8>>"}]
    fields = {"question": "q", "answer": "a", "rationale": "why"}
    job = lq.convert(rows=rows, fields=fields, title="theirs").wait()
    assert job.episodes("level>=executed").count() == 1
    manifest = build(lumos, "both", "origin=converted")
    assert manifest["licences"] == {"MIT": {"file:mine": 2 * ROWS}, "unknown": {"file:theirs": 2}}
    assert [part["sha256"] for part in manifest["own_files"]["file:theirs"]["datasets"]] == [""]
    with pytest.raises(lq.SpecError, match="Name the field with rationale"):
        lq.convert(rows=[{"question": "Why?", "answer": 1}])


def test_a_held_out_file_that_a_model_judges_is_compared_by_its_questions(lumos, folder):
    job = evaluate(lumos, *AGENT)
    (folder / "held.csv").write_text("text,answer,label\nWho was the first?,x,y\n")
    (folder / "held.toml").write_text('data = "held.csv"\nquestion = "text"\nscorer = "judge"\nvotes = 3\n')
    manifest = build(lumos, "first", f"job={job} score=1", "--against", "file:held.toml")
    assert manifest["contamination"]["file:held.toml"] == {"rows": 1, "unreadable": 0}
