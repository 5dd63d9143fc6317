"""The `lumos` command. What a subcommand needs is imported when it is called, so that --help answers at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from copy import copy
from typing import Annotated, NoReturn

import typer

from lumos_queue.cli import (
    again,
    approvals,
    audits,
    backup,
    builds,
    captions,
    compare,
    compat,
    conversions,
    corrections,
    downloads,
    episodes,
    job_state,
    jobs,
    judge,
    model_files,
    models,
    output,
    papers,
    plugins,
    rollouts,
    score,
    serving,
    submit,
    sweep,
    tags,
    toolbench,
    train,
    watch,
    workers,
)
from lumos_queue.cli import options as opt

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},  # of all subcommands, too
    help="A job queue for language agents that plan, ground and execute.",
)
db_app = typer.Typer(rich_markup_mode=None, help="Commands of the database.")
data_app = typer.Typer(rich_markup_mode=None, help="Get public benchmark files.")
for name, group in (
    ("dataset", builds.dataset_app),
    ("audit", audits.app),
    ("data", data_app),
    ("db", db_app),
    ("models", models.app),
    ("rollouts", rollouts.rollouts_app),
    ("train", train.train_app),
    ("blame", rollouts.blame_app),
    ("serve", serving.app),
):
    app.add_typer(group, name=name)
builds.dataset_app.command("unify")(compat.unify)
db_app.command("backup")(backup.db_backup)
data_app.command("get")(downloads.data_get)
data_app.command("list")(downloads.data_list)
train.train_app.command("sweep")(sweep.train_sweep)
models.app.command("get")(model_files.models_get)
data_app.command("captions")(captions.data_captions)
app.command("evaluate", help="Run an agent on a benchmark and score its answers.")(submit.evaluate)
app.command("infer", help="Run an agent on a benchmark, unscored.")(submit.infer)
for command in (
    conversions.convert,
    conversions.budget,
    jobs.jobs,
    jobs.job,
    watch.watch,
    jobs.report,
    score.score,
    plugins.plugins,
    compare.compare,
    episodes.episodes,
    jobs.show,
    corrections.correct,
    corrections.label,
    corrections.rate,
    approvals.approve,
    rollouts.reground,
    judge.judge,
    papers.tables,
    job_state.pause,
    job_state.resume,
    job_state.cancel,
    job_state.rm,
    again.rerun,
    again.extend,
    tags.tag,
    workers.workers,
    workers.endpoints,
):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from lumos_queue.util.version import code_version

        output.result({"version": code_version()}, lambda found: output.show(f"lumos-queue {found['version']}"))
        raise typer.Exit


@app.callback()
def lumos(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version of the code.")
    ] = False,
    json: opt.Json = False,
) -> None:
    pass


app.command("import")(compat.import_files)
app.command("export-compat")(compat.export_compat)
app.command("import-toolbench")(toolbench.import_toolbench)
app.command("export-toolbench")(toolbench.export_toolbench)


@app.command()
def doctor(
    planner: opt.Planner = "",
    grounder: opt.Grounder = "",
    recount: Annotated[
        bool, typer.Option("--recount", help="Compare the kept sums of every job with its rows instead.")
    ] = False,
    repair: Annotated[bool, typer.Option("--repair", help="With --recount: put right what differs.")] = False,
    json: opt.Json = False,
) -> None:
    """Check everything that a job needs.

    Says how to fix what is missing.
    """
    from dataclasses import asdict

    from lumos_queue.cli.doctor import examine, recount_jobs
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings

    if repair and not recount:
        raise SpecError("--repair goes with --recount.")

    marks = {True: "[green]ok[/]", False: "[red]no[/]", None: "[yellow]--[/]"}
    console, found = output.console(), []
    settings, urls = read_settings(), [url for url in (planner, grounder) if url]
    for finding in recount_jobs(settings, repair) if recount else examine(settings, urls):
        found.append(asdict(finding))
        if not output.as_json:
            what, told = output.escape(finding.what), output.escape(finding.found)
            console.print(f"{marks[finding.fine]}  [bold]{what}[/]  {told}", soft_wrap=True)
    fine = all(one["fine"] is not False for one in found)
    if output.as_json:
        output.emit({"fine": fine, "findings": found})
    raise typer.Exit(0 if fine else 1)


@app.command()
def worker(
    pools: Annotated[
        str, typer.Option(help="Kinds of work that it does: cpu, llm, gpu, separated by commas.")
    ] = "cpu,llm,gpu",
    json: opt.Json = False,
) -> None:
    """Find work and do it on this host, until stopped."""
    import logging

    from lumos_queue.cli.run import POOLS
    from lumos_queue.errors import unknown
    from lumos_queue.settings import read_settings
    from lumos_queue.util.display import LogFormatter
    from workers.dispatcher import serve

    wanted = tuple(pool.strip() for pool in pools.split(",") if pool.strip())
    for pool in wanted:
        if pool not in POOLS:
            raise unknown("pool", pool, POOLS)
    handler = logging.StreamHandler()
    handler.setFormatter(LogFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    serve(read_settings(), wanted)
    output.result({"stopped": True}, lambda _: None)


@app.command()
def up(json: opt.Json = False) -> None:
    """Run a whole deployment on this host.

    Broker, workers, dispatcher and Flower, until Ctrl-C.
    """
    from lumos_queue.settings import read_settings
    from workers.up import up as start

    code = start(read_settings(), output.say)
    output.result({"stopped": True, "code": code}, lambda _: None)
    raise typer.Exit(code)


@db_app.command("upgrade")
def db_upgrade(json: opt.Json = False) -> None:
    """Migrate the database's tables to this version of the code."""
    from db.connection import open_database
    from db.migrate import current, head, upgrade
    from lumos_queue.settings import read_settings

    settings = read_settings()
    database = open_database(settings.database, settings.lease_seconds)
    try:
        before = current(database)
        if before is None or before < head():
            upgrade(database)
        found = {"before": before, "revision": current(database)}
    finally:
        database.close()
    output.result(found, lambda value: output.show(f"the database is at revision {value['revision']}"))


def run() -> NoReturn:
    """The console script."""
    code = main()
    gc.freeze()  # else the process looks through all that it has imported once more, for a quarter of a short command
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command by its arguments; returns the exit code: 2, and one line, for a problem that a person can fix."""
    from lumos_queue.errors import InfrastructureError, SpecError

    given = list(sys.argv[1:] if arguments is None else arguments)
    output.as_json = "--json" in given
    if given in ([], ["db"], ["dataset"], ["audit"], ["data"], ["models"], ["serve"]):
        given.append("--help")
    try:
        return _part_of_app(given)(args=given, prog_name="lumos", standalone_mode=False) or 0
    except (SpecError, InfrastructureError) as error:
        return output.fail(str(error))
    except Exception as error:
        if problem := _describe_problem(error):
            return output.fail(problem)
        raise


def _part_of_app(given: Sequence[str]) -> typer.Typer:
    """The app with only the command that is called: to make all of them takes a tenth of a second.

    All of it where no command is named, or none of that name.
    """
    wanted = next((one for one in given if not one.startswith("-")), "")
    commands = [one for one in app.registered_commands if wanted == (one.name or getattr(one.callback, "__name__", ""))]
    groups = [one for one in app.registered_groups if one.name == wanted]
    if not (commands or groups):
        return app
    part = copy(app)
    part.registered_commands, part.registered_groups = commands, groups
    return part


def _describe_problem(error: Exception) -> str:
    """One line for an error from elsewhere (wrong usage, a failing database or disk); empty for any other error."""
    if message := getattr(error, "format_message", None):  # of Typer's usage errors, whose class is not public
        context, problem = getattr(error, "ctx", None), message().rstrip(".?")
        return f"{problem}. See: {context.command_path if context else 'lumos'} --help"
    if type(error).__module__ in ("sqlalchemy.exc", "sqlite3"):
        problem = str(getattr(error, "orig", None) or error).strip()
        return f"The database failed: {problem.splitlines()[-1]}. Check it with: lumos doctor"
    return str(error) if isinstance(error, OSError) else ""


if __name__ == "__main__":
    run()
