"""`lumos report JOB --html FILE --md FILE`: what the files say and hold, on SQLite and PostgreSQL."""

from __future__ import annotations

import base64
import re

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from lxml import html as parsed
from sqlalchemy import select, update

from db.engine.connection import Database, open_database
from db.engine.lease import Lease
from db.journal.artifacts import store_artifact
from db.models import EpisodeRow, Item, JobRow, TaskRow
from db.queries.jobs import get_job
from lumos_queue.pages.compose import read_page
from lumos_queue.pages.fit import write_small
from lumos_queue.pages.html import render_html
from lumos_queue.pages.limits import MAX_BYTES
from lumos_queue.pages.markdown import render_markdown
from lumos_queue.pages.material import Prices
from tests.claims import new_job
from tests.integration.databases import convert_wordmath
from tests.page_jobs import BROKEN, FAILED, OPEN, RIGHT, WRONG, evaluation
from tests.page_parts import HOSTILE, read_numbers, require_harmless, table_rows


def pages(database: Database, *jobs: str, prices: Prices | None = None) -> tuple[str, str]:
    """The jobs' report as HTML and as Markdown."""
    with database.engine.connect() as connection:
        read = read_page(connection, [get_job(connection, job) for job in jobs], Lease(15.0), prices)
    written = [write_small(read, render) for render in (render_html, render_markdown)]
    assert all(len(page) <= MAX_BYTES for page in written)
    return written[0].decode(), written[1].decode()


def section(page, key: str):
    (node,) = page.xpath(f"//section[@id='{key}']") or [None]
    return node


def headings(page) -> list[str]:
    return [one.text for one in page.xpath("//main/section/h2")]


def figure(page, title: str):
    (node,) = [candidate for candidate in page.iter("figure") if candidate.findtext("figcaption").startswith(title)]
    return node


def numbers(figure_node) -> dict[str, list[str]]:
    """The rows of a figure's table by their first cells."""
    return {row[0]: row[1:] for row in table_rows(figure_node.find(".//table"))}


def test_a_page_says_what_became_of_every_item(database):
    job = evaluation(database, [RIGHT] * 3 + [WRONG] * 2 + [FAILED])
    page = require_harmless(pages(database, job)[0])
    assert headings(page) == [
        "Summary",
        "Scores",
        "How episodes ended",
        "Time",
        "Throughput",
        "Tokens and price",
        "Instructive failures",
        "Provenance",
    ]
    outcomes = figure(page, "Items by outcome")
    (row,) = [cells for name, cells in numbers(outcomes).items() if name.startswith(job)]
    assert row == ["6", "3 (50.0 %)", "2 (33.3 %)", "1 (16.7 %)"]
    assert read_numbers(outcomes, ".//rect[@x]", "width") == [50.0, pytest.approx(33.33), pytest.approx(16.67)]
    assert "50.0 %" in page.text_content()
    assert not page.xpath("//p[@class='warning']")


def test_every_chart_has_its_table_with_the_same_numbers(database):
    jobs = [
        evaluation(database, [RIGHT, WRONG, FAILED, BROKEN, OPEN][: 5 - number], number=number) for number in range(2)
    ]
    page = require_harmless(pages(database, *jobs, prices=Prices(0.5, 1.5))[0])
    figures = page.xpath("//figure")
    assert len(figures) >= 7
    for one in figures:
        cells = {cell for row in table_rows(one.find(".//table")) for cell in row}
        words = " ".join(" ".join(row) for row in table_rows(one.find(".//table")))
        tips = [tip.text for tip in one.iterfind(".//svg//*/title")]
        assert tips, one.findtext("figcaption")
        for tip in tips:
            tip_numbers = re.findall(r"[-+]?[0-9][0-9,.]*", tip.rpartition(": ")[2])
            assert tip_numbers, tip
            assert all(number in words for number in tip_numbers), f"{tip} is not in {cells}"
        assert one.find("svg").get("role") == "img"


def test_failures_of_infrastructure_are_apart_and_the_score_is_a_range(database):
    job = evaluation(database, [RIGHT, WRONG, BROKEN, OPEN])
    text, markdown = pages(database, job)
    page = require_harmless(text)
    row = numbers(figure(page, "Items by outcome"))
    assert next(cells for name, cells in row.items() if name.startswith(job)) == [
        "4",
        "1 (25.0 %)",
        "1 (25.0 %)",
        "1 (25.0 %)",
        "1 (25.0 %)",
    ]
    scores = figure(page, "evaluate wordmath")
    assert scores.find(".//rect[@class='bounds']") is not None
    assert "incomplete: 25.0 to 75.0 %" in text
    assert "incomplete: 25.0 to 75.0 %" in markdown
    assert "Infrastructure failures" in text
    assert [one.text_content() for one in page.xpath("//article//span[@class='name']")] == [f"{job}-1"], (
        "wrong ones only"
    )
    (warning,) = page.xpath("//p[@class='warning']")
    assert job in warning.text


@pytest.mark.parametrize("text", HOSTILE)
def test_what_models_files_and_people_say_is_shown_as_text(database, text):
    jobs = [evaluation(database, [RIGHT, WRONG, FAILED, BROKEN], text, number=number) for number in range(2)]
    written, markdown = pages(database, *jobs)
    page = require_harmless(written)
    page_text = re.sub(r"\s+", " ", page.text_content())
    visible = re.sub(r"\s+", " ", re.sub("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", "�", text)).strip()
    assert page_text.count(visible) >= 6, "in questions, answers, messages, names"
    for character in "\x1b\x07\u202e":
        assert character not in written + markdown
    rendered = parsed.fromstring(cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE))
    assert not rendered.xpath("//script | //img | //a | //b | //h4 | //hr | //del | //style | //i | //textarea")
    assert not [one for one in rendered.iter() for name in one.attrib if name not in ("align", "lang")]


def test_a_job_without_any_finished_episode_has_no_empty_sections(database):
    job = evaluation(database, [OPEN, OPEN])
    page = require_harmless(pages(database, job)[0])
    assert headings(page) == ["Summary", "Scores", "How episodes ended", "Provenance"]
    assert "incomplete: 0.0 to 100.0 %" in page.text_content()
    for one in page.xpath("//main/section"):
        assert len(one) > 1, "a heading alone"


def test_an_inference_has_no_scores_and_its_failures_are_those_that_failed(database):
    job = evaluation(database, [WRONG, FAILED, WRONG], kind="infer")
    page = require_harmless(pages(database, job)[0])
    assert "Scores" not in headings(page)
    assert [one.text_content() for one in page.xpath("//article//span[@class='name']")] == [f"{job}-1"]


def test_a_training_job_has_neither_episodes_nor_scores(database):
    job = new_job(database, tasks=0, kind="train", windows=2)
    page = require_harmless(pages(database, job)[0])
    assert headings(page) == ["Summary", "Provenance"]


def test_a_conversion_says_which_rows_were_accepted_and_how_they_were_checked(tmp_path):
    job = convert_wordmath(limit=4)(tmp_path, "")
    database = open_database(f"sqlite:///{tmp_path / 'lumos.db'}")
    page = require_harmless(pages(database, job)[0])
    database.close()
    rows, checks = (table_rows(table)[1:] for table in section(page, "conversion").iter("table"))
    (outcomes,) = (table_rows(table)[1:] for table in page.iter("table") if table_rows(table)[0][0] == "outcome")
    ((_, *cells, turns, speed),) = rows
    assert cells == ["wordmath", "4", *["4 (100.0 %)"] * 3] and float(turns) > 1 and float(speed.replace(",", "")) > 0
    assert [row[1:] for row in checks] == [["perturbed", "4 (100.0 %)", "4 (100.0 %)", "100.0 %"]]
    assert [(outcome, level, count) for outcome, level, _, count in outcomes] == [("accepted", "perturbed", "4")]


def test_a_job_whose_tasks_were_chosen_says_that_its_score_is_no_accuracy(database):
    job = evaluation(database, [RIGHT, WRONG])
    with database.writer.begin() as connection:
        connection.execute(update(JobRow).where(JobRow.id == job).values(chosen="score<1", parent="other"))
    for text in pages(database, job):
        assert "not an accuracy" in text


def test_prices_are_there_only_if_they_were_given(database):
    job = evaluation(database, [RIGHT, WRONG])
    assert "$" not in require_harmless(pages(database, job)[0]).text_content()
    page = require_harmless(pages(database, job, prices=Prices(10.0, 100.0))[0])
    assert next(cells for name, cells in numbers(figure(page, "Tokens")).items() if name.startswith(job))[-2:] == [
        "$0.006000",
        "$0.006000",
    ]


def test_long_texts_are_cut_with_what_is_left_out_and_the_page_stays_small(database):
    job = evaluation(database, [WRONG] * 12, "<&>" * 20_000)
    text, markdown = pages(database, job)
    assert len(require_harmless(text).xpath("//article")) == 10
    assert "characters left out" in text
    assert "To keep this file small" in text
    assert "To keep this file small" in markdown


def test_jobs_on_the_same_tasks_are_compared_and_what_one_got_right_is_shown_beside(database):
    first, other = (
        evaluation(database, course, same_tasks=True, number=number)
        for number, course in enumerate(
            ([RIGHT, WRONG, WRONG, RIGHT, WRONG, WRONG], [WRONG, RIGHT, RIGHT, RIGHT, RIGHT, FAILED])
        )
    )
    text, markdown = pages(database, first, other, prices=Prices(1.0, 1.0))
    page = require_harmless(text)
    node = figure(page, f"wordmath (test), accuracy: differences to {first} in points")
    rows, heads = numbers(node), table_rows(node.find(".//table"))[0][1:]
    assert [head.split()[0] for head in heads] == [first, other]
    assert rows["difference, points"][0] == "" and rows["difference, points"][1].startswith("+33.3 [")
    assert (rows["pairs"][1], rows["fixed / broken"][1]) == ("6", "3 / 1")
    assert f"No difference between {first} and {other} is shown" in text
    assert all("McNemar" in one for one in (text, markdown))
    episodes = [one.text_content() for one in page.xpath("//article/h3/span")]
    beside = [one.text_content().strip() for one in page.xpath("//details[@class='other']/summary")]
    assert set(episodes[:1]) <= {f"{first}-1", f"{first}-2", f"{first}-4", f"{other}-0"}
    assert len(beside) == 4, "of the four tasks that one got right and the other wrong"


def test_jobs_that_cannot_be_compared_say_why(database):
    jobs = [evaluation(database, [RIGHT] * size, number=size) for size in (2, 3)]
    page = require_harmless(pages(database, *jobs)[0])
    assert any("Not compared" in one.text for one in page.xpath("//section/p[@class='warning']"))


@pytest.mark.long
def test_a_hundred_jobs_are_one_small_page(database):
    jobs = [
        evaluation(database, [RIGHT, WRONG, FAILED], f"question {number} {HOSTILE[0]} {'x' * 300}", number=number)
        for number in range(100)
    ]
    text, markdown = pages(database, *jobs)
    page = require_harmless(text)
    assert all(job in text and job in markdown for job in jobs)
    assert len(page.xpath("//article")) == 10


def test_a_clock_that_was_set_back_and_a_job_named_twice(database):
    job = evaluation(database, [RIGHT, WRONG])
    with database.writer.begin() as connection:
        connection.execute(update(EpisodeRow).where(EpisodeRow.job == job).values(finished_at=1.0))
        connection.execute(update(JobRow).where(JobRow.id == job).values(started_at=5e9, finished_at=4e9))
    page = require_harmless(pages(database, job, job)[0])
    assert len(page.xpath("//section[@aria-labelledby='summary-head']//tbody/tr/th[text()='items with a result']")) == 1
    assert (
        len(page.xpath("//section[@aria-labelledby='summary-head']//thead/tr/th[starts-with(text(), '" + job + "')]"))
        == 1
    )


def test_many_jobs_are_the_rows_of_the_first_tables(database):
    jobs = [evaluation(database, [RIGHT, WRONG], number=number) for number in range(6)]
    text, markdown = pages(database, *jobs)
    page = require_harmless(text)
    first, *_ = page.xpath("//section[@aria-labelledby='summary-head']//table")
    heads = [head.text_content().split("\n")[0] for head in first.xpath(".//tbody/tr/th")]
    assert heads == jobs and "items with a result" in [head.text for head in first.xpath("./thead/tr/th")]
    assert all(f"| {job}<br>" in markdown for job in jobs)


@pytest.mark.parametrize(("size", "held"), [(2_000, True), (100_000, False)])
def test_small_pictures_are_in_the_page_and_large_ones_are_named(database, size, held):
    job = evaluation(database, [WRONG])
    data = b"\x89PNG\r\n\x1a\n" + b"x" * size
    with database.writer.begin() as connection:
        digest = store_artifact(connection, data, "image/png")
        task = connection.execute(select(Item.task).where(Item.job == job)).scalar_one()
        connection.execute(update(TaskRow).where(TaskRow.id == task).values(inputs={"image": digest}))
    text, markdown = pages(database, job)
    sources = require_harmless(text).xpath("//article//img/@src")
    assert sources == ([f"data:image/png;base64,{base64.b64encode(data).decode()}"] if held else [])
    assert digest[:12] in text
    assert digest[:12] in markdown
