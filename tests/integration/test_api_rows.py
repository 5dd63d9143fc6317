"""Rows, functions and objects that a program gives; texts of any kind in the tables it gets back."""

from __future__ import annotations

import asyncio
import functools
import logging

import pytest

import lumos_queue as lq

ROWS = [{"question": "What is 2 + 3?", "answer": "It is five. #### 5"}, {"question": "And 3 + 4?", "answer": "#### 7"}]
TASKS = [lq.Task("gsm8k", "", str(number), f"{number} + 1?", gold={"answer": str(number + 1)}) for number in (1, 2)]
GSM8K = functools.partial(lq.evaluate, "gsm8k", formulation="direct", solver=lambda prompt: "5")
LONG = "z" * 10_000_000


@pytest.fixture(autouse=True, params=["sqlite", "postgresql"])
def deployment(request, tmp_path, monkeypatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    if request.param == "postgresql":
        monkeypatch.setenv("LUMOS_DATABASE_URL", request.getfixturevalue("postgres_url"))
    return request.param


embedded = pytest.mark.parametrize("deployment", ["sqlite"], indirect=True)


class Parity(lq.Benchmark):
    """Whether a number is even."""

    name, domain, licence, needs_data, metrics = "parity", "maths", "CC0-1.0", False, ("accuracy",)

    def read(self, path, split, **options):
        for number in range(1, 5):
            yield lq.Task(self.name, "", str(number), f"Is {number} even?", gold={"answer": number % 2 == 0})

    def score(self, task, result):
        return [lq.Score("accuracy", float((result.answer == "yes") == task.gold["answer"]))]


PARITY = Parity()


@lq.formulation(roles=("solver",), executes=False)
def two_questions(task, agent):
    """Ask two times at once; the second reply counts."""
    replies = yield [lq.Ask("solver", task.question), lq.Ask("solver", f"Once more: {task.question}")]
    return lq.Outcome(replies[1].text, lq.Ending.ANSWERED)


@lq.scorer(version="1")
def is_short(episode):
    return len(episode.answer or "") < 3


def say_yes(prompt: str) -> str:
    return "yes" if prompt.startswith("Once more") else "no"


@embedded
def test_rows_may_be_mappings_as_in_the_file_or_tasks():
    mapped = GSM8K(rows=ROWS).wait()
    assert [one.scores["accuracy"] for one in mapped.episodes()] == [1.0, 0.0]
    assert list(mapped.episodes().to_pandas()["gold"]) == ["5", "7"]
    tasks = GSM8K(rows=iter(TASKS), solver=lambda prompt: "3").wait()
    assert [(one.task.row, one.scores["accuracy"]) for one in tasks.episodes()] == [("1", 0.0), ("2", 1.0)]
    again = GSM8K(rows=[one.task for one in tasks.episodes()], solver=lambda prompt: "3")
    assert again.id == tasks.id  # the rows are what they were


@embedded
@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "rows has no row: give at least one"),
        (5, "rows is 5: expected a list of Tasks"),
        (ROWS[0], "row 1: expected a Task or a mapping, found str"),
        ([*TASKS, *ROWS], "rows has 2 Tasks and 2 others: give only one kind"),
        ([ROWS[0], {"question": "?", "answer": float("nan")}], "row 2: cannot be written as JSON: Out of range float"),
        ([{"question": "?", "answer": {1, 2}}], "row 1: cannot be written as JSON: Object of type set"),
        ([ROWS[0], {"question": "?"}], r"^rows: 1 row \(row 2, field 'answer': missing\) cannot be read, 1 can"),
        ([{"query": "?"}], "^rows is not GSM8K's rows"),
        ([TASKS[0], TASKS[0]], r"^rows: 1 row \(row 2, field 'row': '1' is the id of an earlier row"),
        (
            [lq.Task("gsm8k", "", one, "?") for one in ("a\0", "a\ufffd")],
            r"^rows: 1 row \(row 2, field 'row': '.*' is the id",
        ),
        ([lq.Task("gsm8k", "", "1", "?", None)], "row 1, field 'inputs': expected a mapping, found NoneType"),
        ([lq.Task("gsm8k", "", 1, "?")], "row 1, field 'row': expected a text, found int"),
        ([{"question": "?", "answer": "#### 1", (1,): 2}], "row 1: cannot be written as JSON: keys must be str"),
        ([{"question": "?", "answer": 10**5000}], "row 1: cannot be written as JSON: Exceeds the limit"),
        ([lq.Task("gsm8k", "", "1", "?", gold=float("nan"))], "row 1, field 'gold': cannot be written as JSON"),
        ([lq.Task("gsm8k", "", "1", "?", {"a": b"b"})], "row 1, field 'inputs': cannot be written as JSON"),
        ([lq.Task("gsm8k", "", "1", 5)], "row 1, field 'question': expected a text, found int"),
        ([lq.Task("svamp", "", "1", "?")], "row 1, field 'benchmark': expected 'gsm8k', found 'svamp'"),
    ],
)
def test_a_bad_row_is_named_in_one_line(rows, problem, deployment):
    with pytest.raises(lq.SpecError, match=problem) as error:
        GSM8K(rows=rows)
    assert "/lumos-rows-" not in str(error.value) and "\n" not in str(error.value)


@embedded
def test_bad_rows_are_skipped_where_that_is_asked_for(deployment, caplog):
    caplog.set_level(logging.WARNING, "lumos_queue")
    assert GSM8K(rows=[*ROWS, {"question": "?"}], skip_bad_rows=True).wait().episodes().count() == 2
    assert "skipped 1 bad row of 3; the first: row 3, field 'answer': missing" in caplog.text


@embedded
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"limit": -1}, "limit= is -1: expected a whole number from 0"),
        ({"limit": 2.0}, "limit= is 2.0: expected a whole number from 0"),
        ({"samples": 0}, "samples= is 0: expected a whole number from 1 to 1,000"),
        ({"temperature": float("nan")}, "temperature= is nan: expected a number of at least 0"),
        ({"temperature": float("inf")}, "temperature= is inf: expected a number of at least 0"),
        ({"priority": 2**40}, "priority= is 1099511627776: expected a whole number from -2,147,483,647"),
        ({"solver": None}, "A model is None: expected an address, or a function"),
        ({"solver": "tgi:"}, "address|host|tgi"),
        ({"formulation": 5}, "an object of int: expected an object of Formulation"),
        ({"benchmark": None}, "an object of NoneType: expected an object of Benchmark"),
        ({"tags": "team"}, "tags= is 'team': expected a mapping"),
        ({"roles": ["judge"]}, r"roles= is \['judge'\]: expected a mapping"),
        ({"data": "rows.jsonl"}, "Give rows or data, not both"),
        ({"split": "tset"}, "No split called 'tset'"),
    ],
)
def test_a_bad_argument_is_named_in_one_line(arguments, problem, deployment):
    with pytest.raises(lq.SpecError, match=problem) as error:
        lq.evaluate(
            **{"benchmark": "gsm8k", "rows": ROWS, "formulation": "direct", "solver": "function:x:y"} | arguments
        )
    assert "\n" not in str(error.value)


@embedded
@pytest.mark.parametrize("limit", [0, -1, "5", 1.5, True, None, 2**70])
def test_a_number_of_jobs_that_cannot_be_listed_is_named(limit, deployment):
    with pytest.raises(lq.SpecError, match=r"^limit= is .*: expected ") as error:
        lq.list_jobs(limit=limit)
    assert "\n" not in str(error.value)


@embedded
@pytest.mark.parametrize(("limit", "rows"), [(0, 2), (1, 1), (2, 2), (7, 2)])
def test_a_limit_takes_the_first_rows_and_all_where_there_are_fewer(limit, rows, deployment):
    job = GSM8K(rows=TASKS, limit=limit).wait()
    assert [one.task.row for one in job.episodes()] == ["1", "2"][:rows] and job.facts["items"] == rows


@embedded
def test_given_rows_are_converted(deployment):
    row = {"question": "What is 2 + 3?", "answer": "It is 2+3=<<2+3=5>>5.\n#### 5"}
    job = lq.convert("gsm8k", rows=[row, row | {"question": "And?"}], split="train", limit=1, tags={"a": "b"}).wait()
    (one,) = job.episodes("level>=executed")
    assert (job.facts["kind"], one.answer, one.scores["executed"]) == ("convert", "5", 1.0)
    assert job.report()["value"] == 1 and lq.list_jobs("tag.a=b")[0].id == job.id
    for arguments, problem in (
        ({"reasks": 11}, "^reasks= is 11"),
        ({"rows": []}, "rows has no row"),
        ({"subgoals": "x"}, "No kind of subgoals called 'x'"),
    ):
        with pytest.raises(lq.SpecError, match=problem):
            lq.convert("gsm8k", **{"rows": [row], "split": "train"} | arguments)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"metrics": "em"}, "^The metrics of a scorer are 'em': expected a tuple of names"),
        ({"metrics": ("two words",)}, "^The metric 'two words' of a scorer is expected to be a name"),
        ({"name": "a=b"}, "^The metric 'a=b' of a scorer"),
        ({"version": 2}, "^The version of a scorer is 2: expected a text"),
        ({"version": "a\0b"}, "^The version of a scorer is 'a.x00b': expected a text"),
    ],
)
@embedded
def test_a_scorer_that_filters_cannot_name_is_refused(options, problem, deployment):
    with pytest.raises(lq.SpecError, match=problem):
        lq.Scorer(**{"name": "short", "judge": len} | options)


@embedded
def test_objects_of_a_module_are_named_by_it():
    job = lq.evaluate(PARITY, formulation=two_questions, solver=say_yes).wait()
    here = __name__
    assert job.facts["benchmark"] == f"{here}:PARITY" and job.facts["formulation"] == f"{here}:two_questions"
    assert job.facts["models"] == {"solver": f"function:{here}:say_yes"}
    assert [one.answer for one in job.episodes()] == ["yes"] * 4 and job.report()["value"] == 0.5
    assert all(isinstance(one, str) for one in job.episodes().to_arrow()["gold"].to_pylist())
    scored = job.score(is_short)
    assert (scored.scorer, scored.episodes) == (f"{here}:is_short", 4)
    assert set(job.episodes().to_pandas()["metric:is_short"]) == {0.0}


@embedded
def test_objects_that_no_module_has_are_named_by_the_program():
    class Local(Parity):
        name = "local"

    job = lq.evaluate(Local(), formulation="direct", solver=lambda prompt: "yes").wait()
    assert job.facts["benchmark"].startswith("__main__:local_") and job.report()["value"] == 0.5
    assert job.score(lq.Scorer("long", lambda episode: len(episode.answer) > 2)).episodes == 4


@embedded
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (lambda prompt: 1 / 0, "failed: ZeroDivisionError: division by zero"),
        (lambda prompt: 5, "returned int, not a text"),
        (lambda prompt: None, "returned NoneType, not a text"),
        (int, "failed: ValueError: invalid literal for int"),
    ],
)
def test_a_function_that_fails_gives_no_wrong_answer(model, problem, deployment):
    job = GSM8K(rows=ROWS, solver=model).wait()
    assert [one.ending for one in job.episodes()] == ["infra_error"] * 2
    assert all(problem in one.message for one in job.episodes())
    report = job.report()
    assert (report["complete"], report["bounds"], report["metrics"]) == (False, [0.0, 1.0], {})
    assert repr(report).endswith("done, 2 of 2, incomplete>")
    assert job.facts["real_state"] == "incomplete"


class Model:
    def __init__(self, answer: str):
        self.answer = answer

    def reply(self, prompt: str) -> str:
        return self.answer

    async def __call__(self, prompt: str) -> str:
        await asyncio.sleep(0.01)
        return self.answer


@embedded
def test_functions_may_be_coroutines_methods_and_objects(deployment):
    async def five(prompt: str) -> str:
        await asyncio.sleep(0.01)
        return "5"

    models = [five, Model("6").reply, Model("7"), functools.partial(lambda answer, prompt: answer, "8")]
    jobs = [GSM8K(rows=ROWS, solver=model) for model in models]
    assert [[one.answer for one in job.wait().episodes()] for job in jobs] == [[str(one)] * 2 for one in range(5, 9)]


def test_any_text_comes_back_in_frames():
    rows = [
        {"question": "N\0L and \ud800", "answer": "#### 5"},
        {"question": "NaN", "answer": "#### 5"},
        {"question": LONG, "answer": "#### 5"},
        {"question": "long", "answer": f"{LONG} #### 5"},
    ]
    replies = {"NaN": "nan", "long": LONG}
    job = GSM8K(
        rows=rows, solver=lambda prompt: next((replies[one] for one in replies if one in prompt), "a\0b")
    ).wait()
    found = job.episodes()
    frame, table = found.to_pandas(), found.to_arrow()
    assert list(frame["question"]) == ["N�L and �", "NaN", LONG, "long"]
    assert list(frame["answer"]) == table["answer"].to_pylist() == ["a�b", "nan", "a�b", LONG]
    assert found.to_dataset()["answer"][3] == LONG and list(frame["ending"]) == ["answered"] * 4
    assert not frame["score"].isna().any()


@embedded
def test_a_task_whose_gold_answer_is_lacking_is_a_fault_beside_others_that_are_judged(caplog):
    job = GSM8K(rows=[*TASKS, lq.Task("gsm8k", "", "3", "And?", gold={})]).wait(timeout=60)
    report = job.report()
    assert (report["endings"], report["correct"], report["bounds"]) == (
        {"answered": 2, "infra_error": 1},
        0,
        [0, 0.333333],
    )
    assert report["baselines"] == {} and [one["message"] for one in report["problems"]] == ["KeyError: 'answer'"]
    assert "the baselines of 'gsm8k' cannot be computed on these tasks: KeyError: 'answer'" in caplog.text
