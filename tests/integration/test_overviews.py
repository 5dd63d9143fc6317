"""The overview of jobs: the score first, nothing that a reader must not miss, and few lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, event, update

from db.engine.connection import open_database
from db.engine.lease import Lease
from db.engine.migrate import upgrade
from db.models import EpisodeRow, ItemSum
from db.queries.jobs import get_job
from lumos_queue.pages.material import read_overview
from lumos_queue.pages.sections.overview import overview
from lumos_queue.pages.terminal import render_blocks
from lumos_queue.reports.comparison_values import JobsComparison
from lumos_queue.settings import Settings
from tests.page_jobs import BROKEN, FAILED, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE
from tests.scored_jobs import create_scored_job, tasks_of


@pytest.fixture
def stored(lumos) -> Iterator:
    lumos.set(COLUMNS=80)
    database = open_database(Settings(home=lumos.home).database)
    upgrade(database)
    yield database
    database.close()


def positions_of(text: str, *parts: str) -> list[int]:
    return [text.index(part) for part in parts]


def test_the_score_is_the_first_row_and_the_overview_of_a_job_is_short(lumos, stored):
    job = create_scored_job(stored, [[1], [1], [0], [1]])
    result = lumos("report", job)
    assert result.code == 0 and len(result.lines) < 40 and max(map(len, result.lines)) <= 80
    assert result.lines[0] == "evaluate wordmath (test), iterative" and result.lines[1].strip() == job
    assert result.lines[3].startswith("accuracy") and "75.0 % [30.1, 95.4]" in result.lines[3]
    positions = positions_of(result.out, "items with a result", "\nanswered ", "model calls", "\nmodel  ", "\ncode")
    assert positions == sorted(positions) and result.lines[-1].startswith("code")
    assert f"lumos report {job} --all" in result.err


def test_a_report_reads_the_models_that_servers_reported_once(lumos, stored):
    job = create_scored_job(stored, [[1], [0]])
    statements: list[str] = []

    def add_statement(*arguments: object) -> None:
        statements.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", add_statement)
    try:
        assert lumos("report", job, "--json").code == 0
    finally:
        event.remove(Engine, "before_cursor_execute", add_statement)
    assert len([statement for statement in statements if "FROM job_endpoint" in statement]) == 1


def test_jobs_of_one_benchmark_are_beside_each_other_and_others_are_apart(lumos, stored):
    jobs = [create_scored_job(stored, [[1], [0]], digest=f"{seed:064x}", seed=seed) for seed in range(2)]
    other = create_scored_job(stored, [[1], [1], [1]], tasks_of(3, "other", "gsm8k"), digest="f" * 64)
    lines = lumos("report", *jobs, other).lines
    heads, *_ = [line for line in lines if jobs[0] in line]
    assert heads.split() == jobs and [line.split() for line in lines if "seed 0" in line] == [
        ["seed", "0", "seed", "1"]
    ]
    assert lines.index("evaluate gsm8k (test), iterative") > lines.index(heads)
    assert sum(line.startswith("accuracy") for line in lines) == 2


def test_an_incomplete_job_has_a_range_instead_of_a_score_and_the_command_that_continues_it(lumos, stored):
    job = create_scored_job(stored, [[1], [1], [0], [None]])
    result = lumos("report", job)
    assert result.code == 3 and len(result.lines) < 40
    assert any(
        line.startswith("accuracy") and line.endswith("incomplete: 50.0 to 75.0 % [15.0, 95.4]")
        for line in result.lines
    )
    words = " ".join(result.out.split())
    assert f"{job} is incomplete: 1 of its items ended with infra_error. Continue with: lumos resume {job}" in words
    assert any(line.endswith(f"lumos resume {job}") for line in result.lines), "a command is on one line"
    assert f"infra_error 1 (25.0 %) {job}-3 the server is gone" in words
    assert "items with a result 3 of 4" in words
    positions = positions_of(result.out, "items with a result", f"{job} is incomplete", "Endings")
    assert positions == sorted(positions), "what is missing is said before how the rest ended"


def test_each_ending_with_failures_has_an_example_that_can_be_shown(lumos, stored):
    job = evaluation(stored, [RIGHT, WRONG, FAILED, WRONG, BROKEN, FAILED], "How far?")
    lines = lumos("report", job).out.partition("Endings\n")[2].splitlines()[2:5]
    assert [line.split()[0] for line in lines] == ["answered", "action_error", "infra_error"]
    assert f"3 (50.0 %)  {job}-1" in lines[0] and "expected" in lines[0]
    assert f"2 (33.3 %)  {job}-2" in lines[1] and lines[1].endswith("How far?")
    for line in lines:
        (example,) = [word for word in line.split() if word.startswith(job)]
        assert lumos("show", example).code == 0


def test_a_job_without_failures_has_no_example(lumos, stored):
    result = lumos("report", create_scored_job(stored, [[1], [1]]))
    assert "answered  2 (100.0 %)" in result.out and "lumos show" not in result.out


def test_jobs_beside_each_other_have_their_difference_as_compare_computes_it(lumos, stored):
    first = create_scored_job(stored, [[0]] * 9 + [[1]] * 11)
    second = create_scored_job(stored, [[1]] * 20, endpoint="tgi://better:1", digest="c" * 64)
    pair = lumos("compare", first, second, "--json").json["comparisons"][0]
    words = " ".join(lumos("report", first, second).out.split())
    low, high = (f"{100 * end:+.1f}" for end in pair["ci95"])
    assert f"difference to {first}, points +45.0 [{low}, {high}]" in words
    assert f"{second} is better than {first} by 45.0 points of accuracy" in words


def test_a_job_that_was_run_again_is_beside_its_former_job(lumos, stored):
    former = create_scored_job(stored, [[0]] * 9 + [[1]] * 11)
    job = create_scored_job(stored, [[1]] * 20, endpoint="tgi://better:1", digest="c" * 64, parent=former)
    chosen = create_scored_job(stored, [[1]] * 20, digest="d" * 64, parent=former, chosen="score<1")
    other = create_scored_job(stored, [[1]], tasks_of(1, "other", "gsm8k"), digest="e" * 64, parent=former)
    assert f"{job} is better than {former} by 45.0 points" in " ".join(lumos("report", job).out.split())
    for alone in (former, chosen, other):
        result = lumos("report", alone)
        assert result.code == 0 and "difference to" not in result.out, "chosen or other rows show no difference"


def test_jobs_that_cannot_be_compared_say_why_below_their_figures(lumos, stored):
    jobs = [
        create_scored_job(stored, [[1]] * 3),
        create_scored_job(stored, [[1]] * 3, digest="c" * 64, metric="strict"),
    ]
    refusal = lumos("compare", *jobs).err.strip().removeprefix("lumos: ")
    result = lumos("report", *jobs)
    assert refusal and " ".join(refusal.split()) in " ".join(result.out.split())


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_hostile_texts_of_a_model_are_neither_obeyed_nor_wider_than_the_terminal(lumos, stored, width):
    lumos.set(COLUMNS=width)
    jobs = [evaluation(stored, [RIGHT, WRONG, FAILED, BROKEN], " ".join(HOSTILE), number=number) for number in range(2)]
    for arguments in ([jobs[0]], jobs, [*jobs, "--all"]):
        result = lumos("report", *arguments)
        assert result.code == 3
        assert not {"\x1b", "\x07", "\u202e", "\r"} & set(result.out + result.err)
        assert all(len(line) <= width or "lumos " in line for line in result.lines)


def test_all_sections_have_what_the_overview_leaves_out(lumos, stored):
    job = create_scored_job(stored, [[1], [0]], of=3)
    overview, whole = lumos("report", job).out, lumos("report", job, "--all").out
    assert whole.startswith(overview)
    titles = ("Scores", "Tokens and price", "Provenance")
    positions = [whole.index(f"\n{title}\n") for title in titles]
    assert positions == sorted(positions) and not any(f"\n{title}\n" in overview for title in titles)
    assert "Trials of evaluate wordmath (test)" in whole and "answer at the limit" in whole


def test_an_episode_that_is_right_at_its_limit_is_no_example_of_a_failure(lumos, stored):
    job = evaluation(stored, [RIGHT, RIGHT, WRONG], "How far?")
    with stored.writer.begin() as connection:
        connection.execute(update(EpisodeRow).where(EpisodeRow.job == job).values(ending="limit", message="too long"))
        connection.execute(update(ItemSum).where(ItemSum.job == job).values(ending="limit"))
    (line,) = [line for line in lumos("report", job).lines if line.startswith("limit")]
    assert line.split()[:4] == ["limit", "3", "(100.0", "%)"] and f"{job}-2" in line and "too long" in line


def test_items_without_a_score_are_neither_right_nor_wrong(lumos, stored):
    unscored = create_scored_job(stored, [[None], [None]])
    words = " ".join(lumos("report", unscored).out.split())
    assert "items with a result 0 of 2 no result yet 2 (100.0 %)" in words
    assert " right " not in words and " wrong " not in words


def test_a_difference_by_another_metric_is_not_below_the_main_metric(stored):
    jobs = [create_scored_job(stored, [[1], [0]], digest=f"{seed:064x}", seed=seed) for seed in range(2)]
    with stored.engine.connect() as connection:
        material = read_overview(connection, [get_job(connection, job) for job in jobs], Lease(15.0))
    assert "difference to" in render_blocks(list(overview(material)))
    (comparison,) = material.comparisons
    assert isinstance(comparison, JobsComparison)
    by_another = replace(material, comparisons=[replace(comparison, metric="strict")])
    assert "difference to" not in render_blocks(list(overview(by_another)))
