"""The maths actions. Numbers are computed here in microseconds; symbols go to sympy in a child process."""

from __future__ import annotations

import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from lumos_queue.actions.algebra.formula import Variables, bind, read
from lumos_queue.actions.algebra.kinds import MAX_TEXT, failure
from lumos_queue.actions.algebra.nodes import RELATIONS, Node, from_json, names, to_json
from lumos_queue.actions.algebra.values import Value, as_value, assign, range_value, relation_value
from lumos_queue.actions.base import Stateless
from lumos_queue.actions.code.interface import SECONDS, CodeRunner
from lumos_queue.actions.code.values import spread
from lumos_queue.actions.maths.count import count
from lumos_queue.actions.maths.systems import flat, latest, open_equations, parts_of, system
from lumos_queue.actions.options import check_option_names
from lumos_queue.errors import ActionError
from lumos_queue.records import Action, Execution, Task
from lumos_queue.settings import Settings
from lumos_queue.util.sandbox import Sandbox

#: Processor seconds one symbolic action may take.
SYMBOLIC_SECONDS = 5.0


class MathsActions:
    """The actions Calculator, SetEquation, SolveEquation, SolveInequality, Count, Define and Code, and aliases.

    Values are JSON objects with `text` and `kind`: number, expression, equation, inequality, text, list or solution. A
    list and a solution also have `items`; a value that solves an unknown has `symbols`, its name.
    """

    domain = "maths"
    roles = ()
    defaults: Mapping[str, str] = {}

    def __init__(
        self,
        tools: Mapping[str, str] | None = None,
        settings: Settings | None = None,
        *,
        sandbox: Sandbox | None = None,
        seconds: float = SYMBOLIC_SECONDS,
        program_seconds: float = SECONDS,
    ):
        self._sandbox = sandbox or Sandbox("lumos_queue.actions.maths.symbolic")
        self._seconds = seconds
        self._programs = CodeRunner(program_seconds)
        self.actions = {
            "Calculator": self._calculate,
            "SetEquation": self._set_equation,
            "SolveEquation": self._solve_equation,
            "SolveInequality": self._solve_inequality,
            "Count": self._count,
            "Define": self._define,
            "Code": self._code,
            "": self._alias,
        }

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        check_option_names(tools, "maths")
        return {}

    def begin(self, task: Task) -> Stateless:
        return Stateless(self)

    async def execute(self, action: Action, variables: Variables) -> Execution:
        """Run one action. Raises InfrastructureError if the child process cannot work; never because of the text."""
        start = time.perf_counter()
        try:
            values = await self._values(action, variables)
        except ActionError as error:
            return Execution(error.kind, message=str(error), seconds=time.perf_counter() - start)
        except RecursionError:
            return Execution("too_large", message="the formula is nested too deeply")
        return Execution(
            "ok",
            result=", ".join(value["text"] for value in values),
            values=tuple(values),
            seconds=time.perf_counter() - start,
        )

    async def close(self) -> None:
        """End the child processes."""
        await self._sandbox.close()
        await self._programs.close()

    async def _values(self, action: Action, variables: Variables) -> list[Value]:
        if not action.variables:
            raise failure("unreadable", "no action could be read; expected for example: R1 = Calculator(2 + 3)")
        if action.name not in self.actions:
            choices = ", ".join(sorted(name for name in self.actions if name))
            raise failure("unknown_action", f"no action called '{action.name[:40]}'; there are {choices}")
        if len(action.arguments) > MAX_TEXT:
            raise failure("too_large", f"arguments may have {MAX_TEXT} characters, these have {len(action.arguments)}")
        text = action.arguments.strip()
        values = await self.actions[action.name](text, variables, len(action.variables))
        if len(values) != len(action.variables):
            raise failure("arity", f"{len(action.variables)} variables for {len(values)} values")
        for value in values:
            if len(value["text"]) > MAX_TEXT:
                raise failure("too_large", f"a value's text may have {MAX_TEXT} characters")
        return values

    async def _calculate(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Calculate the input formula."""
        (node, *bindings), decimal = read(text, variables)
        if bindings:
            node = bind(node, bindings)
        return [await self._simplify(node, decimal)]

    async def _simplify(self, node: Node, decimal: bool) -> Value:
        """Return the value of a node. The child process expands it, unless it is a number, an unknown or a list."""
        if isinstance(node, tuple) and node[0] in RELATIONS:
            if isinstance(node[1], Fraction) and isinstance(node[2], Fraction):
                return relation_value(node, decimal)
            (left, is_approximate), (right, is_right_approximate) = [await self._expand(side) for side in node[1:]]
            return as_value((node[0], left, right), decimal or is_approximate or is_right_approximate)
        if isinstance(node, tuple) and node[0] == "list":
            return as_value(node, decimal)
        node, is_approximate = await self._expand(node)
        return as_value(node, decimal or is_approximate)

    async def _expand(self, node: Node) -> tuple[Node, bool]:
        """Return the expanded node, and whether it contains approximated numbers."""
        if isinstance(node, Fraction) or node[0] == "name":
            return node, False
        reply = await self._ask(do="expand", node=to_json(node))
        return from_json(reply["node"]), reply["approximate"]

    async def _ask(self, **request: Any) -> dict[str, Any]:
        """Return the child's reply to a request. Raises ActionError if the reply is an error."""
        reply = await self._sandbox.call(request, self._seconds)
        if "error" in reply:
            raise failure(reply["error"], reply.get("message", ""))
        return reply

    async def _set_equation(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Set up equations to be solved."""
        nodes, decimal = read(text, variables)
        for node in nodes:
            if isinstance(node, Fraction) or node[0] not in RELATIONS | {"list"}:
                raise failure("syntax", "SetEquation takes equations, for example: SetEquation(2x + 6 = 10)")
        return [as_value(flat(nodes), decimal)]

    async def _define(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """The thing defined, as it stands; words that are no formula are kept as text."""
        try:
            nodes, decimal = read(text, variables)
        except ActionError as error:
            if error.kind != "syntax" or not text:
                raise
            return [{"kind": "text", "text": text}]
        return [as_value(flat(nodes), decimal)]

    async def _alias(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        if text in variables:
            return [dict(variables[text])]
        return await self._define(text, variables, variable_count)

    async def _count(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Count the elements of a list."""
        return [{"kind": "number", "text": str(count(text, variables))}]

    async def _code(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Run pseudo-code or Python: see actions/code."""
        return spread(await self._programs.run(text, variables), variable_count)

    async def _solve_inequality(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Solve inequalities for their one unknown; without any, the newest."""
        nodes, decimal = read(text or latest(variables, "inequality"), variables)
        relations = parts_of(nodes)
        unknowns = sorted({name for node in relations for name in names(node)})
        if len(unknowns) != 1:
            raise failure("arity", f"an inequality is solved for one unknown, this has {len(unknowns)}")
        if not all(isinstance(node, tuple) and node[0] in RELATIONS for node in relations):
            raise failure("syntax", "SolveInequality takes inequalities, for example: SolveInequality(2x > 4)")
        reply = await self._ask(do="solve_inequality", relations=[to_json(n) for n in relations], unknown=unknowns[0])
        return [range_value(reply["pieces"], unknowns[0], decimal or reply["approximate"])]

    async def _solve_equation(self, text: str, variables: Variables, variable_count: int) -> list[Value]:
        """Solve equations; without any, those set up last."""
        nodes, decimal = read(text, variables) if text else open_equations(variables)
        equations, unknowns, targets = system(nodes)
        reply = await self._ask(do="solve", equations=[to_json(node) for node in equations], unknowns=unknowns)
        rows = [[from_json(data) for data in row[: len(targets)]] for row in reply["solutions"]]
        return assign(rows, targets, variable_count, decimal or reply["approximate"])
