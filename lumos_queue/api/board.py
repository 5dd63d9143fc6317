"""The function that shows models and benchmarks in one table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    from lumos_queue.api.jobs import JobHandle
    from lumos_queue.api.results import BoardResult


def board(
    jobs: Sequence[JobHandle | str] = (), *, where: str = "", by: str = "model", deployment: Settings | None = None
) -> BoardResult:
    """Return the scores of evaluations as a table of models and benchmarks, as `lumos board` prints it.

    `jobs`: handles or ids; without jobs, the evaluations that meet the filter `where` (docs/queries.md), or all. `by`:
    what a row is: model, formulation, or tag:KEY. Raises SpecError for jobs together with a filter, for a filter or a
    `by` that cannot be read, and if there is no evaluation.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=20).wait()
    >>> lq.board([job])["rows"][0]["cells"][0]["value"]
    0.0
    """
    with import_libraries():
        from lumos_queue.api.results import read_board
    ids = [job if isinstance(job, str) else job.id for job in jobs]
    return read_board(deployment or read_settings(), ids, where, by)
