"""Find the answer to a request: in records, else from the source that the option `answers` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.records import Record
from lumos_queue.actions.tools.simulator import MAX_EXAMPLES, simulate
from lumos_queue.actions.tools.statuses import NOT_RECORDED
from lumos_queue.actions.tools.synthetic import synthesize
from lumos_queue.episode import StepContext

STRICT, NEAREST, SIMULATED, SYNTHETIC, LIVE = "strict", "nearest", "simulated", "synthetic", "live"
MODES = {
    STRICT: "recorded answers alone (default)",
    NEAREST: "recorded answers; else that to the nearest recorded request of the same API",
    SIMULATED: "recorded answers; else those of a model in the role 'simulator'",
    SYNTHETIC: "recorded answers; else made-up ones of the documented shape, always the same",
    LIVE: "the server that server=URL names",
}


class AnswerSource(Protocol):
    """A source of answers: records, or the generated APIs of a task."""

    def find(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        """Return the answer to the nth equal request, counted from 0; None if the source has no answer."""
        ...

    def nearest(self, function: Function, arguments: Mapping[str, Any], nth: int = 0) -> Answer | None:
        """Return the answer to the most similar request of the same API; None if the source has no such request."""
        ...

    def examples(self, function: Function, limit: int) -> list[Record]:
        """Return up to `limit` recorded calls of the function's API."""
        ...


async def find_answer(
    mode: str,
    function: Function,
    arguments: Mapping[str, Any],
    nth: int,
    sources: Sequence[AnswerSource],
    context: StepContext,
) -> Answer:
    """Return the answer to the nth equal request, counted from 0. The sources are searched in their order.

    `mode`: the value of the option `answers`, which decides what answers a request without a record.
    """
    for source in sources:
        if (answer := source.find(function, arguments, nth)) is not None:
            return answer
    if mode == SYNTHETIC:
        return synthesize(function, arguments)
    if mode == SIMULATED:
        return await simulate(function, arguments, _examples(function, sources), context)
    for source in sources if mode == NEAREST else ():
        if (answer := source.nearest(function, arguments, nth)) is not None:
            return answer
    error = "no answer to this request is available"
    return Answer(error, status=NOT_RECORDED, message=f"nothing is recorded of {function.name} with these arguments")


def _examples(function: Function, sources: Sequence[AnswerSource]) -> list[Record]:
    return [record for source in sources for record in source.examples(function, MAX_EXAMPLES)][:MAX_EXAMPLES]
