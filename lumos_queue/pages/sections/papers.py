"""The papers' tables: each published figure beside the figure of a stored evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.papers.comparison import LUMOS_KEYS, TOOL_KEYS
from lumos_queue.papers.table_values import (
    DomainYield,
    EvaluationFigure,
    ExpertFigure,
    JudgedFigure,
    OfferedAction,
    OwnFigure,
    PaperTableRows,
    PassCosts,
    SourceYield,
    TableRow,
)
from lumos_queue.papers.visual_rows import VISUAL

LUMOS_LEGEND = "* trained on that benchmark's training set; ≈ read off a chart; [P1] arXiv v1, [P3] v3, else ACL"
TOOL_LEGEND = (
    "tool agents: [T] ToolBench, [S] StableToolBench, else Sum2Act; SUBSET is the column; per pass: all runs of the "
    "subset, divided by those that passed"
)
VISUAL_LEGEND = "sum2act-visual: per cent of a case's tasks that are solved; n: tasks; the paper shows them, unscored"
PLANNER_LEGEND = (
    "OpenAGI: figures from 0 to 1; overall: the unweighted mean of the three metrics; n: tasks; the paper tests on a "
    "tenth of the tasks, whose numbers were not published: comparable here is split heldout"
)
HEADS = ("row", "", "published", "ours", "n", "status")


def papers(tables: Sequence[PaperTableRows]) -> Iterator[Block]:
    """Yield a table for each of `papers.comparison.papers_tables`, and their legends."""
    for table in tables:
        yield _tabulate(f"Table {table.table}: {table.title}", table.rows)
    keys = {table.table for table in tables}
    if keys & {*TOOL_KEYS} - {VISUAL}:
        yield Text(TOOL_LEGEND)
    if VISUAL in keys:
        yield Text(VISUAL_LEGEND)
    if keys - {*LUMOS_KEYS, *TOOL_KEYS}:
        yield Text(PLANNER_LEGEND)
    if keys & set(LUMOS_KEYS):
        yield Text(LUMOS_LEGEND)


def _tabulate(title: str, rows: Sequence[TableRow]) -> Table:
    """Return a table. A name or status that a row shares with the row above is written once."""
    lines: list[list[str]] = []
    former = ("", "")
    for row in rows:
        status = "\n".join([_format_status(row, len(rows) > 1), *_list_details(row)])
        name, published = row.row, row.published if row.source == "[P]" else f"{row.published} {row.source}"
        shown_name = "" if name == former[0] else name
        shown_status = "" if (name, status) == former else status
        lines.append(
            [shown_name, row.column, published, _format_value(row.ours), _format_count(row.ours), shown_status]
        )
        former = name, status
    columns = [column for column in range(len(HEADS)) if any(line[column] for line in lines)]
    texts = frozenset(index for index, column in enumerate(columns) if column in (0, 1, 5))
    ranks = [(0, 0, 0, 0, 1, 2)[column] for column in columns]
    lines = [[line[column] for column in columns] for line in lines]
    return Table(title, [HEADS[column] for column in columns], lines, texts=texts, ranks=ranks)


def _format_value(figure: OwnFigure | None) -> str:
    match figure:
        case None:
            return ""
        case SourceYield() | DomainYield():
            return f"{figure.plan:,} / {figure.ground:,}"
        case OfferedAction() | EvaluationFigure(ci95=None):
            return str(figure.value)
    low, high = figure.ci95 or (figure.value, figure.value)
    digits = (figure.digits if isinstance(figure, ExpertFigure) else None) or 1
    return f"{figure.value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _format_count(figure: OwnFigure | None) -> str:
    return "" if figure is None or isinstance(figure, OfferedAction) else figure.n


def _list_details(row: TableRow) -> list[str]:
    """Return lines about the tools, the rule and the calls of a figure."""
    figure = row.ours
    lines = [f"tools: {tools}"] if (tools := _format_tools(figure)) else []
    if isinstance(figure, JudgedFigure):
        lines += [f"counted by rule={figure.rule}"] if figure.rule else []
        lines += [_format_usage(figure.spent)] if figure.spent else []
    return lines


def _format_usage(usage: PassCosts) -> str:
    """Return the calls and tokens of all runs, divided by the number of runs that passed."""
    amounts = {"model calls": usage.model_calls, "tokens": usage.tokens, "tool calls": usage.tool_calls}
    if not usage.passed:
        totals = ", ".join(f"{amount:,} {name}" for name, amount in amounts.items())
        return f"per pass: none passed, for {totals}"
    averages = ", ".join(f"{amount / usage.passed:,.1f} {name}" for name, amount in amounts.items())
    return f"per pass: {averages} ({usage.passed:g} passed)"


def _format_tools(figure: OwnFigure | None) -> str:
    """Return the tool set with the names of files; their folders and digests are in the JSON."""
    tools = figure.tools or {} if isinstance(figure, EvaluationFigure | JudgedFigure | ExpertFigure) else {}
    parts = [f"{name} {value.rpartition('/')[2]}" for name, value in tools.items() if not name.endswith("_sha256")]
    return ", ".join(parts)


def _format_status(row: TableRow, several: bool) -> str:
    """Return the status of a row. With `several` rows, SUBSET replaces the subset's name, so that statuses agree."""
    figure, status = row.ours, row.status
    if several and row.split is not None:
        status = status.replace(f"--split {row.split} ", "--split SUBSET ")
    if figure is None or isinstance(figure, DomainYield | OfferedAction):
        return status
    jobs = [figure.job]
    if isinstance(figure, JudgedFigure):
        jobs += [f"{name} {job}" for name, job in (("runs", figure.runs), ("against", figure.against)) if job]
    return f"{status} ({', '.join(jobs)})"
