"""Pages in a terminal: nothing is cut or too wide at any width, and nothing that a model wrote is obeyed."""

from __future__ import annotations

import builtins
import re
from collections.abc import Sequence
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from lumos_queue.cli import output
from lumos_queue.pages.blocks import Block, Episodes, Figure, Section, Table, Text
from lumos_queue.pages.terminal import GAP, INDENT, print_blocks, print_sections, render_blocks

WIDTHS = (60, 80, 120, 200)
QUESTION = "How many apples does Ann have, if she buys forty-two of them and eats all but seven on the way home?"
WIDE = Table(
    "Tasks of a job with a long title that needs more room than a narrow terminal has in a line of its own",
    ["task", "score", "tokens of the reply", "seconds", "calls", "question", "ended"],
    [[f"abcdefgh-{n}", f"{n / 7:.4f}", f"{n * 1234:,}", f"{n}.5 s", f"{n + 3}", QUESTION, "answered"] for n in (1, 2)],
    note="The note of this table has " + "many words, " * 12 + "and an end.",
    texts=frozenset({0, 5, 6}),
    ranks=(0, 1, 5, 4, 3, 2, 6),
)
JOBS = Table(
    "Six jobs",
    ["", *(f"job{n}\nmodel number {n}" for n in range(6))],
    [
        ["score", *(f"{n}1.5 % [40.0, 60.0]" for n in range(6))],
        ["best rule without a model", *(f"{n}2.0 %, most frequent" for n in range(6))],
        ["only the last has it", *[""] * 5, "last value"],
    ],
    "The note.",
    parallel=True,
)


def show(blocks: Sequence[Block], width: int) -> str:
    console = Console(file=StringIO(), width=width, color_system=None, highlight=False, emoji=False)
    print_blocks(console, blocks)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("table", [WIDE, JOBS])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_cut(table, width):
    screen = show([table, Text(QUESTION * 3)], width)
    assert max(map(cell_len, screen.splitlines())) <= width
    words = {part for word in screen.split() for part in (word, word.removesuffix(":"))}
    for text in (table.title, table.note, *table.heads, *(cell for row in table.rows for cell in row)):
        assert set(text.split()) <= words, text


def test_a_wide_terminal_shows_a_row_in_a_line():
    lines = [line for line in show([WIDE], 250).splitlines() if QUESTION in line]
    assert [line.split()[0] for line in lines] == ["abcdefgh-1", "abcdefgh-2"]


@pytest.mark.parametrize(
    ("width", "folded"),
    [(80, ["tokens of the reply: 2,468", "ended: answered"]), (60, ["seconds: 2.5 s", "ended: answered"])],
)
def test_columns_without_room_are_lines_below_their_row(width, folded):
    lines = show([WIDE], width).splitlines()
    heads = next(line for line in lines if line.startswith("task"))
    second = next(number for number, line in enumerate(lines) if line.startswith("abcdefgh-2"))
    for text in folded:
        assert text.split(":")[0] not in heads
        assert lines.index(" " * INDENT + text, second) > second
    assert "question" in heads, "the column of the highest rank leaves first"


def test_an_empty_value_of_a_folded_column_has_no_line():
    table = Table("", ["name", "value", "remark"], [["a" * 30, "1" * 20, ""], ["b", "2", "seen"]], ranks=(0, 0, 1))
    lines = show([table], 46).splitlines()
    assert [line for line in lines if "remark" in line] == [" " * INDENT + "remark: seen"]
    assert lines[-2].split() == ["b", "2"]


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_of_rank_zero_stay_beside_each_other(width):
    steps = [["", QUESTION, QUESTION.upper()], [">", "stop", "go on"]]
    screen = show([Table("", ["", "first", "second"], steps, texts=frozenset({0, 1, 2}), ranks=(0, 0, 0))], width)
    lines = screen.splitlines()
    assert max(map(cell_len, lines)) <= width and lines[0].split() == ["first", "second"]
    assert lines[2].split()[0] == "How" and " HOW " in lines[2]
    assert lines[-1].split() == [">", "stop", "go", "on"]


@pytest.mark.parametrize("width", WIDTHS)
def test_alike_columns_are_divided_into_tables_that_repeat_the_labels(width):
    screen = show([JOBS], width)
    parts = screen.split("\n\n")
    assert len(parts) == {60: 6, 80: 3, 120: 2, 200: 1}[width]
    assert screen.count("Six jobs") == screen.count("The note.") == 1
    for number in range(6):
        (part,) = [part for part in parts if f"job{number}" in part.split()]
        assert f"{number}1.5 % [40.0, 60.0]" in part and f"{number}2.0 %" in part
    assert all("score" in part for part in parts)
    assert sum("only the last" in part for part in parts) == 1 and "last value" in parts[-1]


def test_one_column_that_is_wider_than_the_terminal_is_wrapped_beside_its_label():
    table = Table("", ["", "job"], [["score", "word " * 30]], parallel=True)
    lines = show([table], 60).splitlines()
    assert lines[2].startswith("score") and "word" in lines[2] and sum(line.count("word") for line in lines) == 30


@pytest.mark.parametrize("width", [30, 60, 120])
def test_characters_of_two_cells_are_counted_as_two(width):
    rows = [["小明有三个苹果", "12"], ["abc", "3"], ["小明吃了一个苹果，他还有几个苹果？" * 4, "4,567"]]
    lines = show([Table("题目：" * 12, ["问题", "分数"], rows)], width).splitlines()
    assert max(map(cell_len, lines)) <= width
    ends = [cell_len(line) for line in lines if re.search(r"(?:^| )(?:12|3|4,567|分数)$", line)]
    assert len(ends) == 4 and len(set(ends)) == 1, "numbers are below each other"
    text = "".join(line.removesuffix("4,567").strip() for line in lines)
    assert rows[2][0] in text.replace(" ", "")


HOSTILE = (
    "[red]bold[/] [link=https://example.org]x[/link] \x1b[31mred\x1b[0m \x07 \u202egpj.exe \u2028 a\tb \\[" + "\\" * 99
)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_a_model_wrote_is_neither_markup_nor_a_command_of_the_terminal(width):
    table = Table(HOSTILE, ["", HOSTILE], [[HOSTILE, HOSTILE], ["x", "1"]], HOSTILE, texts=frozenset({0, 1}))
    screen = show([Text(HOSTILE, warns=True), table, Text(f"lumos report {HOSTILE}")], width)
    assert not set("\x1b\x07\u202e\u2028") & set(screen)
    assert screen.count("[red]bold[/]") >= 7 and screen.count("gpj.exe") == screen.count("[red]bold[/]")
    assert screen.count("\\") == screen.count("[red]bold[/]") * 100
    widths = [cell_len(line) for line in screen.splitlines() if not line.startswith("lumos report")]
    assert max(widths) <= width


def test_a_row_of_replaced_characters_is_as_wide_as_what_is_printed():
    screen = show([Table("", ["", "n"], [["\x1b\x1b\x1babc", "1"], ["x", "2"]])], 60)
    assert "\N{REPLACEMENT CHARACTER}" * 3 + "abc" in screen


class ZMQInteractiveShell:
    """A shell with the name by which rich recognises a notebook."""


def test_blocks_are_returned_as_text_in_a_notebook_too(monkeypatch):
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert render_blocks([Text("8 pairs")]) == "8 pairs\n"


@pytest.mark.parametrize("text", ["x" * 100_000, "\\" * 100_000, "[" * 100_000, "word " * 20_000])
def test_long_texts_are_whole(text):
    table = Table("", ["", "z"], [["a", text]], texts=frozenset({0, 1}))
    screen = show([table, Text(text)], 80)
    assert screen.count(text[0]) == 2 * text.count(text[0])
    assert max(map(len, screen.splitlines())) <= 80


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    "copied", ["lumos resume abcdefgh --only refused", "'lumos resume abcdefgh'", "/data/my/model"]
)
def test_a_command_and_a_path_stay_in_a_line(width, copied):
    text = f"The job is incomplete: {'8 of its items ended with infra_error, ' * 5}Continue with: {copied}"
    lines = show([Text(text)], width).splitlines()
    assert max(map(len, lines)) <= width and sum(copied in line for line in lines) == 1
    assert " ".join(lines) == text
    long = f"{copied} {'--option value ' * 20}".strip()
    assert show([Text(f"Continue with: {long}"), Text(long)], width).splitlines() == ["Continue with:", long, long]


class Terminal(StringIO):
    """A file that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def print_to(file: StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("sys.stdout", file)
    monkeypatch.setenv("TERM", "xterm-256color")
    output.print_page(Text("Careful.", warns=True), WIDE)
    return file.getvalue()


def test_a_terminal_has_bold_text_and_a_pipe_and_no_color_have_no_escape_codes(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    assert "\x1b[" in print_to(Terminal(), monkeypatch)
    piped = print_to(StringIO(), monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in piped and print_to(Terminal(), monkeypatch) == piped


def test_plain_text_leaves_out_what_pages_fold_and_a_terminal_shows_it():
    folded = Table("Folded", ["", "n"], [["a", "1"]], folded=True)
    figure = Figure("<svg/>", Table("Of a figure", ["", "n"], [["b", "2"]]))
    blocks = [Episodes([]), Text("First."), folded, figure]
    assert render_blocks(blocks) == "First.\n\nOf a figure\n   n\n────\nb  2\n"
    assert show(blocks, 80).startswith("First.\n\nFolded\n   n\n────\na  1\n\nOf a figure\n")


def test_sections_have_titles_unless_they_are_empty():
    console = Console(file=StringIO(), width=80, color_system=None)
    print_sections(console, [Section("a", "Empty"), Section("b", "[b]Full\x1b", [Text("text")])])
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue() == "\n[b]Full\N{REPLACEMENT CHARACTER}\ntext\n"


def test_numbers_are_aligned_to_the_right_and_texts_to_the_left():
    lines = show([Table("", ["name", "n"], [["a", "1"], ["longer", "1,000"]])], 80).splitlines()
    assert lines == ["name        n", "─" * (len("longer") + GAP + len("1,000")), "a           1", "longer  1,000"]


def test_a_short_text_of_the_last_column_ends_its_row_although_the_column_has_no_room():
    statuses = ["not run", "other weights: " + "many words " * 20]
    table = Table(
        "", ["row", "ours", "status"], [["a", "1", statuses[0]], ["b", "2", statuses[1]]], texts=frozenset({0, 2})
    )
    lines = show([table], 60).splitlines()
    assert [line.split()[-1] for line in (lines[0], lines[2])] == ["status", "run"] and lines[2].split()[:2] == [
        "a",
        "1",
    ]
    assert lines[3].split() == ["b", "2"] and lines[4].strip().startswith("status: other weights: many")


def test_two_jobs_stand_beside_each_other_although_a_row_has_long_texts():
    rows = [
        ["score", "50.0 % [40.0, 60.0]", "51.0 % [41.0, 61.0]"],
        ["rows", *["verified, the first 2 of 1,000 (generated)"] * 2],
    ]
    screen = show([Table("Jobs", ["", "first", "second"], rows, parallel=True)], 80)
    assert "\n\n" not in screen and "50.0 % [40.0, 60.0]" in screen and "51.0 % [41.0, 61.0]" in screen


def test_texts_are_wrapped_before_figures():
    figure, text = "12345.0 % [10000.0, 20000.0]", "aaaa bbbb cccc dddd eeee"
    table = Table(
        "", ["", "score", "remark"], [["ffff gggg hhhh iiii", figure, text]], texts=frozenset({0, 2}), ranks=(0, 0, 0)
    )
    lines = show([table], 55).splitlines()
    assert max(map(len, lines)) <= 55 and any(figure in line for line in lines)


def test_the_column_of_a_job_stays_beside_the_labels_in_a_very_narrow_terminal():
    table = Table("", ["", "job"], [["a label of several words", "a value of several words, and more"]], parallel=True)
    lines = show([table], 36).splitlines()
    assert max(map(len, lines)) <= 36 and lines[2].split()[:2] == ["a", "label"] and "value" in lines[2]


@pytest.mark.parametrize("width", range(20, 40))
def test_no_line_breaks_at_a_no_break_space(width):
    lines = show(
        [Text("The difference is not shown (p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.034; McNemar).")], width
    ).splitlines()
    assert max(map(len, lines)) <= width
    assert sum("p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.034" in line for line in lines) == 1


def test_an_interval_and_a_number_with_its_unit_are_never_divided():
    table = Table("", ["", "job"], [["accuracy", "incomplete: 51.7 to 56.7 % [39.3, 68.4]"]], parallel=True)
    for width in range(28, 60):
        cells = [line[10:].strip() for line in show([table], width).splitlines()[2:]]
        assert " ".join(cells) == "incomplete: 51.7 to 56.7 % [39.3, 68.4]"
        assert sum("[39.3, 68.4]" in cell for cell in cells) == 1 and sum("56.7 %" in cell for cell in cells) == 1
