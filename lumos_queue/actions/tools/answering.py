"""Where answers come from: records first, and where nothing is recorded what the option `answers` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lumos_queue.actions.tools.answers import Answer
from lumos_queue.actions.tools.functions import Function
from lumos_queue.actions.tools.records import Record, Records
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


async def find_answer(
    mode: str,
    function: Function,
    arguments: Mapping[str, Any],
    nth: int,
    records: Sequence[Records],
    context: StepContext,
) -> Answer:
    """The answer to the nth equal request. `records`: where to look, the first first."""
    for one in records:
        if (found := one.find(function, arguments, nth)) is not None:
            return found
    if mode == SYNTHETIC:
        return synthesize(function, arguments)
    if mode == SIMULATED:
        return await simulate(function, arguments, _examples(function, records), context)
    for one in records if mode == NEAREST else ():
        if (found := one.nearest(function, arguments, nth)) is not None:
            return found
    error = "no answer to this request is available"
    return Answer(error, status=NOT_RECORDED, message=f"nothing is recorded of {function.name} with these arguments")


def _examples(function: Function, records: Sequence[Records]) -> list[Record]:
    return [one for several in records for one in several.examples(function, MAX_EXAMPLES)][:MAX_EXAMPLES]
