"""Commands for the models that training jobs wrote: list models, show a model with its sources, remove a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output

if TYPE_CHECKING:
    from db.engine.connection import Connection
    from db.queue.training_steps import StoredModel

Model = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's name, JOB/NAME, or six or more characters of its digest.")
]


def models_list(json: opt.Json = False) -> None:
    """List the models, the newest first."""
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.models import tabulate_models
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.reports.stored_models import list_stored_models
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        models = list_stored_models(connection)
    output.result({"models": as_json(models)}, lambda _: output.print_page(tabulate_models(models)))


def models_show(model: Model, json: opt.Json = False) -> None:
    """Show a model.

    Shows its sources, the curve of its loss, and whether its files are unchanged.
    """
    from db.queue.training_steps import find_models
    from lumos_queue.deployment.database import database
    from lumos_queue.pages.sections.models import tabulate_model
    from lumos_queue.reports.json_values import as_json
    from lumos_queue.reports.stored_models import describe_model
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, job_database.engine.connect() as connection:
        details = describe_model(connection, _require_single(find_models(connection, model), model))
    output.result(as_json(details), lambda _: output.print_page(tabulate_model(details)))


def models_rm(
    model: Model,
    keep_files: Annotated[
        bool, typer.Option("--keep-files", help="Only delete the record of the model, not its folder.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Remove a model and its files.

    A folder whose files were changed is not removed: then --keep-files is needed.
    """
    import shutil

    from db.queue.training_steps import find_models, list_models, remove_models
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.models.file_states import CHANGED, PRESENT, state_of_files
    from lumos_queue.settings import read_settings
    from lumos_queue.util.launch_folder import from_launch

    with database(read_settings()) as job_database:
        with job_database.engine.connect() as connection:
            row = _require_single(find_models(connection, model), model)
            other_owners = [
                candidate
                for candidate in list_models(connection)
                if candidate.path == row.path and candidate.id != row.id
            ]
            _require_stopped(connection, row)
        files = state_of_files(row)
        if files == CHANGED and not keep_files:
            raise SpecError(
                f"'{row.path}' does not contain the model {row.name} any more: its digest differs. To delete only the "
                f"record of the model: lumos models rm {model} --keep-files"
            )
        removes_files = files == PRESENT and not keep_files and not other_owners
        if removes_files:
            shutil.rmtree(from_launch(row.path))
        with job_database.writer.begin() as connection:
            remove_models(connection, [row.id])
    summary = {
        "name": row.name,
        "digest": row.digest,
        "path": row.path,
        "removed": True,
        "files_removed": removes_files,
    }
    output.result(summary, lambda value: output.show(_format_removal(value)))


def _require_single(matches: list[StoredModel], text: str) -> StoredModel:
    from lumos_queue.errors import SpecError

    if not matches:
        raise SpecError(f"No model called '{text[:80]}'. List them with: lumos models list")
    if len(matches) > 1:
        labels = ", ".join(f"{match.job or '-'}/{match.name} ({match.digest[:12]})" for match in matches[:5])
        raise SpecError(
            f"'{text[:80]}' is the name of {len(matches)} models: {labels}. Choose one by JOB/NAME or by digest."
        )
    return matches[0]


def _require_stopped(connection: Connection, row: StoredModel) -> None:
    from db.kinds.states import OPEN
    from db.queries.jobs import find_job
    from lumos_queue.errors import SpecError

    job = find_job(connection, row.job) if row.job else None
    if job is not None and job.state in OPEN:
        raise SpecError(f"Job {job.id}, which wrote the model {row.name}, is {job.state}: wait for it, or cancel it.")


def _format_removal(summary: dict[str, Any]) -> str:
    files = "with its files" if summary["files_removed"] else f"its folder '{Path(summary['path'])}' was left as it is"
    return f"model {summary['name']} was removed, {files}"
