"""The `lumos` command. The modules of a command are imported when it is called, so that --help answers at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.command_group import CONTEXT_SETTINGS, TopGroup
from lumos_queue.cli.command_table import COMMANDS, OPTIONS_NOW_TERMS, Group
from lumos_queue.cli.standard_output import discard_unwritten, watch_output

app = typer.Typer(
    cls=TopGroup,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=CONTEXT_SETTINGS,
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from lumos_queue.util.version import code_version

        output.result({"version": code_version()}, lambda summary: output.show(f"lumos-queue {summary['version']}"))
        raise typer.Exit


@app.callback()
def lumos(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version of the code.")
    ] = False,
    json: opt.Json = False,
) -> None:
    pass


def run() -> NoReturn:
    """Run the command line of this process, and exit with its code: the console script `lumos`."""
    code = main()
    gc.freeze()  # otherwise the collector traverses all imports at exit: a quarter of the time of a short command
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code. For a problem that a person can fix, print one line and return 2."""
    code = 0
    with watch_output() as stdout:
        try:
            code = _run_command(arguments)
            if stdout:
                stdout.flush()
        except (OSError, SystemExit):  # Typer ends the process when a pipe is closed
            if not stdout or not stdout.error:
                raise
        if stdout and stdout.error:
            code = stdout.report_error()
    if sys.stderr is not None:
        discard_unwritten(sys.stderr)
    return code


def _run_command(arguments: Sequence[str] | None) -> int:
    from lumos_queue.errors import InfrastructureError, SpecError

    words = list(sys.argv[1:] if arguments is None else arguments)
    output.as_json = "--json" in words
    if _needs_help(words):
        words.append("--help")
    try:
        return app(args=words, prog_name="lumos", standalone_mode=False) or 0
    except (SpecError, InfrastructureError) as error:
        return output.fail(str(error))
    except Exception as error:
        if isinstance(error, OSError) and getattr(sys.stdout, "error", None):
            raise
        if problem := _describe_problem(error):
            return output.fail(problem)
        raise


def _needs_help(words: Sequence[str]) -> bool:
    """Return whether the words name no command, or a group that does nothing by itself."""
    if len(words) != 1:
        return not words
    command = COMMANDS.get(words[0])
    return isinstance(command, Group) and command.alone is None


def _describe_problem(error: Exception) -> str:
    """Return one line for an error of usage, database or disk; '' for any other error."""
    from lumos_queue.cli.request_command import describe_bad_number
    from lumos_queue.util.os_errors import describe_os_error

    if message := getattr(
        error, "format_message", None
    ):  # only Typer's usage errors have it; their class is not public
        context = getattr(error, "ctx", None)
        if problem := describe_bad_number(error, context):
            return problem
        text = _describe_option(error, context) if hasattr(error, "possibilities") else f"{message().rstrip('.?')}. "
        return f"{text}See: {context.command_path if context else 'lumos'} --help"
    if isinstance(error, OSError):
        return describe_os_error(error)
    from db.engine.errors import describe_failure

    return describe_failure(error)


def _describe_option(error: Any, context: Any) -> str:
    """Return the message about an unknown option, with its replacement or a similar option, and a space at the end."""
    from lumos_queue.errors import suggest

    message = f"No such option: {error.option_name[:80]}. "
    if term := OPTIONS_NOW_TERMS.get(context.info_name, {}).get(error.option_name):
        return f"{message}It is now a term of --where, as in --where '{term}'. "
    if (context.info_name, error.option_name) == ("tag", "--tag"):  # commands that submit a job have this option
        return f"{message}Tags are written without it: lumos tag JOB KEY=VALUE. "
    return message + suggest(
        error.option_name, [name for parameter in context.command.params for name in parameter.opts]
    )


if __name__ == "__main__":
    run()
