"""Text from outside within rich's markup: shown as it is, in time that grows with its length alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.markup import render

from lumos_queue.cli.output import escape
from lumos_queue.cli.trajectory import MAX_CELL, with_markup

PARTS = ("\\", "[", "]", "/", "a", "b", "[/]", "[bold]", "[none][/none]", "[@x(1)]", "[link=", "#", "=", "\n")


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_escaped_text_is_shown_as_it_is_and_opens_or_closes_no_tag(text):
    shown = render(f"[dim]{escape(text)}[/]{escape(text)}", emoji=False)
    assert shown.plain == 2 * text
    assert {str(span.style) for span in shown.spans} <= {"dim", "none"}


@pytest.mark.parametrize("unit", ["\\", "\\[", "[a", "[/", "\\\\[a]"])
def test_no_long_run_of_backslashes_is_left_for_patterns_that_try_each_part_of_it(unit):
    text = unit * 10_000
    markup = escape(text)
    assert max(map(len, re.findall(r"\\+", markup))) <= 64
    assert render(markup, emoji=False).plain == text


def test_of_a_long_text_in_a_table_the_middle_is_left_out():
    cell = [("\n" * 1_000_000 + "end", "dim"), ("x" * MAX_CELL, "")]
    (markup,) = with_markup([cell])
    shown = render(markup, emoji=False).plain
    assert "characters left out" in shown and "end" in shown and shown.endswith("x" * MAX_CELL)
    assert len(shown) < 2 * MAX_CELL + 100
