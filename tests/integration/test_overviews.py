"""The first look at jobs: the score first, nothing that a reader must not miss, and few lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, event

from db.engine.connection import open_database
from db.engine.migrate import upgrade
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


def labels(lines: list[str]) -> list[str]:
    """The labels of the table's rows."""
    start = next(number for number, line in enumerate(lines) if line.startswith("─")) + 1
    return [line[:25].strip() for line in lines[start:] if line[:1].strip()]


def test_the_score_is_the_first_row_and_the_overview_of_a_job_is_short(lumos, stored):
    job = create_scored_job(stored, [[1], [1], [0], [1]])
    result = lumos("report", job)
    assert result.code == 0 and len(result.lines) < 40 and max(map(len, result.lines)) <= 80
    assert result.lines[0] == "evaluate wordmath (test), iterative" and result.lines[1].strip() == job
    first, *others = labels(result.lines)
    assert first == "accuracy" and "75.0 % [30.1, 95.4]" in result.lines[3]
    assert others.index("items finished") < others.index("ended answered") < others.index("model calls")
    assert others[-1] == "code"
    assert f"lumos report {job} --all" in result.err


def test_a_report_reads_the_models_that_servers_reported_once(lumos, stored):
    jobs = [create_scored_job(stored, [[1], [0]], digest=f"{seed:064x}", seed=seed) for seed in range(2)]
    statements: list[str] = []

    def add_statement(*arguments: object) -> None:
        statements.append(str(arguments[2]))

    event.listen(Engine, "before_cursor_execute", add_statement)
    try:
        assert lumos("report", *jobs, "--json").code == 0
    finally:
        event.remove(Engine, "before_cursor_execute", add_statement)
    assert len([statement for statement in statements if "FROM job_endpoint" in statement]) == 1


def test_jobs_of_one_benchmark_are_beside_each_other_and_others_are_apart(lumos, stored):
    jobs = [create_scored_job(stored, [[1], [0]], digest=f"{seed:064x}", seed=seed) for seed in range(2)]
    other = create_scored_job(stored, [[1], [1], [1]], tasks_of(3, "other", "gsm8k"), digest="f" * 64)
    lines = lumos("report", *jobs, other).lines
    (heads,) = [line for line in lines if jobs[0] in line]
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
    assert "1 episode: infra_error: the server is gone" in words


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
    titles = ("Scores", "How episodes ended", "Tokens and price", "Provenance")
    positions = [whole.index(f"\n{title}\n") for title in titles]
    assert positions == sorted(positions) and not any(f"\n{title}\n" in overview for title in titles)
    assert "Trials of evaluate wordmath (test)" in whole and "answer at the limit" in whole
