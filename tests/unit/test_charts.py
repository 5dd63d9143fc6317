"""Charts: where marks are follows from the values, and every text in them is escaped."""

from __future__ import annotations

import math

import pytest
from lxml import etree

from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.charts.forest import Estimate, draw_forest
from lumos_queue.pages.charts.lines import Mark, Point, draw_curve
from lumos_queue.pages.charts.scale import round_up
from lumos_queue.pages.charts.svg import MAX_LABEL, MAX_LINE
from tests.page_parts import HOSTILE, read_numbers

NAN = math.nan


def parse(svg: str) -> etree._Element:
    return etree.fromstring(svg)


def test_marks_and_whiskers_are_where_their_values_are_on_the_axis():
    svg = parse(
        draw_forest(
            "k",
            "Scores",
            [Estimate("a", 0.4, 0.3, 0.5, amount="40.0 %"), Estimate("b", 0.1, kind="paper", amount="10")],
        )
    )
    assert svg.xpath("string(./svg[@class='axis'])") == "0 %15 %30 %45 %60 %", "ends where the highest whisker fits"
    assert read_numbers(svg, ".//circle", "cx") == [
        pytest.approx(100 * 0.4 / 0.6, abs=0.01),
        pytest.approx(16.67, abs=0.01),
    ]
    assert read_numbers(svg, ".//line[@class='whisker']", "x1") == [50.0]
    assert read_numbers(svg, ".//line[@class='whisker']", "x2") == [pytest.approx(83.33, abs=0.01)]
    assert [one.text for one in svg.iterfind(".//circle/title")] == ["a: 40.0 %", "b: 10"]


def test_what_a_score_can_still_become_is_drawn_instead_of_a_value():
    row = Estimate("a", 0.2, 0.1, 0.9, bounds=(0.2, 0.8), amount="incomplete")
    svg = parse(draw_forest("k", "Scores", [row]))
    assert svg.find(".//circle") is None
    assert (read_numbers(svg, ".//rect", "x"), read_numbers(svg, ".//rect", "width")) == ([20.0], [60.0])


def test_differences_have_their_nothing_in_the_middle():
    svg = parse(draw_forest("k", "Difference", [Estimate("b − a", -0.1, -0.2, 0.0)], -0.2, 0.2, "points"))
    assert svg.xpath("string(./svg[@class='axis'])") == "-20-100+10+20"
    assert (read_numbers(svg, ".//line[@class='zero']", "x1"), read_numbers(svg, ".//circle", "cx")) == ([50.0], [25.0])


def test_parts_of_a_bar_follow_each_other_and_fill_it():
    parts = [
        BarPart("right", 0.25, "1", "right"),
        BarPart("none", 0.0, "0", "c0"),
        BarPart("wrong", 0.75, "3", "wrong"),
    ]
    svg = parse(draw_bars("k", "Outcomes", [Bar("a", parts, "4 items")], axis_end=1.0, ticks=("0 %", "100 %")))
    assert read_numbers(svg, ".//rect", "x") == [0.0, 25.0]
    assert read_numbers(svg, ".//rect", "width") == [25.0, 75.0]
    assert [one.get("class") for one in svg.iterfind(".//rect")] == ["bar right", "bar wrong"]


def test_bars_without_an_end_are_as_long_as_they_are_to_the_longest():
    bars = [Bar(str(value), [BarPart("x", value, str(value), "c0")], str(value)) for value in (5, 20, 0)]
    assert read_numbers(parse(draw_bars("k", "Counts", bars)), ".//rect", "width") == [25.0, 100.0]


def test_a_curve_goes_from_left_to_right_and_from_nothing_up():
    points = [Point(0, 0.0, "0 s", "0"), Point(1, 4.0, "1 s", "4"), Point(4, 2.0, "4 s", "2")]
    svg = parse(draw_curve("k", "Rate", points, "episodes/s"))
    assert read_numbers(svg, ".//circle", "cx") == [0.0, 25.0, 100.0]
    assert read_numbers(svg, ".//circle", "cy") == [100.0, 0.0, 50.0]
    assert svg.find(".//polyline").get("points") == "0.00,100.00 25.00,0.00 100.00,50.00"


def test_a_second_curve_and_marks_have_the_scale_of_the_first():
    points = [Point(1, 4.0, "step 1", "4"), Point(5, 2.0, "step 5", "2")]
    second = [Point(3, 8.0, "after step 3", "8"), Point(5, 6.0, "after step 5", "6")]
    marks = [Mark(2, "window-end", "end of a window"), Mark(9, "restart", "continued")]
    best = Point(5, 6.0, "lowest", "6")
    svg = parse(draw_curve("k", "Loss", points, "nats", second=second, marks=marks, best=best))
    assert svg.xpath("string(./text[@class='axis'][1])") == "8 nats"
    assert read_numbers(svg, ".//circle[@class='c1']", "cx") == [50.0, 100.0]
    assert read_numbers(svg, ".//circle[@class='c1']", "cy") == [0.0, 25.0]
    (mark,) = svg.iterfind(".//svg[@class='marks']/line")
    assert (mark.get("class"), mark.get("x1"), mark.findtext("title")) == ("window-end", "25%", "end of a window")
    assert svg.find(".//circle[@class='best']").get("cy") == "25%"
    assert [text.text for text in svg.iterfind("./text")] == ["8 nats", "step 1", "step 5"], "of the first curve"
    assert svg.findtext("desc") == "nats; step 1: 4; step 5: 2; end of a window; lowest: 6"


@pytest.mark.parametrize(
    "best", [Point(2, 9.0, "too high", "9"), Point(3, 1.0, "too far", "1"), Point(2, NAN, "n", "n")]
)
def test_a_best_point_that_is_outside_the_chart_is_not_drawn(best):
    points = [Point(1, 4.0, "step 1", "4"), Point(2, 2.0, "step 2", "2")]
    assert parse(draw_curve("k", "Loss", points, "nats", best=best)).find(".//circle[@class='best']") is None


@pytest.mark.parametrize("value", [NAN, math.inf, -math.inf, None])
def test_what_is_no_number_is_told_and_not_drawn(value):
    row = Estimate("a", value, value, value, amount="nan")
    svg = parse(draw_forest("k", "Scores", [row, Estimate("b", 0.5, amount="50 %")]))
    assert len(svg.findall(".//circle")) == 1
    assert svg.find(".//line[@class='whisker']") is None
    drawn = parse(draw_bars("k", "Counts", [Bar("a", [BarPart("x", value, "nan", "c0")], "nan")]))
    assert drawn.find(".//rect") is None
    curve = parse(draw_curve("k", "Loss", [Point(1, value, "step 1", "inf"), Point(2, 1.0, "step 2", "1")], "nats"))
    assert len(curve.findall(".//circle")) == 1


def test_charts_of_nothing_are_empty():
    for svg in (draw_forest("k", "t", []), draw_bars("k", "t", []), draw_curve("k", "t", [], "x")):
        assert parse(svg).find("./title").text == "t"


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_of_a_chart_is_escaped(text):
    charts = [
        draw_forest("k", text, [Estimate(text, 0.5, 0.4, 0.6, amount=text)]),
        draw_bars("k", text, [Bar(text, [BarPart(text, 1.0, text, "c0")], text)]),
        draw_curve("k", text, [Point(0, 1.0, text, text), Point(1, 1.0, text, text)], text),
    ]
    for svg in charts:
        names = {one.tag for one in parse(svg).iter()}
        assert names <= {"svg", "title", "desc", "text", "line", "rect", "circle", "polyline"}
        assert "\x1b" not in svg
        assert "\u202e" not in svg


def test_a_chart_says_in_words_what_it_shows_and_long_labels_are_cut_in_it_only():
    label = "x" * 80
    svg = parse(draw_forest("scores", "Scores", [Estimate(label, 0.5, amount="50.0 %")]))
    assert svg.get("role") == "img"
    named = svg.get("aria-labelledby").split()
    assert [one.get("id") for one in (svg.find("title"), svg.find("desc"))] == named
    assert svg.find("desc").text == f"{label}: 50.0 %"
    assert len(svg.find(".//text[@class='label narrow']").text) == MAX_LABEL
    assert svg.find(".//text[@class='label wide']").text == label
    amount = "incomplete: 20.0 to 60.0 % [13.6, 88.2]"
    long = parse(draw_forest("scores", "Scores", [Estimate(label, 0.5, bounds=(0.2, 0.6), amount=amount)]))
    assert len(long.find(".//text[@class='label narrow']").text + amount) == MAX_LINE


@pytest.mark.parametrize(
    ("most", "end"),
    [(0.0, 1.0), (NAN, 1.0), (0.9, 1.0), (1.0, 1.0), (11, 20.0), (0.034, 0.04), (70, 80.0), (99, 100.0)],
)
def test_axes_end_at_round_numbers(most, end):
    assert round_up(most) == pytest.approx(end)
