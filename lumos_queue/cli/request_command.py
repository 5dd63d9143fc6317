"""Turn the fields of a request into the parameters of a command."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

import typer

from lumos_queue.submission.requests.checks import describe_number
from lumos_queue.submission.requests.option import DeclaredOption, Entrance, list_options
from lumos_queue.submission.requests.reading import read_number
from lumos_queue.submission.requests.scheduling import SchedulingRequest

CHANGES = (Entrance.RERUN, Entrance.EXTEND)  #: entrances where an option that is left out keeps a stored value


def takes_request(
    request_class: type, entrance: Entrance = Entrance.COMMAND
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the options of a request, and calls it with the request first.

    The command's own positional-or-keyword parameters come before the options of the request, and its keyword-only
    parameters after them.
    """
    options = list_options(request_class, entrance)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            fields = {option.field: _read(option, values.pop(parameter_name(option))) for option in options}
            command(request_class(**fields), **values)

        set_options(run, command, options, entrance)
        vars(run)["request_class"] = request_class
        return run

    return decorate


def describe_bad_number(error: Any, context: Any) -> str:
    """Return the sentence about a number that the option of a request refuses; '' for any other error of usage."""
    command = getattr(getattr(context, "command", None), "callback", None)
    name, cause = getattr(getattr(error, "param", None), "name", ""), error.__cause__
    if not hasattr(command, "request_class") or not hasattr(cause, "errors"):
        return ""
    options = (*list_options(vars(command)["request_class"]), *list_options(SchedulingRequest))
    for option in options:
        if parameter_name(option) == name and option.kind in (int, float):
            value = read_number(str(cause.errors()[0]["input"]))
            return describe_number(option.flag, value, option.kind, option.option.min, option.option.max)
    return ""


def takes_changes(request_class: type, entrance: Entrance) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for a command that changes a stored request: it gets a request and the names of its changes.

    Each option may be left out; the fields that are named have the values of the options that were given.
    """
    options = list_options(request_class, entrance)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**values: Any) -> None:
            arguments = {option: values.pop(parameter_name(option)) for option in options}
            fields = {
                option.field: _read(option, value)
                for option, value in arguments.items()
                if value is not None and value != []
            }
            command(request_class(**fields), frozenset(fields), **values)

        set_options(run, command, options, entrance)
        vars(run)["request_class"] = request_class
        return run

    return decorate


def set_options(
    run: Callable[..., None], command: Callable[..., Any], options: tuple[DeclaredOption, ...], entrance: Entrance
) -> None:
    """Give `run` the signature that Typer reads: the parameters of `command`, with the options between them."""
    own = [
        parameter
        for parameter in signature(command, eval_str=True).parameters.values()
        if parameter.name not in ("request", "names")
    ]
    declared = [make_parameter(option, entrance) for option in options]
    before = [parameter for parameter in own if parameter.kind is not Parameter.KEYWORD_ONLY]
    after = [parameter for parameter in own if parameter.kind is Parameter.KEYWORD_ONLY]
    set_signature(run, [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in (*before, *declared, *after)])


def set_signature(run: Callable[..., None], parameters: list[Parameter]) -> None:
    """Give a function that wraps a command the parameters that Typer reads."""
    vars(run).pop("__wrapped__", None)
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}


def make_parameter(option: DeclaredOption, entrance: Entrance = Entrance.COMMAND) -> Parameter:
    """Return an option as a parameter of a command. Options of `rerun` and `extend` may all be left out."""
    return Parameter(
        parameter_name(option),
        Parameter.KEYWORD_ONLY,
        default=_default(option, entrance),
        annotation=annotate(option, entrance),
    )


def parameter_name(option: DeclaredOption) -> str:
    """Return the name of a command's parameter: of `--role` it is `role`, of a keyword such as `--from` the field."""
    name = option.flag.removeprefix("--").replace("-", "_")
    return option.field if option.option.positional or iskeyword(name) else name


def annotate(option: DeclaredOption, entrance: Entrance = Entrance.COMMAND) -> Any:
    """Return a field's type with its declaration, in Typer's terms."""
    declaration = option.option
    help = declaration.change_help if entrance in CHANGES and declaration.change_help else declaration.help
    if declaration.positional:
        return Annotated[option.kind, typer.Argument(help=help, metavar=declaration.metavar)]
    kind: Any = list[str] if option.kind is tuple else option.kind
    if option.kind is not tuple and (option.is_optional or entrance in CHANGES):
        kind = kind | None
    shown_default: bool | str = declaration.shown_default or option.kind is not tuple
    return Annotated[
        kind,
        typer.Option(
            option.flag,
            help=help,
            min=declaration.min,
            max=declaration.max,
            metavar=declaration.metavar,
            show_default=shown_default,
        ),
    ]


def find_option(request_class: type, field: str) -> Any:
    """Return the declaration of a field in Typer's terms, for a command that takes only some options of a request."""
    (option,) = (option for option in list_options(request_class) if option.field == field)
    return annotate(option).__metadata__[0]


def _default(option: DeclaredOption, entrance: Entrance) -> Any:
    declaration = option.option
    if entrance in CHANGES:
        return [] if option.kind is tuple else None
    if declaration.required or (declaration.positional and not declaration.may_lack):
        return Parameter.empty
    return [] if option.kind is tuple else option.default


def _read(option: DeclaredOption, value: Any) -> Any:
    """Return the field's value for a command's argument; a list that is empty is the default."""
    if option.kind is tuple:
        return tuple(value) if value else option.default
    return Path(value) if option.kind is Path and value is not None else value
