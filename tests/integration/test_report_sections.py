"""Figures that only some jobs have: each is in a section of the report."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from typing import Any

from rich.console import Console

from db.engine.lease import Lease
from db.queries.jobs import get_job
from lumos_queue.pages.blocks import Block
from lumos_queue.pages.material import Material, read_material
from lumos_queue.pages.sections.costs import costs
from lumos_queue.pages.sections.overview import overview
from lumos_queue.pages.sections.scores import scores
from lumos_queue.pages.terminal import print_blocks
from lumos_queue.reports.adopted_figures import AdoptedFigures
from lumos_queue.reports.calls_check import CallsCheck
from lumos_queue.reports.conversion import ConversionFigures
from lumos_queue.reports.score_values import JobScores, Metric, SetScores
from lumos_queue.reports.scorers import Scorers
from lumos_queue.reports.totals import ModelUse, Tokens
from lumos_queue.reports.training import TrainingFigures, TrainingPart
from tests.integration.databases import sqlite_only
from tests.integration.test_training_rows import train_job
from tests.scored_jobs import create_scored_job

pytestmark = sqlite_only


def read(database, job: str, **parts: Any) -> Material:
    """The data of a job whose report has these parts."""
    with database.engine.connect() as connection:
        material = read_material(connection, [get_job(connection, job)], Lease(15.0))
    (read_job,) = material.jobs
    return replace(material, jobs=[replace(read_job, report=replace(read_job.report, **parts))])


def lines(blocks: Iterable[Block]) -> list[str]:
    """The lines of these blocks in a wide terminal, with single spaces."""
    console = Console(file=StringIO(), width=200, color_system=None)
    print_blocks(console, list(blocks))
    assert isinstance(console.file, StringIO)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_tasks_with_too_few_judged_samples_are_counted(database):
    material = read(database, create_scored_job(database, [[1, 1], [1, 0], [0, 0], [1, None]]))
    text_lines = lines(overview(material))
    assert "figure value 95 % interval tasks too few samples judged" in text_lines
    assert any(line.startswith("flip rate 33.3 % [") and line.endswith("] 3 1") for line in text_lines)
    assert any(line.startswith("pass@1 62.5 % [") and line.endswith("] 4 0") for line in text_lines)


def test_a_rate_of_no_task_has_no_interval(database):
    material = read(database, create_scored_job(database, [[1, None], [None, 0]]))
    assert "flip rate – – 0 2" in lines(overview(material))


def test_trials_and_sample_sets_are_shown_if_a_mean_is_not_over_items(database):
    job = create_scored_job(database, [[1], [0]], of=3)
    label = f"{job} iterative"
    assert f"{label} accuracy 6" in lines(scores(read(database, job)))
    plain = Metric(0.5, (0.1, 0.9), 2)
    in_sets = Metric(0.5, (0.1, 0.9), 4, sets=SetScores([0.25, 0.75], 0.353553))
    text_lines = lines(scores(read(database, job, scores=_scores(accuracy=plain, strict=in_sets))))
    assert f"{label} strict 4 25.0 %, 75.0 % 35.4 points" in text_lines and f"{label} accuracy 2" not in text_lines
    text_lines = lines(scores(read(database, job, scores=_scores(accuracy=plain, strict=plain))))
    assert not any(line.startswith("Trials of") for line in text_lines)


def _scores(**metrics: Metric) -> JobScores:
    """The scores of a job with these metrics, the main metric first."""
    main = next(iter(metrics.values()))
    return JobScores(
        metric=next(iter(metrics)), value=main.value, ci95=main.ci95, complete=True, metrics=metrics, judged=2
    )


def test_what_adopted_episodes_cost_is_apart_from_what_the_job_cost(database):
    adoption = AdoptedFigures(3, 5, "abcdefgh", ModelUse(1234, Tokens(56789, 321)))
    job = create_scored_job(database, [[1], [0]])
    (read_job,) = read(database, job).jobs
    for calls in (4, 0):
        episodes = replace(read_job.report.episodes, use=ModelUse(calls, Tokens(5, 6)))
        text_lines = lines(costs(read(database, job, adopted=adoption, episodes=episodes)))
        assert f"{job} iterative 3 of 5 abcdefgh 1,234 56,789 321" in text_lines
        assert any(line.startswith("Tokens of prompts") for line in text_lines) == bool(calls)
    assert "adopted 3 of 5" in lines(overview(read(database, job, adopted=adoption)))


def test_episodes_with_the_expected_number_of_calls_are_counted(database):
    job = create_scored_job(database, [[1], [0]])
    text_lines = lines(costs(read(database, job, calls_as_expected=CallsCheck(2, 1))))
    assert any(line.endswith(" 1 of 2") for line in text_lines) and any("expected calls" in line for line in text_lines)


def test_remarks_on_figures_are_in_the_first_look(database):
    job = create_scored_job(database, [[1], [0]])
    scoring, rows = Scorers("wrong", {}, ["the last layer is used"]), "8 of 9 rows are overlong"
    conversion = ConversionFigures(
        source="wordmath",
        rows_in=9,
        rows_per_second=None,
        accepted={},
        levels={},
        at_least={},
        verdicts=[],
        average_turns=None,
        remarks=[rows],
        outcomes=[],
        outcome_totals={},
    )
    text_lines = lines(overview(read(database, job, conversion=conversion, scoring=scoring)))
    assert {f"{job}: 8 of 9 rows are overlong", f"{job}: the last layer is used"} <= set(text_lines)


WINDOW = {"fit": "a", "step": 20, "loss": 1.5, "dev_loss": 2.25, "tokens": 3000, "seconds": 2.0}


def test_losses_of_a_training_job_without_stored_steps_are_shown(database):
    job = train_job(database)
    windows = [TrainingPart(1, WINDOW | {"tokens_per_second": 1500.0}), TrainingPart(2, {"counts": {"rows": 7}})]
    training = TrainingFigures(windows, None, None, None, None)
    text_lines = lines(overview(read(database, job, training=training)))
    assert "fit steps done loss dev loss tokens tokens/s time" in text_lines
    assert "a 20 1.5000 2.2500 3,000 1,500 2.00 s" in text_lines
