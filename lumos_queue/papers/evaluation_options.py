"""Find a published row, and the options of the evaluation that reproduces its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from db.queue.row_origins import StoredOrigin
from lumos_queue.downloads.catalogue import can_verify
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.papers import protocol
from lumos_queue.papers.columns import COLUMNS
from lumos_queue.papers.model import QUOTED, PaperColumn, PaperRow, PaperTable
from lumos_queue.papers.openagi_commands import row_commands
from lumos_queue.papers.openagi_results import PLANNER_TABLES
from lumos_queue.papers.results import TABLES
from lumos_queue.papers.stored_evaluations import other_judge, weight_mismatches
from lumos_queue.papers.tool_results import TOOL_TABLES
from lumos_queue.records import Role
from lumos_queue.row_origins.origins import find_published_rows
from lumos_queue.scoring.answer_readers import AnswerReader
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.store import Rows


def find_row(text: str) -> tuple[PaperTable, PaperRow, PaperColumn]:
    """Return the table, the row and the column that `text` names, as in `1b/LUMOS-I/gsm8k`.

    A row with only one benchmark needs no benchmark in `text`. Raises SpecError, which lists the choices, for an
    unknown row and for a row that cannot be run.
    """
    key, _, rest = text.partition("/")
    if key in TOOL_TABLES:
        raise SpecError(
            f"Rows of table {key} need an evaluation and a judge, so --run cannot run them: lumos papers {text} "
            "names the commands."
        )
    if key in PLANNER_TABLES:
        _refuse_planner_row(key, rest.partition("/")[0])
    if key not in TABLES:
        raise unknown("table of results", key, TABLES)
    handle, _, benchmark = rest.partition("/")
    rows = {row.handle: row for row in TABLES[key].rows}
    runnable_names = [name for name, row in rows.items() if not row.quoted]
    if handle not in rows:
        raise unknown(f"row of table {key}", handle, runnable_names)
    row = rows[handle]
    if row.quoted:
        raise SpecError(
            f"'{row.name}' was {QUOTED}: it cannot be run here. Rows that can be run: {', '.join(runnable_names)}."
        )
    columns = {COLUMNS[column_key].benchmark: COLUMNS[column_key] for column_key in reversed(list(row.figures))}
    if not benchmark and len(columns) > 1:
        choices = " or ".join(f"{key}/{handle}/{name}" for name in sorted(columns))
        raise SpecError(f"The row '{row.name}' has several benchmarks: name one, e.g. {choices}.")
    benchmark = benchmark or next(iter(columns))
    if benchmark not in columns:
        raise unknown(f"benchmark of the row '{row.name}'", benchmark, columns)
    return TABLES[key], row, columns[benchmark]


def _refuse_planner_row(key: str, slug: str) -> NoReturn:
    """Raise SpecError, with the commands of a row of planners: they need folders that --run cannot name."""
    rows = {row.slug: row for row in PLANNER_TABLES[key].rows}
    if slug not in rows:
        raise unknown(f"row of table {key}", slug, rows)
    raise SpecError(
        f"--run cannot run '{rows[slug].name}', because it cannot set schema, decoding and parser. Run, with your own "
        f"folders and addresses: {' && '.join(row_commands(rows[slug]))}"
    )


def make_request(
    row: PaperRow,
    column: PaperColumn,
    *,
    data: Path | None,
    roles: Mapping[str, str],
    tools: Sequence[str],
    options: Sequence[str],
    live: bool,
    replay: str,
    skip_bad_rows: bool,
    published: bool = False,
) -> InferenceRequest:
    """Return the request of the evaluation for this figure. `roles` maps each role to an address.

    The settings are those of the papers: greedy decoding, 512 tokens, train framing, the reader `phrase`, all tasks.
    """
    from lumos_queue.submission.agents import ROLE_OPTIONS

    formulation = FORMULATIONS.load(row.formulation)
    reader = AnswerReader.PHRASE if formulation.phrase else ""
    own_tools = {tool.partition("=")[0] for tool in tools}
    tool_options = column.tool_options if formulation.executes else {}
    all_tools = [*tools, *(f"{name}={value}" for name, value in tool_options.items() if name not in own_tools)]
    other_roles = [f"{name}={url}" for name, url in roles.items() if name not in ROLE_OPTIONS]
    all_options = [*options, *(f"{name}={value}" for name, value in column.options.items())]
    return InferenceRequest(
        benchmark=column.benchmark,
        data=data,
        split=column.split,
        formulation=row.formulation,
        planner=roles.get(Role.PLANNER, ""),
        grounder=roles.get(Role.GROUNDER, ""),
        solver=roles.get(Role.SOLVER, ""),
        samples=protocol.SAMPLES,
        max_subgoals=column.max_subgoals,
        framing=protocol.FRAMING,
        skip_bad_rows=skip_bad_rows,
        roles=tuple(other_roles),
        tools=tuple(all_tools),
        options=tuple(all_options),
        live=live,
        replay=replay,
        draw=column.draw,
        sets=column.sets,
        reader=reader,
        published=published,
    )


def check_rows(row: PaperRow, rows: Rows, is_stated: bool) -> None:
    """Raise SpecError unless the rows are the published rows, by their file or by a person's statement.

    `is_stated`: whether a person states that they are the published rows.
    """
    origin = StoredOrigin(rows.split, rows.published, len(rows.tasks), rows.file_sha256)
    if is_stated or find_published_rows(rows.digest, rows.split, origin):
        return
    is_verifiable = can_verify(rows.benchmark.name, rows.split)
    fetch = (
        f"Fetch the published file with lumos data get {rows.benchmark.name}, or state" if is_verifiable else "State"
    )
    raise SpecError(
        f"This would not be the row '{row.name}': it is not known whether these rows of '{rows.benchmark.name}' are "
        f"the published ones. {fetch} with --published that they are."
    )


def check_weights(row: PaperRow, column: PaperColumn, models: Mapping[str, str]) -> None:
    """Raise SpecError if a role has other weights than the row, or if the judge is not the papers' judge.

    `models` maps each role to a model's name.
    """
    if wrong := weight_mismatches(row, models) + (other_judge(column, models) if Role.JUDGE in models else []):
        raise SpecError(
            f"This would not be the row '{row.name}': {'; '.join(wrong)}. To run it nevertheless, give "
            "--any-weights: it is then shown as run with other weights."
        )
