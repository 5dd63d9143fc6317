"""Pages as GitHub-flavoured Markdown: texts and tables. What comes from outside shows as text, whatever it holds.

In running text and in tables every character that could begin markup, HTML, a link or a formula is escaped (CommonMark
0.31, section 2.4; GFM 0.29, sections 4.10 and 6.9); questions, prompts and replies are code blocks with a fence that is
longer than any run of backticks in them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Document, Episodes, Figure, Table, Text
from lumos_queue.pages.trajectories import ShownEpisode
from lumos_queue.reports.lanes import Cell
from lumos_queue.util.display import harmless, one_line

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~$^#@]|(?<![0-9]):(?=\S)|(?<=[wW])\.")
_FIRST = re.compile(
    r"[-+=:]|\d+(?=[.)](?:\s|$))"
)  #: what begins a list, a heading or a quotation at the start of a line


def render_markdown(page: Document) -> str:
    """The page as one Markdown document."""
    parts = [f"# {escape(page.title)}", escape(f"Made {page.made}"), *map(escape, page.left_out)]
    parts += _blocks(page.lead)
    for section in page.sections:
        parts += [f"## {escape(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Text for a place within a line, or a line of its own; line breaks of the text become those of HTML."""
    lines = [line.strip() for line in harmless(text.replace("\r\n", "\n")).strip().split("\n")]
    return "<br>".join(_escape_line(line) for line in lines)


def _summary(text: str) -> str:
    """The line of what is folded: the start of an HTML block, in which Markdown's own escapes mean nothing."""
    return f"<details><summary>{html.escape(one_line(text))}</summary>"


def _escape_line(line: str) -> str:
    line = line.replace("\t", " ")
    # An address would become a link however it is escaped, unless an element parts it.
    escaped = _MARKUP.sub(lambda found: "<span>@</span>" if found[0] == "@" else "\\" + found[0], line)
    if first := _FIRST.match(escaped):
        end = first.end()
        return f"{escaped[:end]}\\{escaped[end:]}" if first[0][0].isdigit() else f"\\{escaped}"
    return escaped


def _blocks(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Text():
                yield f"> **Note:** {escape(block.text)}" if block.warns else escape(block.text)
            case Table():
                yield from _table(block)
            case Figure():
                yield from _table(block.table)
            case Episodes():
                for shown in block.shown:
                    yield f"### {escape(f'{shown.name}: {shown.title}')}"
                    yield from _episode(shown)


def _table(table: Table) -> Iterator[str]:
    yield _summary(table.title) if table.folded else f"**{escape(table.title)}**"
    rules = [":---" if place in table.texts else "---:" for place in range(len(table.heads))]
    rows = [[escape(cell) for cell in row] for row in (table.heads, *table.rows)]
    yield _lines([rows[0], rules, *rows[1:]])
    if table.note:
        yield escape(table.note)
    if table.folded:
        yield "</details>"


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _episode(shown: ShownEpisode) -> Iterator[str]:
    yield code(shown.question)
    if shown.rows:
        rows = [[_cell(cell) for cell in row] for row in shown.rows]
        yield _lines([[escape(head) for head in shown.heads], [":---"] * len(shown.heads), *rows])
    else:
        yield "No steps are stored."
    yield "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in shown.facts)
    notes = [*(picture.label for picture in shown.pictures), *shown.notes]
    if notes:
        yield "\n".join(f"- {escape(note)}" for note in notes)
    if shown.calls:
        yield _summary(f"Prompts and replies: {len(shown.calls)}")
        for call in shown.calls:
            yield escape(f"{call.title}. {call.shared}" if call.shared else call.title)
            yield code(call.prompt)
            if call.reasoning:
                yield _summary(f"Reasoning of step {call.at}: {call.thought}")
                yield code(call.reasoning)
                yield "</details>"
            elif call.thought:
                yield escape(f"Reasoning of step {call.at}: {call.thought}; the server sent no text of it.")
            yield code(call.reply)
        yield "</details>"
    if shown.other is not None:
        yield _summary(f"{shown.other.name}: {shown.other.title}")
        yield from _episode(shown.other)
        yield "</details>"


def _cell(cell: Cell) -> str:
    return " ".join(f"*{escape(text)}*" if style and text.strip() else escape(text) for text, style in cell)


def code(text: str) -> str:
    """A code block. Its fence is longer than any run of backticks in the text, so that nothing of it can end it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{harmless(text.replace(chr(13) + chr(10), chr(10)))}\n{fence}"
