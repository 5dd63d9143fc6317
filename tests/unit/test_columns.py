"""`lumos jobs` on terminals of any width: one line for each job, whatever its texts are."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from lumos_queue.cli.job_list import print_jobs
from lumos_queue.cli.text_columns import fit_columns, pad, plain_column, truncate
from lumos_queue.reports.listed_job import ListedJob, ScoreSoFar

HOSTILE = (
    "",
    "a",
    "plain name",
    "三个样本的实验 基线模型",
    "x" * 200,
    "\x1b[31mred\x1b[2J",
    "two\nlines\ttab",
    "[bold]no[/]",
    "é́́́ combining",
    "\N{FAMILY} 👩‍👩‍👧 emoji",
    "right ‮ left",
    "half \ud800",
    "zero​width",
    "�",
)


def score(value: float, ci95=None, bounds=None) -> ScoreSoFar:
    return ScoreSoFar("accuracy", 300, 300, value, ci95, bounds)


def job(number: int = 0, **changes) -> ListedJob:
    usual = ListedJob(
        job=f"k3f9a2c{number % 10}",
        kind="evaluate",
        benchmark="gsm8k",
        formulation="iterative",
        models={"planner": "small", "grounder": "small"},
        real_state="done",
        reason="",
        done=300,
        items=300,
        age=75.0,
        score=score(0.412, (0.358, 0.468)),
    )
    return replace(usual, **changes)


def lines_of(capsys, monkeypatch, width: int, jobs: list[ListedJob]) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    print_jobs(jobs, False)
    return capsys.readouterr().out.splitlines()


VARIED = [
    *(job(number, name=name, tags={"k": name}) for number, name in enumerate(HOSTILE)),
    job(models={"planner": "tgi://" + "h" * 90, "grounder": "三" * 60}, benchmark="b" * 80),
    job(kind="train", recipe="sft", benchmark="", score=None, models={}, real_state="running", done=3, items=125_000),
    job(score=None, real_state="waiting", reason="tgi://gpu-1:8080 does\nnot answer \x1b[2J" * 9),
    job(score=None, real_state="nobody works on it", done=0),
    job(score=score(0.1, (0, 1), (0.1, 0.967)), real_state="nobody works on it", done=40),
    job(score=score(0.5)),
    job(score=score(-12.5)),
    job(age=9e9, items=10**7),
]


@pytest.mark.parametrize("width", [1, 5, 12, 20, 40, 60, 79, 80, 99, 100, 140, 300])
def test_each_job_has_one_line_that_fits(capsys, monkeypatch, width):
    lines = lines_of(capsys, monkeypatch, width, VARIED)
    assert len(lines) == 1 + len(VARIED)
    assert all(line.isprintable() for line in lines)
    most = max(width, 3)  # the id and the state have a cell each in any case
    assert max(map(cell_len, lines)) <= most, [line for line in lines if cell_len(line) > most]


def test_at_80_columns_a_usual_list_shows_all_that_matters(capsys, monkeypatch):
    jobs = [
        job(1, name="baseline"),
        job(
            2,
            name="second try",
            models={"planner": "lumos-7b"},
            real_state="running",
            done=40,
            score=score(0.1, (0.07, 0.98), (0.1, 0.967)),
        ),
        job(3, score=None, real_state="nobody works on it", done=0, age=3 * 86_400),
        job(4, score=None, real_state="waiting", reason="tgi://gpu-1:8080 does not answer", done=0),
    ]
    assert lines_of(capsys, monkeypatch, 80, jobs) == [
        "job      name     model    benchmark       score, % [95 %]   state   items  age",
        "k3f9a2c1 baseline small    gsm8k iterative 41.2 [35.8, 46.8] done    300    75 s",
        "k3f9a2c2 second … lumos-7b gsm8k iterative 10.0 to 96.7      running 40/300 75 s",
        "k3f9a2c3          small    gsm8k iterative nobody works on it        0/300  3 d",
        "k3f9a2c4          small    gsm8k iterative waiting: tgi://gpu-1:808… 0/300  75 s",
    ]


def test_what_there_is_no_room_for_is_named(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "74")
    print_jobs([job(1, name="a long name of a job", tags={"team": "maths"})], False)
    assert capsys.readouterr().err == "no room for: tags. A wider terminal shows more, and --json all of it\n"
    monkeypatch.setenv("COLUMNS", "90")
    print_jobs([job(1, name="a long name of a job", tags={"team": "maths"})], False)
    ran = capsys.readouterr()
    assert "team=ma" in ran.out and "gsm8k iterative" in ran.out and not ran.err


def test_a_list_that_is_read_by_a_program_is_not_cut(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    print_jobs([job(name="x" * 200, tags={"a": "b"})], True)
    ran = capsys.readouterr()
    assert "x" * 200 in ran.out and ran.out.rstrip().endswith("a=b") and ran.out.count("\n") == 2
    assert "older jobs: lumos jobs --before k3f9a2c0" in ran.err


@pytest.mark.parametrize(
    ("text", "width", "middle", "shown"),
    [
        ("abcdef", 6, False, "abcdef"),
        ("abcdef", 5, False, "abcd…"),
        ("abcdef", 5, True, "ab…ef"),
        ("三个样本", 8, False, "三个样本"),
        ("三个样本", 7, False, "三个样…"),
        ("三个样本", 6, False, "三个…"),
        ("三个样本", 2, False, "…"),
        ("三个样本", 1, False, "…"),
        ("ab", 1, False, "…"),
        ("ab", 0, False, ""),
    ],
)
def test_text_is_cut_by_cells(text, width, middle, shown):
    assert truncate(text, width, middle) == shown
    assert cell_len(pad(shown, width)) == max(width, cell_len(shown))


def test_the_least_important_column_goes_first_and_the_first_one_never():
    columns = [plain_column(name, [name * 8], 8, rank) for name, rank in (("a", 0), ("b", 2), ("c", 1))]
    assert [(one.head, size) for one, size in fit_columns(columns, 26)] == [("a", 8), ("b", 8), ("c", 8)]
    assert [one.head for one, _ in fit_columns(columns, 25)] == ["a", "c"]
    assert [(one.head, size) for one, size in fit_columns(columns, 5)] == [("a", 5)]


def test_a_list_without_any_score_has_a_column_of_states(capsys, monkeypatch):
    lines = lines_of(capsys, monkeypatch, 80, [job(score=None, real_state="queued", done=0)])
    assert "state" in lines[0] and "queued" in lines[1]
