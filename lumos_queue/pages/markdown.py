"""Pages as GitHub-flavoured Markdown: texts and tables. Markup in stored texts is displayed as text.

In running text and in tables every character that could begin markup, HTML, a link or a formula is escaped (CommonMark
0.31, section 2.4; GFM 0.29, sections 4.10 and 6.9). Questions, prompts and replies are code blocks, whose fence is
longer than any run of backticks in the text.
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
#: what begins a list, a heading or a quotation at the start of a line
_FIRST = re.compile(r"[-+=:]|\d+(?=[.)](?:\s|$))")


def render_markdown(page: Document) -> str:
    """Return the page as a Markdown document."""
    parts = [f"# {escape(page.title)}", escape(f"Made {page.made}"), *map(escape, page.left_out)]
    parts += _blocks(page.lead)
    for section in page.sections:
        parts += [f"## {escape(section.title)}", *_blocks(section.blocks)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Return the text escaped for running text. Its line breaks become those of HTML, so that it stays on one line."""
    lines = [line.strip() for line in harmless(text.replace("\r\n", "\n")).strip().split("\n")]
    return "<br>".join(_escape_line(line) for line in lines)


def _summary(text: str) -> str:
    """Return the visible line of a folded block as HTML, in which Markdown's escapes have no effect."""
    return f"<details><summary>{html.escape(one_line(text))}</summary>"


def _escape_line(line: str) -> str:
    line = line.replace("\t", " ")
    # GitHub makes a link of an email address in spite of escapes, unless an element divides it.
    escaped_line = _MARKUP.sub(lambda match: "<span>@</span>" if match[0] == "@" else "\\" + match[0], line)
    if first := _FIRST.match(escaped_line):
        end = first.end()
        return f"{escaped_line[:end]}\\{escaped_line[end:]}" if first[0][0].isdigit() else f"\\{escaped_line}"
    return escaped_line


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
                for episode in block.shown:
                    yield f"### {escape(f'{episode.name}: {episode.title}')}"
                    yield from _episode(episode)


def _table(table: Table) -> Iterator[str]:
    table = table.for_page()
    yield _summary(table.title) if table.folded else f"**{escape(table.title)}**"
    rules = [":---" if column in table.texts else "---:" for column in range(len(table.heads))]
    rows = [[escape(cell) for cell in row] for row in (table.heads, *table.rows)]
    yield _lines([rows[0], rules, *rows[1:]])
    if table.note:
        yield escape(table.note)
    if table.folded:
        yield "</details>"


def _lines(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _episode(episode: ShownEpisode) -> Iterator[str]:
    yield code(episode.question)
    if episode.rows:
        rows = [[_cell(cell) for cell in row] for row in episode.rows]
        yield _lines([[escape(head) for head in episode.heads], [":---"] * len(episode.heads), *rows])
    else:
        yield "No steps are stored."
    yield "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in episode.facts)
    notes = [*(picture.label for picture in episode.pictures), *episode.notes]
    if notes:
        yield "\n".join(f"- {escape(note)}" for note in notes)
    if episode.calls:
        yield _summary(f"Prompts and replies: {len(episode.calls)}")
        for call in episode.calls:
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
    if episode.other is not None:
        yield _summary(f"{episode.other.name}: {episode.other.title}")
        yield from _episode(episode.other)
        yield "</details>"


def _cell(cell: Cell) -> str:
    return " ".join(f"*{escape(text)}*" if style and text.strip() else escape(text) for text, style in cell)


def code(text: str) -> str:
    """Return a code block. Its fence is longer than any run of backticks in the text, so the text cannot end it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{harmless(text.replace(chr(13) + chr(10), chr(10)))}\n{fence}"
