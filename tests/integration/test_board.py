"""The table of models and benchmarks: what shares a row, a column and a cell, and the figures of each cell."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import lumos_queue as lq
from db.queries.jobs import get_job
from db.queue.tags import change_tags
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.pages.sections.board import board as board_blocks
from lumos_queue.pages.terminal import render_blocks
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.reports.board import Board, BoardCell, make_board
from lumos_queue.scoring.statistics import compute_weighted_interval, wilson
from lumos_queue.settings import Settings
from tests.integration.databases import sqlite_only
from tests.scored_jobs import create_scored_job, tasks_of

MATHS = tasks_of(4)
FACTS = tasks_of(4, dataset="pages", benchmark="hotpotqa")


def agent(url: str, domain: str = "maths", **settings) -> Agent:
    """An agent as a submission makes it: with the limit of its domain, and with the tools' model of the QA domain."""
    tools = {"qa": "tgi://qa:1"} if domain == "complex_qa" else {}
    roles = {"planner": url, "grounder": url} | tools
    return Agent(roles, domain, max_subgoals=DOMAINS.load(domain).max_subgoals, **settings)


def create(database, values: Sequence[float], agent: Agent, tasks: Sequence[Task] = MATHS, **options) -> str:
    digest = f"{len(created):064x}"
    created.append(
        create_scored_job(database, [[value] for value in values], tasks, agent=agent, digest=digest, **options)
    )
    return created[-1]


created: list[str] = []  #: ids of jobs, because each has another digest


def read(database, *jobs: str, by: str = "model") -> Board:
    with database.engine.connect() as connection:
        return make_board(connection, [get_job(connection, job) for job in jobs], by)


def rounded(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(number, 6) for number in numbers)


def test_a_board_has_a_row_for_each_agent_and_a_column_for_each_benchmark(database):
    first = create(database, [1, 1, 1, 0], agent("tgi://one:1"))
    seeds = [
        create(database, right, agent("tgi://one:1", "complex_qa", answer_by="qa"), FACTS, seed=seed)
        for seed, right in enumerate(([1, 1, 0, 0], [1, 0, 0, 0]))
    ]
    incomplete = create(database, [1, 0, 1, 1], agent("tgi://two:1"), pending=1)
    table = read(database, incomplete, *seeds, first)  # the order is that of submission
    assert [(column.benchmark, column.tasks, column.note) for column in table.columns] == [
        ("wordmath", 4, ""),
        ("hotpotqa", 4, ""),
    ]
    assert [row.label for row in table.rows] == ["one:1", "two:1"] and not table.left_out
    (maths, facts), (other, missing) = (row.cells for row in table.rows)
    assert missing is None
    assert maths == BoardCell(jobs=[first], value=0.75, ci95=rounded(wilson(3, 4)), n=4, complete=True)
    # Two seeds of four tasks: 3 of 8 are right, and the items of a task are one cluster.
    clusters = [(0, 1.0), (1, 1.0), (2, 0.0), (3, 0.0), (0, 1.0), (1, 0.0), (2, 0.0), (3, 0.0)]
    interval = compute_weighted_interval([(task, value, 1.0) for task, value in clusters])
    assert interval is not None and interval[0] == 0.375
    assert facts == BoardCell(
        jobs=seeds, value=0.375, ci95=rounded(interval[1:]), n=8, complete=True, by_seed={0: 0.5, 1: 0.25}
    )
    assert other is not None and (other.jobs, other.value, other.n, other.complete) == ([incomplete], 0.5, 4, False)
    assert other.bounds == (0.5, 0.75), "two of four are right, and a third may be"


def test_an_incomplete_seed_gives_the_range_of_all_seeds(database):
    seeds = [create(database, [1, 1, 0, 0], agent("tgi://one:1"))]
    seeds.append(create(database, [1, 1, 1, 1], agent("tgi://one:1"), seed=5, pending=2))
    ((cell,),) = (row.cells for row in read(database, *seeds).rows)
    assert cell is not None and (cell.value, cell.n, cell.complete) == (0.5, 8, False)
    assert cell.bounds == (0.5, 0.75) and cell.by_seed == {0: 0.5, 5: 0.5}


@sqlite_only
def test_agents_of_one_model_have_rows_that_say_how_they_differ(database):
    jobs = [
        create(database, [1, 0, 0, 0], agent("tgi://one:1")),
        create(database, [1, 1, 0, 0], agent("tgi://one:1", sampling=Sampling(temperature=0.7))),
        create(database, [1, 1, 1, 0], agent("tgi://one:1"), formulation="integrated"),
    ]
    table = read(database, *jobs)
    assert [row.label for row in table.rows] == [
        "one:1, iterative, temperature 0.0",
        "one:1, iterative, temperature 0.7",
        "one:1, integrated, temperature 0.0",
    ]
    assert [[cell and cell.value for cell in row.cells] for row in table.rows] == [[0.25], [0.5], [0.75]]


@sqlite_only
def test_defaults_of_a_domain_make_no_other_agent_and_what_was_chosen_does(database):
    maths = create(database, [1, 0, 0, 0], agent("tgi://one:1"))
    facts = create(database, [1, 1, 0, 0], agent("tgi://one:1", "complex_qa", answer_by="qa"), FACTS)
    assert [len(row.cells) for row in read(database, maths, facts).rows] == [2]
    for settings in ({"shots": 3}, {"at_limit": "conclude"}, {"sampling": Sampling(temperature=0.5)}):
        chosen = create(database, [1, 1, 0, 0], agent("tgi://one:1", "complex_qa", answer_by="qa", **settings), FACTS)
        assert len(read(database, maths, chosen).rows) == 2


@sqlite_only
def test_agents_that_differ_on_the_same_rows_never_share_a_cell(database):
    jobs = [
        create(database, [float(number), 0, 0, 0], agent("tgi://one:1", "complex_qa", answer_by=answer_by), FACTS)
        for number, answer_by in enumerate(("qa", "last"))
    ]
    table = read(database, *jobs)
    assert [[cell and cell.jobs for cell in row.cells] for row in table.rows] == [[[jobs[0]]], [[jobs[1]]]]
    assert [row.label for row in table.rows] == ["one:1, answer_by qa", "one:1, answer_by last"]


@sqlite_only
@pytest.mark.parametrize(
    ("change", "notes"),
    [
        ({"tasks": tasks_of(4, dataset="more")}, ["rows data", "rows more"]),
        ({"tasks": tasks_of(6)[:2], "values": [1, 0]}, None),
        ({"limit": 2}, ["4 tasks", "2 tasks"]),
        ({"metric": "strict"}, ["metric accuracy", "metric strict"]),
        ({"chosen": "score<1"}, ["not chosen", "chosen by score<1"]),
    ],
)
def test_scores_of_another_meaning_are_in_another_column(database, change, notes):
    usual = create(database, [1, 0, 0, 0], agent("tgi://one:1"))
    options = {"tasks": MATHS, "values": [1, 0, 0, 0]} | change
    other = create(database, options.pop("values"), agent("tgi://one:1"), **options)
    table = read(database, usual, other)
    (row,) = table.rows
    assert [cell and cell.jobs for cell in row.cells] == [[usual], [other]]
    if notes:
        assert [column.note for column in table.columns] == notes
        assert all(note in render_blocks(list(board_blocks(table))) for note in notes)


@sqlite_only
def test_rows_are_formulations_or_values_of_a_tag(database):
    jobs = [
        create(database, [1, 0, 0, 0], agent("tgi://one:1"), formulation=formulation)
        for formulation in ("iterative", "integrated")
    ]
    change_tags(database, jobs[0], tags={"study": "maths"})
    assert [row.label for row in read(database, *jobs, by="formulation").rows] == ["iterative", "integrated"]
    labels = [row.label for row in read(database, *jobs, by="tag:study").rows]
    assert labels == ["maths", "without the tag study"]
    for by in ("seed", "tag", "tag:", ""):
        with pytest.raises(SpecError, match=r"--by .* is unknown: give model, formulation, or tag:KEY"):
            read(database, *jobs, by=by)


@sqlite_only
def test_a_job_without_scores_is_left_out_and_named(database):
    scored = create(database, [1, 0, 0, 0], agent("tgi://one:1"))
    inferred = create(database, [1, 0, 0, 0], agent("tgi://one:1"), kind="infer")
    table = read(database, scored, inferred)
    assert list(table.left_out) == [inferred] and len(table.rows) == 1
    assert f"{inferred} is left out: it is of kind 'infer'" in render_blocks(list(board_blocks(table)))
    with pytest.raises(SpecError, match="None of these jobs is an evaluation"):
        read(database, inferred)


@sqlite_only
def test_cells_have_the_score_its_interval_the_items_and_the_jobs(database):
    first = create(database, [1, 1, 1, 0], agent("tgi://one:1"))
    seeds = [
        create(database, right, agent("tgi://two:1"), FACTS, seed=seed)
        for seed, right in enumerate(([1, 1, 0, 0], [1, 0, 0, 0]))
    ]
    incomplete = create(database, [1, 0, 1, 1], agent("tgi://two:1"), pending=1)
    text = render_blocks(list(board_blocks(read(database, first, *seeds, incomplete))))
    low, high = (f"{100 * bound:.1f}" for bound in wilson(3, 4))
    assert f"75.0 % [{low}, {high}]" in text and f"n 4, {first}" in text
    assert "37.5 % [" in text and f"n 8, {seeds[0]}, {seeds[1]}" in text and "seeds: 50.0 %, 25.0 %" in text
    assert "incomplete: 50.0 to 75.0 %" in text and text.startswith("Scores by model and benchmark\n")
    assert text.count("–") == 1 and "Compare two cells with: lumos compare JOB JOB" in text


@sqlite_only
def test_the_command_and_the_function_give_the_same_table(database, lumos, tmp_path):
    lumos.set(LUMOS_DATABASE_URL=database.url)
    jobs = [
        create(database, [1, 1, 1, 0], agent("tgi://one:1")),
        create(database, [1, 0, 0, 0], agent("tgi://two:1"), FACTS),
    ]
    lumos("tag", jobs[0], "study=maths")
    values = lumos("board", "--json").json
    assert [row["label"] for row in values["rows"]] == ["one:1", "two:1"]
    assert values["rows"][0]["cells"] == [
        {"jobs": [jobs[0]], "value": 0.75, "ci95": list(rounded(wilson(3, 4))), "n": 4, "complete": True},
        None,
    ]
    settings = Settings(home=lumos.home, database_url=database.url)
    board = lq.board(deployment=settings)
    assert board.values == values and lq.board(jobs[::-1], deployment=settings).values == values
    assert repr(board) == "<Board by model: 2 × 2>"
    lumos.set(COLUMNS=120)
    assert lumos("board", *jobs).out.split() == str(board).split()
    for arguments in (["--tag", "study=maths"], ["--where", "benchmark=wordmath"], [jobs[0]]):
        assert [row["label"] for row in lumos("board", *arguments, "--json").json["rows"]] == ["one:1"]
    assert lumos("board", "--by", "tag:study", "--json").json["rows"][0]["label"] == "maths"
    files = tmp_path / "board.html", tmp_path / "board.md"
    assert lumos("board", "--html", files[0], "--md", files[1]).code == 0
    assert all("75.0 %" in file.read_text() and jobs[0] in file.read_text() for file in files)
    assert files[1].read_text() == board.to_markdown() or "Models and benchmarks" in board.to_markdown()
    assert lumos("board", "--html", files[0]).code == 2, "the file exists"
    assert lumos("board", "--by", "colour").code == 2


@sqlite_only
def test_the_command_and_the_function_select_the_same_jobs(database, lumos):
    lumos.set(LUMOS_DATABASE_URL=database.url)
    settings = Settings(home=lumos.home, database_url=database.url)
    first, second = (create(database, [1, 0, 0, 0], agent(f"tgi://{name}:1")) for name in ("one", "two"))
    create(database, [1, 0, 0, 0], agent("tgi://one:1"), kind="infer")
    for where, jobs in (("", [first, second]), ("model=two:1", [second])):
        board = lq.board(where=where, deployment=settings)
        assert [job for row in board["rows"] for cell in row["cells"] for job in cell["jobs"]] == jobs
        assert board.values == lumos("board", "--where", where, "--json").json
    for arguments, where, error in (
        ([], "model=three:1", "No job matches model=three:1 kind=evaluate."),
        ([first], "model=two:1", "Give either jobs or where=, not both"),
    ):
        with pytest.raises(SpecError, match=error):
            lq.board(arguments, where=where, deployment=settings)
        refusal = lumos("board", *arguments, "--where", where)
        assert refusal.code == 2 and error.replace("where=,", "--where,") in refusal.err


@sqlite_only
@pytest.mark.parametrize(
    ("filters", "option"),
    [
        (["--tag", "study=maths"], "--tag"),
        (["--where", "benchmark=wordmath"], "--where"),
        (["--where", "benchmark=wordmath", "--tag", "study=maths"], "--where"),
    ],
)
def test_a_board_of_named_jobs_refuses_the_filter_by_its_option(database, lumos, filters, option):
    lumos.set(LUMOS_DATABASE_URL=database.url)
    refusal = lumos("board", create(database, [1, 0, 0, 0], agent("tgi://one:1")), *filters)
    assert refusal.code == 2 and f"Give either jobs or {option}, not both" in refusal.err


@sqlite_only
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_board_fits_into_a_terminal(database, lumos, width):
    lumos.set(LUMOS_DATABASE_URL=database.url, COLUMNS=width)
    for url in ("tgi://one:1", "tgi://two:1"):
        for number in range(4):
            tasks = tasks_of(4, dataset=f"data{number}", benchmark=f"file:own_questions_{number}")
            create(database, [1, 0, 0, 0], agent(url), tasks)
    result = lumos("board")
    assert result.code == 0 and max(map(len, result.lines)) <= width
    assert all(job in result.out for job in created[-8:])
