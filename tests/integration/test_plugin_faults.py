"""Benchmarks and formulations of others that do not do what they have to: told in one line each, with the place."""

from __future__ import annotations

import logging

import pytest

import lumos_queue as lq


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))


class Capitals(lq.Benchmark):
    """Two tasks, whose answers are judged right."""

    name, domain, licence, needs_data, metrics = "capitals", "maths", "CC0-1.0", False, ("right",)

    def read(self, path, split, **options):
        for number in range(1, 6):
            yield lq.Task(self.name, "", str(number), f"The capital of country {number}?", gold={"answer": "?"})

    def score(self, task, result):
        return [lq.Score("right", 1.0)]


class NoDomain(lq.Benchmark):
    name, licence = "nowhere", "MIT"


class OldYesNo(Capitals):
    yes_no = True


class UnknownAnswers(Capitals):
    answers = "letter"  # type: ignore[assignment]


class NoScore(lq.Benchmark):
    name, domain, licence, metrics = "unjudged", "maths", "MIT", ("right",)


class ReadsDicts(Capitals):
    def read(self, path, split, **options):
        yield {"question": "The capital?"}


class FailsToRead(Capitals):
    def read(self, path, split, **options):
        yield from Capitals.read(self, path, split)
        {}["answer"]


class FailsAtOnce(Capitals):
    def read(self, path, split, **options):
        return [{}["answer"]]


class Unavailable(Capitals):
    def score(self, task, result):
        raise lq.NeedsAttention("the judge sleeps")


class Misspelt(Capitals):
    def score(self, task, result):
        return [lq.Score("rihgt", 1.0)]


class Number(Capitals):
    def score(self, task, result):
        return [0.5]


class FailsToScore(Capitals):
    def score(self, task, result):
        return [lq.Score("right", 1 / 0)]


@lq.formulation(roles=("solver",), executes=False)
def without_outcome(task, agent):
    yield lq.Ask("solver", task.question)


def evaluate(benchmark, formulation="direct"):
    return lq.evaluate(benchmark, formulation=formulation, solver=lambda prompt: "7")


@pytest.mark.parametrize(
    ("benchmark", "told"),
    [
        (
            NoDomain(),
            r"^The domain of the benchmark '.*' is missing or no text: set the domain whose actions solve its tasks",
        ),
        (OldYesNo(), r"^The benchmark '.*' has the attribute yes_no, .*: write answers = 'yes_no' instead"),
        (
            UnknownAnswers(),
            r"^The attribute `answers` of the benchmark '.*' is 'letter': expected one of number, .*\.$",
        ),
        (NoScore(), r"^The benchmark '.*' has metrics but no method `score`: write this method\.$"),
        (ReadsDicts(), r"^The benchmark 'capitals' gives {'question': 'The capital\?'} as row 1: expected an lq\.Task"),
        (FailsAtOnce(), r"fails while its rows are read: KeyError: 'answer' \(test_plugin_faults\.py, line \d+\)\.$"),
        (FailsToRead(), r"fails while its rows are read: KeyError: 'answer' \(test_plugin_faults\.py, line \d+\)\.$"),
    ],
)
def test_one_that_cannot_be_submitted_is_refused_and_nothing_is_stored(benchmark, told):
    with pytest.raises(lq.SpecError, match=told) as error:
        evaluate(benchmark)
    assert "\n" not in str(error.value)
    assert evaluate("wordmath").wait(timeout=60) and len(lq.list_jobs()) == 1


@pytest.mark.parametrize(
    ("benchmark", "formulation", "told"),
    [
        (
            Misspelt(),
            "direct",
            "the benchmark 'capitals' gives a score of 'rihgt': expected lq.Score with a metric of r",
        ),
        (Number(), "direct", "the benchmark 'capitals' gives 0.5 as a score: expected lq.Score with a metric of right"),
        (
            FailsToScore(),
            "direct",
            "the benchmark 'capitals' fails to score: ZeroDivisionError: division by zero (te",
        ),
        (
            Capitals(),
            without_outcome,
            f"the formulation '{__name__}:without_outcome' ends with None: expected an lq.Outcome",
        ),
    ],
)
def test_one_that_fails_on_every_episode_is_a_fault_told_once_and_no_wrong_answer(benchmark, formulation, told, caplog):
    with caplog.at_level(logging.ERROR):
        report = evaluate(benchmark, formulation).wait(timeout=60).report()
    assert (report["endings"], report["complete"], report["bounds"]) == ({"infra_error": 5}, False, [0, 1])
    (problem,) = report["problems"]
    assert problem["message"].startswith(told) and "\n" not in problem["message"] and problem["episodes"] == 5
    assert [one.getMessage() for one in caplog.records if told in one.getMessage()] == [f"item 0: {problem['message']}"]
    assert lq.list_jobs()[0].episodes("score>=0").count() == 0


def test_what_infrastructure_ended_has_no_score_and_is_no_wrong_answer():
    def fail(prompt):
        raise OSError("no more memory")

    job = lq.evaluate(Capitals(), formulation="direct", solver=fail).wait(timeout=60)
    assert job.report()["endings"] == {"infra_error": 5}
    assert job.episodes().count() == 5 and job.episodes("score>=0").count() == 0
