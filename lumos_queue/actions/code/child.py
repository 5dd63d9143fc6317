"""The child process of Code: translates pseudo-code to Python, and runs it in monty. No other module imports monty."""

from __future__ import annotations

import math
import re
import resource
import signal
from decimal import Decimal
from typing import Any

import pydantic_monty

from lumos_queue.actions.algebra.kinds import MAX_BITS
from lumos_queue.actions.code.pseudo import program
from lumos_queue.errors import ActionError
from lumos_queue.util.sandbox import serve

MAX_DEPTH = 500  #: calls within calls
MAX_PRINTED = 60_000  #: bytes
MAX_ITEMS = 10_000  #: of lists and objects of a result, all together
MAX_RESULT = 200_000  #: characters of a result's texts, all together

#: Calls of a host's handler are refused, because there is none. random.seed(0) works: the numbers are always the same.
_NOTHING_OUTSIDE: pydantic_monty.OSPolicy = {"datetime": "call_host", "random_start": "call_host", "sleep": "zero"}

#: Exceptions of the program to kinds of errors, the first that fits.
_KINDS: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], str], ...] = (
    (ZeroDivisionError, "division_by_zero"),
    (MemoryError, "memory"),
    (RecursionError, "too_large"),
    (TimeoutError, "timeout"),
    (OverflowError, "too_large"),
    ((ImportError, OSError), "refused"),
    (NameError, "undefined_variable"),
    (SyntaxError, "syntax"),
)
_FUNCTION = re.compile(r"<(?:function|bound method) .* at 0x[0-9a-f]+>")  #: how monty hands a function to its host
_REFUSED = re.compile(r"not supported in this environment|^module '|has no attribute '_")


def main() -> None:
    """Answer requests until the input ends. Each program runs in a new process of the interpreter."""
    with pydantic_monty.Monty(max_processes=1, max_checkouts_per_worker=1) as pool:
        serve(lambda request: handle(request, pool))


def handle(request: dict[str, Any], pool: pydantic_monty.Monty) -> dict[str, Any]:
    """Return the reply to a request: `result`, which values.as_value converts, or `error` with `message`."""
    try:
        inputs = request["inputs"]
        functions = [_function(name, variable) for name, variable in inputs.items() if _is_expression(variable)]
        source = "\n".join([*functions, program(request["code"], list(inputs), request["by_order"], request["unsure"])])
        plain = {name: _plain(variable) for name, variable in inputs.items() if not _is_expression(variable)}
        return {"result": _run(pool, source, plain, request)}
    except ActionError as error:
        return {"error": error.kind, "message": str(error)[:500]}


def _run(pool: pydantic_monty.Monty, source: str, inputs: dict[str, Any], request: dict[str, Any]) -> Any:
    output = pydantic_monty.CollectString(max_bytes=MAX_PRINTED)
    try:
        with pool.checkout(
            limits={"max_memory": request["memory"], "max_recursion_depth": MAX_DEPTH},
            os_policy=_NOTHING_OUTSIDE,
        ) as session:
            seconds = math.ceil(request["seconds"])
            if session.worker_pid is not None:
                resource.prlimit(session.worker_pid, resource.RLIMIT_CPU, (seconds, seconds + 1))
            value = session.feed_run(source, inputs=inputs, print_callback=output)
            answer = output.output.strip() if value is None else value
            if answer == "" and value is None:
                raise ActionError("failed", "the program gives no value: end it with an expression")
            return _Result().data(answer)
    except pydantic_monty.MontyCrashedError as error:
        if signal.SIGXCPU.name not in str(error):  # the error has no field for the signal
            raise ActionError("crashed", "the interpreter ended") from None
        message = f"the program needs more than {request['seconds']:g} s of processor time"
        raise ActionError("timeout", message) from None
    except pydantic_monty.MontyError as error:
        raise _failure(error.exception()) from None


def _failure(error: BaseException) -> ActionError:
    message = f"{type(error).__name__}: {error}"
    if _REFUSED.search(str(error)):
        return ActionError("refused", message)
    return ActionError(next((kind for types, kind in _KINDS if isinstance(error, types)), "failed"), message)


def _is_expression(data: object) -> bool:
    return isinstance(data, dict) and "python" in data


def _function(name: str, data: dict[str, Any]) -> str:
    if not data["of"]:
        return f"import math\n{name} = {data['python']}"
    return f"import math\ndef {name}({', '.join(data['of'])}):\n    return {data['python']}"


def _plain(data: Any) -> Any:
    if isinstance(data, list):
        return [_plain(part) for part in data]
    return data["over"] / data["under"] if isinstance(data, dict) else data


class _Result:
    """Converts a program's value to JSON, and counts its items and characters."""

    def __init__(self):
        self.items = self.characters = 0

    def data(self, value: Any) -> Any:
        self.items += 1
        if self.items > MAX_ITEMS:
            raise ActionError("too_large", f"a result may have {MAX_ITEMS} items")
        match value:
            case bool():
                return value
            case int():
                if value.bit_length() > MAX_BITS:
                    raise ActionError("too_large", f"a number needs more than {MAX_BITS} bits")
                return {"int": f"{value:x}"}
            case float() | Decimal():
                return {"float": str(value)}
            case str() if _FUNCTION.fullmatch(value):
                raise ActionError("failed", "the program's value is a function: call it")
            case str():
                return self.text(value)
            case list() | tuple() | set() | frozenset() | range():
                return [self.data(part) for part in value]
            case dict():
                return {"object": [[self.text(str(name)), self.data(part)] for name, part in value.items()]}
        if value is None:
            return ""
        expectation = "a number, a text, True or False, or a list of them"
        raise ActionError("failed", f"a program's value must be {expectation}, not {type(value).__name__}")

    def text(self, value: str) -> str:
        self.characters += len(value)
        if self.characters > MAX_RESULT:
            raise ActionError("too_large", f"a result may have {MAX_RESULT} characters")
        return value
