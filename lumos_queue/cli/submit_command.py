"""The options of every command that submits a job: its name, its tags, its scheduling, and --again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any

from lumos_queue.cli import options as opt
from lumos_queue.cli.request_command import set_signature
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.submission.submit_options import SubmitOptions

_OPTIONS: dict[str, tuple[Any, Any]] = {  # by parameter: the annotation that Typer reads, and the default
    "name": (opt.Name, ""),
    "tag": (opt.Tags, []),
    "again": (opt.Again, False),
    "follow": (opt.Follow, False),
    "priority": (opt.Priority, 0),
    "concurrency": (opt.Concurrency, 0),
}


def takes_submit_options(command: Callable[..., None] | None = None, *, concurrency: bool = True) -> Callable[..., Any]:
    """Give a command the options of a submission in the position of its keyword-only parameters `options` and `follow`.

    The command is called with a SubmitOptions and with whether it waits for the job's end. `concurrency`: whether the
    job has requests in flight that can be limited.
    """
    names = [name for name in _OPTIONS if concurrency or name != "concurrency"]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(*arguments: Any, **values: Any) -> None:
            from lumos_queue.submission.tags import read_name_and_tags

            own_values = {name: values.pop(name) for name in names}
            scheduling = Scheduling(own_values["priority"], own_values.get("concurrency", 0))
            options = SubmitOptions(
                read_name_and_tags(own_values["name"], own_values["tag"]), scheduling, own_values["again"]
            )
            command(*arguments, options=options, follow=own_values["follow"], **values)

        parameters: list[Parameter] = []
        for parameter in signature(command, eval_str=True).parameters.values():
            if parameter.name == "options":
                parameters += [
                    Parameter(name, Parameter.KEYWORD_ONLY, default=_OPTIONS[name][1], annotation=_OPTIONS[name][0])
                    for name in names
                ]
            elif parameter.name != "follow":
                parameters.append(parameter)
        set_signature(run, parameters)
        return run

    return decorate if command is None else decorate(command)
