"""What Flower shows of a slice: the description of its job, its result, a link to the explorer."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from billiard.einfo import ExceptionInfo
from billiard.exceptions import WorkerLostError
from celery.worker.request import Request
from flower.views.monitor import Metrics
from flower.views.tasks import TasksView, TaskView
from tornado.routing import URLSpec

import workers.flower_tasks
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.settings import Settings
from tests.claims import new_job
from workers.describe import MAX_MODELS, MAX_NAME, MAX_TEXT, describe_job, describe_models, roles_of, shorten
from workers.flower_setup import GuardedMetrics, JobTasksView, JobTaskView, _as_function, _replace
from workers.flower_tasks import MAX_SHOWN, JobWords, TaskFormat
from workers.slice_failed import SliceFailed, SliceRequest, SliceTask

A, B = "tgi://a:1", "tgi://b:2"


def job_row(**fields: Any) -> Any:
    base = {"kind": "evaluate", "benchmark": "wordmath", "formulation": "iterative", "name": "", "spec": {}}
    return SimpleNamespace(**base | fields)


@pytest.mark.parametrize(
    ("spec", "roles"),
    [
        ({"evaluation": {"agent": {"roles": {"planner": A}}}}, {"planner": A}),
        ({"infer": {"agent": {"roles": {"planner": A, "grounder": B}}}}, {"planner": A, "grounder": B}),
        ({"agent": {"roles": {"solver": A}}}, {"solver": A}),
        ({"agent": {}}, {}),
        ({"teacher": A}, {"teacher": A}),
        ({"infer": {"teacher": A}}, {"teacher": A}),
        ({"agent": "damaged", "teacher": A}, {"teacher": A}),
        ({"agent": {"roles": ["damaged"]}, "teacher": A}, {}),
        ({"infer": ["damaged"], "teacher": A}, {}),
        ({"teacher": ""}, {}),
        ({}, {}),
    ],
)
def test_the_endpoints_of_a_job_are_those_of_its_roles(spec, roles):
    assert roles_of(spec) == roles


def test_an_endpoint_of_several_roles_is_named_once():
    spec = {"agent": {"roles": {"planner": A, "grounder": B, "judge": A}}}
    assert describe_models(spec) == "planner/judge tgi://a:1, grounder tgi://b:2"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "wordmath iterative"),
        ({"kind": "infer", "name": "nightly"}, 'wordmath iterative "nightly"'),
        ({"kind": "convert"}, "convert wordmath"),
        ({"kind": "train", "spec": {"recipe": "sft"}}, "train wordmath sft"),
        ({"kind": "train"}, "train wordmath"),
        ({"formulation": None}, "wordmath"),
        ({"spec": {"teacher": A}}, "wordmath iterative, teacher tgi://a:1"),
        ({"benchmark": "", "formulation": "", "spec": {"teacher": A}}, "teacher tgi://a:1"),
    ],
)
def test_a_job_is_described_by_what_it_runs_and_with_which_models(fields, line):
    assert describe_job(job_row(**fields)) == line


def test_texts_of_users_are_shortened_to_a_harmless_line():
    assert shorten("a\n b\x1b", 9) == "a b\ufffd"
    assert (shorten("x" * 5, 5), shorten("x" * 6, 5)) == ("xxxxx", "xxxx…")
    assert shorten("a" + " " * 19, 5) == "a" and shorten("a" + " " * 20, 5) == "a…", (
        "a text is read up to four times the length"
    )
    name = f'"{"n" * (MAX_NAME - 1)}…"'
    assert describe_job(job_row(name="n" * 100)) == f"wordmath iterative {name}"
    assert len(describe_models({"teacher": "t" * 1000})) == MAX_MODELS
    assert len(describe_job(job_row(benchmark="b" * 1000))) == MAX_TEXT


def show(words: JobWords, **fields: Any) -> Any:
    empty = {"args": "", "kwargs": "{}", "result": None, "exception": None}
    return TaskFormat(words)(SimpleNamespace(**empty | fields))


@pytest.mark.parametrize("form", ["['{}']", "('{}',)", "('{}')"])
def test_the_arguments_of_a_slice_are_shown_as_its_job(database, form):
    job, single = new_job(database, tasks=1200), new_job(database, tasks=1, digest="cd" * 32)
    words = JobWords(Deployment(Settings(database_url=database.url)))
    shown = show(words, args=form.format(job))
    assert shown.args == f"wordmath iterative; job {job}, 1,200 items" and shown.job == job
    assert show(words, args=form.format(single)).args == f"wordmath iterative; job {single}, 1 item"
    assert words.find(job) == ("wordmath iterative", f"job {job}, 1,200 items")


def test_a_job_is_read_once_and_the_page_is_shown_though_the_database_is_gone(database, tmp_path):
    job = new_job(database)
    words = JobWords(Deployment(Settings(database_url=database.url)))
    first = show(words, args=f"['{job}']").args
    database.close()
    for file in tmp_path.glob("lumos.db*"):
        file.unlink()
    assert show(words, args=f"['{job}']").args == first
    assert show(words, args="['zzzzzzzz']").args == "zzzzzzzz"


def test_a_job_that_is_missing_is_looked_up_again(database):
    words = JobWords(Deployment(Settings(database_url=database.url)))
    assert words.find("zzzzzzzz") == ("", "")
    assert words._pending == {}
    assert words.find("zzzzzzzz") == ("", "")


class SlowWords(JobWords):
    """Descriptions of a database that answers when the test allows it."""

    def __init__(self, settings: Settings):
        super().__init__(settings)
        self.asked: list[str] = []
        self.answer = threading.Event()

    def _look(self, job: str) -> None:
        self.asked.append(job)
        self.answer.wait(60)
        super()._look(job)


def test_a_page_waits_for_a_slow_database_at_its_first_row_only_and_asks_for_each_job_once(database, monkeypatch):
    job, other = new_job(database), new_job(database, digest="cd" * 32)
    words = SlowWords(Deployment(Settings(database_url=database.url)))
    waits = []
    monkeypatch.setattr(workers.flower_tasks, "WAIT_SECONDS", 0.01)
    submit = words._thread.submit

    def note(*arguments: Any) -> Any:
        future = submit(*arguments)
        result = future.result
        future.result = lambda seconds: waits.append(seconds) or result(seconds)
        return future

    monkeypatch.setattr(words._thread, "submit", note)
    for row in (job, job, other, other):
        assert words.find(row) == ("", "")
    assert waits == [0.01]
    words.answer.set()
    words._thread.shutdown(wait=True)
    assert words.asked == [job, other]
    assert words.find(other)[0] == "wordmath iterative"


def test_no_more_jobs_are_kept_than_a_limit(database, monkeypatch):
    monkeypatch.setattr(workers.flower_tasks, "MAX_KNOWN", 2)
    jobs = [new_job(database, digest=f"{number}b" * 32) for number in range(3)]
    words = JobWords(Deployment(Settings(database_url=database.url)))
    for job in jobs:
        assert words.find(job)[0] == "wordmath iterative"
    assert list(words._descriptions) == [jobs[2]]
    slow = SlowWords(Deployment(Settings(database_url=database.url)))
    monkeypatch.setattr(workers.flower_tasks, "WAIT_SECONDS", 0.0)
    for job in jobs:
        assert slow.find(job) == ("", "")
    assert list(slow._pending) == jobs[:2], "a stranger may name any number of jobs"
    slow.answer.set()


NOTHING = JobWords.__new__(JobWords)


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"result": "'3 items finished'"}, "3 items finished"),
        ({"result": '"another job\'s turn"'}, "another job's turn"),
        ({"result": r"'another job\'s turn'"}, "another job's turn"),
        ({"result": '"a \\"word\\""'}, 'a "word"'),
        ({"result": "plain"}, "plain"),
        ({"result": "'a\nb'"}, "a b"),
        ({"result": "r" * 2000}, "r" * (MAX_SHOWN - 1) + "…"),
        ({"exception": "SliceFailed('failed: down')"}, "failed: down"),
        ({"exception": 'SliceFailed("job\'s")', "result": "'x'"}, "job's"),
        ({"exception": "OSError('x')"}, "OSError('x')"),
        ({}, None),
    ],
)
def test_a_result_is_shown_without_quotation_marks_and_a_failure_without_its_class(fields, result):
    shown = show(NOTHING, **fields)
    assert shown.result == result
    assert shown.exception == (result if "exception" in fields else None)


@pytest.mark.parametrize(
    ("kwargs", "shown"), [("{}", ""), (None, ""), ("{'a': 1}", "{'a': 1}"), ("k" * 2000, "k" * (MAX_SHOWN - 1) + "…")]
)
def test_arguments_of_strangers_are_shortened(kwargs, shown):
    task = show(NOTHING, kwargs=kwargs, args="a" * 2000)
    assert task.kwargs == shown and task.args == "a" * (MAX_SHOWN - 1) + "…"
    assert show(NOTHING, args=None).args == ""


def test_flower_accepts_the_format_as_a_function():
    function = _as_function(TaskFormat(NOTHING))
    assert type(function).__name__ == "function"
    assert function(SimpleNamespace(args="x", kwargs="{}", result=None, exception=None)).args == "x"


def test_a_page_of_flower_is_replaced_at_its_address_and_the_others_stay():
    replacements = {Metrics: GuardedMetrics, TaskView: JobTaskView}
    spec = URLSpec(r"/task/(.+)", TaskView, {"a": 1}, "task")
    ours = _replace(spec, replacements)
    assert (ours.regex.pattern, ours.handler_class, ours.kwargs, ours.name) == (
        spec.regex.pattern,
        JobTaskView,
        {"a": 1},
        "task",
    )
    other = URLSpec("/tasks", TasksView)
    assert _replace(other, replacements) is other
    assert _replace(("/metrics", Metrics), replacements) == ("/metrics", GuardedMetrics)
    assert _replace(("/x", TasksView, {"b": 2}), replacements) == ("/x", TasksView, {"b": 2})


@pytest.mark.parametrize(("view", "base"), [(JobTaskView, TaskView), (JobTasksView, TasksView)])
def test_a_page_gets_the_address_of_the_explorer_and_our_template(monkeypatch, view, base):
    rendered = []
    monkeypatch.setattr(base, "render", lambda self, *names, **values: rendered.append((names, values)))
    page = view.__new__(view)
    page.explorer = "https://jobs.example"
    page.render("task.html", task=1)
    ((names, values),) = rendered
    assert names[0].endswith("/workers/flower_templates/task.html")
    assert values == {"task": 1, "explorer": "https://jobs.example"}


def end_request(monkeypatch, error: Exception) -> ExceptionInfo:
    """Return what Celery's parent process logs of a child's error."""
    passed = []
    monkeypatch.setattr(Request, "on_failure", lambda self, *arguments: passed.append(arguments))
    try:
        raise error
    except Exception:
        information = ExceptionInfo()
    assert information.traceback
    SliceRequest.__new__(SliceRequest).on_failure(information, False, True)
    assert passed == [(information, False, True)]
    SliceRequest.__new__(SliceRequest).on_failure(information)
    assert passed[1] == (information, True, False)
    return information


@pytest.mark.parametrize("error", [SliceFailed("failed: down"), WorkerLostError("killed")])
def test_a_failed_slice_and_a_lost_child_are_logged_without_a_traceback(monkeypatch, error):
    information = end_request(monkeypatch, error)
    assert information.traceback == "" and str(information.exception) == str(error)


def test_another_error_is_logged_with_its_traceback(monkeypatch):
    information = end_request(monkeypatch, ValueError("a bug"))
    assert "ValueError" in information.traceback and str(information.exception) == "a bug"


def test_the_log_line_of_a_failed_slice_is_no_error_of_the_task():
    assert SliceTask.throws == (SliceFailed,) and SliceTask.Request == "workers.slice_failed:SliceRequest"
