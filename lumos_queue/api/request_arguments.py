"""The arguments of a Python function from the fields of a request, and errors in their spelling."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import ParamSpec, TypeVar

from lumos_queue.submission.requests.checks import spell_errors
from lumos_queue.submission.requests.option import Entrance, list_options

P = ParamSpec("P")
R = TypeVar("R")


def takes_options(request_class: type) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of a function with `**values`, which become the options that the request offers to programs.

    `help` and editors show them as keyword arguments. An unknown argument is a TypeError, as in any function.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        own = signature(function)
        parameters = [value for value in own.parameters.values() if value.kind is not Parameter.VAR_KEYWORD]
        names = {parameter.name for parameter in parameters}
        options = [
            Parameter(
                option.field,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if option.option.required else option.default,
                annotation=option.kind | None if option.is_optional else option.kind,
            )
            for option in list_options(request_class, Entrance.PYTHON)
            if option.field not in names
        ]
        first = [parameter for parameter in parameters if parameter.kind is not Parameter.KEYWORD_ONLY]
        whole = Signature([*first, *options, *parameters[len(first) :]], return_annotation=own.return_annotation)

        @wraps(function)
        def call(*arguments: P.args, **values: P.kwargs) -> R:
            whole.bind(*arguments, **values)
            with spell_errors(request_class, Entrance.PYTHON):
                return function(*arguments, **values)

        call.__signature__ = whole  # type: ignore[attr-defined]
        return call

    return decorate
