"""Run a model's code. Its text and the variables go to a child process; a value comes back.

What isolation covers. The code never reaches CPython: `monty`, an interpreter of a subset of Python written in Rust,
runs it in a separate process that is started for this one program and discarded after it. That interpreter has no
files, no environment, no network, no processes and no classes of its host, and imports only its own
modules (math, re, datetime and the like). It refuses clocks (time.time(), datetime.now()) and random numbers without a
seed, because they differ from run to run. It counts memory and depth of recursion; the kernel limits it as well:
processor time (RLIMIT_CPU), address space (RLIMIT_AS) and no writing of files (RLIMIT_FSIZE), inherited from the
`Sandbox` that holds the interpreter and its parent process. A fault of the interpreter ends a child process, which is
replaced, and gives an execution whose status is 'crashed'.

What it does not cover. Code that escapes from the interpreter has this user's rights, files and network: the
processes have no namespaces and no system call filter. Processor time is counted in whole seconds, rounded up.
Fractions are floats while the code runs (see values.py for how they are read back).
"""

from __future__ import annotations

import re
from typing import Any

from lumos_queue.actions.code.values import as_inputs, as_value, exact_numbers, unsure_names
from lumos_queue.episode import Variables
from lumos_queue.errors import ActionError
from lumos_queue.util.sandbox import Sandbox
from lumos_queue.util.sanitize import storable, storable_json

SECONDS = 5.0  #: of processor time that one program may take
MEMORY = 256 << 20  #: bytes that one program may hold
MAX_CODE = 20_000  #: characters of a program

_VARIABLE = re.compile(r"(?<!\w)(?:R[0-9]+|Output)(?!\w)")


class CodeRunner:
    """Runs programs one after the other in a child process. Any event loop may use it. `close` ends the child."""

    def __init__(self, seconds: float = SECONDS, memory: int = MEMORY, sandbox: Sandbox | None = None):
        """`seconds` of processor time and `memory` in bytes are the limits of one program."""
        self._seconds, self._memory = seconds, memory
        self._sandbox = sandbox or Sandbox("lumos_queue.actions.code.child")

    async def run(self, text: str, variables: Variables) -> dict[str, Any]:
        """Run a program and return its value, with `kind` (number, text, list), `text` and, of a list, `items`.

        `text` is pseudo-code (`If R8 > 0, R8, -R8`), a Python expression, or Python with functions. The function Code,
        else the last function, is called with the variables that its parameters name. If the text names no variable,
        it is called with all variables in order, provided that their number fits. values.py explains the conversion.
        Raises ActionError of kind syntax, undefined_variable, arity, division_by_zero, not_a_number (different
        units), refused (files, environment, network, processes, clocks, random numbers), timeout, memory, too_large,
        crashed or failed (any other error of the program, comparing texts by size among them); InfrastructureError when
        no child can work.
        """
        text = text.strip()
        if not text:
            raise ActionError("arity", "Code needs a program, for example: Code(If R1 > 0, R1, -R1)")
        if len(text) > MAX_CODE:
            raise ActionError("too_large", f"a program may have {MAX_CODE} characters, this has {len(text)}")
        used_names = set(_VARIABLE.findall(text))
        if missing_names := sorted(used_names - set(variables)):
            raise ActionError("undefined_variable", f"{missing_names[0]} has not been set")
        by_order = not used_names and "def " in text  # a function whose parameters may be any of them
        used_variables = {name: value for name, value in variables.items() if by_order or name in used_names}
        request = {
            "code": text,
            "inputs": as_inputs(used_variables),
            "unsure": unsure_names(used_variables),
            "by_order": by_order,
            "seconds": self._seconds,
            "memory": self._memory,
        }
        reply = await self._sandbox.call(request, self._seconds + 1)
        if "error" in reply:
            raise ActionError(reply["error"], storable(reply.get("message", ""))[0])
        value = as_value(reply["result"], exact_numbers(used_variables.values()))
        return {name: storable_json(part) for name, part in value.items()}

    async def close(self) -> None:
        """End the child process."""
        await self._sandbox.close()
