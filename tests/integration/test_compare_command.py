"""`lumos compare` as a person runs it: tables in 80 columns, JSON, refusals, two episodes side by side."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queries.jobs import get_job
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import main
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Score
from lumos_queue.reports.episode_values import EpisodeReport, Step
from lumos_queue.reports.json_values import as_json
from lumos_queue.reports.report import make_report
from lumos_queue.reports.step_pairs import StepPair, pair_steps
from lumos_queue.reports.totals import ModelUse, Tokens
from lumos_queue.submission.store import read_rows
from lumos_queue.util.wording import format_probability
from tests.fake_endpoint import FakeEndpoint, from_mapping
from tests.gold_agent import gold_replies
from tests.scored_jobs import create_scored_job, tasks_of
from tests.stored_rows import run_embedded

#: Clears a terminal, sets its title, writes from right to left.
TERMINAL = "\x1b[2J\x1b]0;title\x07\u202eevil\x00"


@pytest.fixture
def stored(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'lumos.db'}"
    for name, value in {"LUMOS_HOME": str(tmp_path), "LUMOS_DATABASE_URL": url, "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    database = open_database(url)
    upgrade(database)
    yield database
    database.close()


def once(*values):
    return [[value] for value in values]


def test_tables_fit_into_eighty_columns_and_conclude(stored, capsys):
    first = create_scored_job(stored, once(*[1] * 39, *[0] * 73, *[1] * 100, *[0] * 88))
    other = create_scored_job(stored, once(*[0] * 39, *[1] * 73, *[1] * 100, *[0] * 88), endpoint="tgi://better:1")
    third = create_scored_job(stored, once(*[0] * 39, *[1] * 39, *[1] * 100, *[0] * 122), formulation="one-pass")
    assert main(["compare", first, other, third]) == 0
    output = capsys.readouterr().out
    assert all(len(line) <= 80 for line in output.splitlines())
    assert "+11.3 [+4.5, +18.1]" in output and "73 / 39" in output and "100 / 88" in output
    words = " ".join(output.replace("\N{NO-BREAK SPACE}", " ").split())
    assert f"{other} is better than {first} by 11.3 points of accuracy [+4.5, +18.1] (p = 0.0034" in words
    assert f"No difference between {first} and {third} is shown" in words
    assert f"Fixed: 73 tasks on which {other} is better than {first}, the first 5" in words
    assert f"{other}-39 {first}-39 1 0 question 39" in words
    assert "one-pass" in output and "better" in output


def test_json_has_prices_and_pairs_on_one_line(stored, capsys):
    first, other = create_scored_job(stored, once(1, 0, 0)), create_scored_job(stored, once(1, 1, 0))
    prices = ["--price-prompt", "2", "--price-completion", "10"]
    assert main(["compare", first, other, "--json", "--list", "1", "--show", "1", *prices]) == 0
    comparison = json.loads(capsys.readouterr().out.splitlines()[-1])
    (pair,) = comparison["comparisons"]
    assert (pair["a"], pair["b"], pair["fixed"], len(pair["fixed_pairs"])) == (first, other, 1, 1)
    assert comparison["jobs"][0]["per_right"]["usd"] == pytest.approx(0.0009)
    assert pair["side_by_side"][0]["a"]["episode"] == f"{first}-1"
    assert main(["compare", first, other, *prices]) == 0
    assert "price per right answer" in capsys.readouterr().out
    assert main(["compare", first, other]) == 0
    assert "price" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (["--price-prompt", "2"], "both prices"),
        (["--price-prompt", "inf", "--price-completion", "1"], "finite"),
        (["--metric", "speed"], "speed"),
        (["--list", "-1"], "--list"),
    ],
)
def test_wrong_options_are_one_line_and_exit_code_two(stored, capsys, more, problem):
    first, other = create_scored_job(stored, once(1, 0)), create_scored_job(stored, once(0, 1))
    assert main(["compare", first, other, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and problem in captured.err and len(captured.err.splitlines()) == 1


def test_refusals_are_one_line(stored, capsys):
    first = create_scored_job(stored, once(1, 0))
    for arguments in (
        [first],
        [first, first],
        [first, "nothing-1"],
        [first, "zzz"],
        [f"{first}-0", f"{first}-9"],
        [f"{first}-0", f"{first}-1"],
    ):
        assert main(["compare", *arguments]) == 2, arguments
        captured = capsys.readouterr()
        assert captured.out == "" and len(captured.err.splitlines()) == 1 and captured.err.startswith("lumos: "), (
            captured.err
        )


def test_names_and_questions_with_escapes_are_shown_harmless(stored, capsys):
    rows = [replace(task, question=f"[red]{TERMINAL}\n{task.row}") for task in tasks_of(2)]
    first = create_scored_job(stored, once(1, 0), rows, name=f"[bold]{TERMINAL}")
    other = create_scored_job(stored, once(0, 1), rows, name="plain" * 2_000)
    assert main(["compare", first, other]) == 0
    output = capsys.readouterr().out
    assert output.count("[red]") == 2 and "[bold]" in output
    assert main(["compare", first, other, "--list", "0", "--show", "1"]) == 0
    episodes = capsys.readouterr().out
    assert episodes.count("[red]") == 2, "the question above each pair of episodes"
    output += episodes
    assert "\x1b" not in output
    assert max(map(len, output.splitlines())) <= 80


def test_reports_of_several_samples_tell_flips_and_pass_at_k(stored, capsys):
    job = create_scored_job(stored, [[1, 1], [1, 0], [0, 0], [1, None]])
    with stored.engine.connect() as connection:
        samples = as_json(make_report(connection, get_job(connection, job)))["samples"]
    assert (samples["flips"]["flipped"], samples["flips"]["of"], samples["flips"]["too_few"]) == (1, 3, 1)
    assert [(estimate["k"], estimate["value"], estimate["of"]) for estimate in samples["pass_at"]] == [
        (1, 0.625, 4),
        (2, 0.666667, 3),
    ]
    assert main(["report", job]) == 3  # one item ended with infra_error
    output = capsys.readouterr().out
    assert "flip rate" in output and "33.3 %" in output and "pass@2" in output and "66.7 %" in output
    single = create_scored_job(stored, once(1, 0))
    with stored.engine.connect() as connection:
        assert "samples" not in as_json(make_report(connection, get_job(connection, single)))


def make_episode(ending: str, answer: str | None, *steps: tuple[str, str, str]) -> EpisodeReport:
    stored_steps = [
        Step(at=str(number), who=who, what=what, result=result) for number, (who, what, result) in enumerate(steps)
    ]
    return EpisodeReport(
        episode="a-1",
        benchmark="b",
        row="1",
        sample=0,
        formulation="iterative",
        formulation_version=1,
        question="q",
        gold=None,
        attempt=1,
        ending=ending,
        answer=answer,
        message="",
        use=ModelUse(0, Tokens(0, 0)),
        scores=(),
        origin="run",
        level="",
        parent=None,
        verdicts=(),
        earlier_endings=(),
        steps=stored_steps,
    )


def test_steps_are_paired_up_to_where_they_part():
    plan, good, bad = ("subgoal", "Add them.", ""), ("tool", "R1 = Calculator(2 + 3)", "5"), ("tool", "R1 = 2", "2")
    pairs = pair_steps(make_episode("answered", "5", plan, good), make_episode("answered", "2", plan, bad, good))
    assert pairs.first_difference == 0  # a subgoal and its action are one row
    assert pairs.steps[0] == StepPair("Add them.\nR1 = Calculator(2 + 3) → 5", "Add them.\nR1 = 2 → 2")
    assert [step.a for step in pairs.steps][1:] == ["answered: 5", ""]
    same = make_episode("limit", None, plan, good)
    assert pair_steps(same, same).first_difference is None
    assert pair_steps(same, same).steps[-1].a == "limit: no answer"


def test_two_episodes_are_shown_side_by_side_with_the_first_difference_marked(stored, capsys):
    first, other = create_scored_job(stored, once(1, 0)), create_scored_job(stored, once(0, 0))
    assert main(["compare", f"{first}-0", f"{other}-0"]) == 0
    output = capsys.readouterr().out
    assert f"{first}-0" in output and "did and answered the same" in output


def test_a_benchmark_that_judges_with_nan_ends_the_episode_and_says_so(tmp_path, monkeypatch):
    """It is refused where it is made, on both databases alike: the episode ends with infra_error, and is in no pair."""
    rows = read_rows(open_benchmark("wordmath"), None, "test", skip_bad_rows=False)
    monkeypatch.setattr(type(rows.benchmark), "score", lambda *_: (Score("accuracy", math.nan),))
    with FakeEndpoint(from_mapping(gold_replies(rows.benchmark, rows.tasks[:2], "iterative"))) as server:
        agent = Agent({"planner": server.tgi, "grounder": server.tgi}, "maths")
        job = Evaluate(Infer("wordmath", rows.digest, "test", "iterative", agent, limit=2))
        database, identifier = run_embedded(tmp_path, job, rows)
    with database.engine.connect() as connection:
        report = as_json(make_report(connection, get_job(connection, identifier)))
    database.close()
    assert report["endings"] == {"infra_error": 2} and report["metrics"] == {}
    assert "the metric 'accuracy' gave nan, which is not a number from 0 to 1" in report["problems"][0]["message"]


@pytest.mark.parametrize(("p", "text"), [(0.0016946, "0.0017"), (0.5917, "0.59"), (1e-9, "< 0.0001"), (1.0, "1.00")])
def test_p_values_have_two_digits(p, text):
    assert format_probability(p) == text
