"""Submit evaluations and inferences, as `lumos evaluate` and `lumos infer` do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from db.kinds.job_kinds import JobKind
from lumos_queue.api.argument_types import Values
from lumos_queue.api.request_arguments import takes_options
from lumos_queue.records import Task
from lumos_queue.submission.requests.inference import InferenceRequest

if TYPE_CHECKING:  # importing `evaluate` is fast: the other modules are imported when it is called
    from lumos_queue.api.jobs import JobHandle
    from lumos_queue.api.keyword_arguments import InferenceArguments
    from lumos_queue.benchmarks.base import Benchmark
    from lumos_queue.settings import Settings


@takes_options(InferenceRequest)
def evaluate(
    benchmark: str | Path | Benchmark = "",
    *,
    rows: Iterable[Task | Mapping[str, Any]] | None = None,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    name: str = "",
    tags: Values | None = None,
    again: bool = False,
    priority: int = 0,
    concurrency: int = 0,
    deployment: Settings | None = None,
    **options: Unpack[InferenceArguments],
) -> JobHandle:
    """Run an agent on a benchmark and score its answers; return the job at once.

    The work starts with the call: in a thread of this process, or in workers where `LUMOS_BROKER_URL` names a broker.
    An equal request returns the stored job, unless `again` is true.

    The arguments are those of `lumos evaluate` (docs/commands.md). `tools`, `options`, `settings`, `samplings` and
    `tags` are mappings of names to values; `request` maps [ROLE.]NAME to a value of JSON. `benchmark` and `formulation`
    may be objects, and models may be functions of a prompt. Workers can only use objects of a module. `rows` are Tasks,
    or rows as in the benchmark's files.

    For your own data, `benchmark` is the path of a file, or it is left out and `rows` are mappings. `fields` maps
    question, answer, id, choices, images and rationale to the fields that have them (docs/own_data.md). The scorer
    `judge` asks the role `judge`. `deployment` replaces the settings of the environment (LUMOS_…).

    Raises SpecError for a request that cannot be carried out, InfrastructureError when an endpoint or the database does
    not answer.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=20).wait()
    >>> job.state
    'done'
    >>> rows = [{"prompt": "What is 2 + 3?", "result": 5}]
    >>> job = lq.evaluate(rows=rows, fields={"answer": "result"}, solver=lambda prompt: "Answer is 5.").wait()
    >>> [episode.scores["accuracy"] for episode in job.episodes()]
    [1.0]
    """
    from lumos_queue.api.submit import submit_inference

    return submit_inference(
        JobKind.EVALUATE, benchmark, rows, fields, options, name, tags, again, priority, concurrency, deployment
    )


@takes_options(InferenceRequest)
def infer(
    benchmark: str | Path | Benchmark = "",
    *,
    rows: Iterable[Task | Mapping[str, Any]] | None = None,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    name: str = "",
    tags: Values | None = None,
    again: bool = False,
    priority: int = 0,
    concurrency: int = 0,
    deployment: Settings | None = None,
    **options: Unpack[InferenceArguments],
) -> JobHandle:
    """Run an agent on a benchmark without scoring. Arguments, return value and errors are those of `evaluate`.

    >>> import lumos_queue as lq
    >>> job = lq.infer("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5).wait()
    >>> [episode.answer for episode in job.episodes()]
    ['7', '7', '7', '7', '7']
    """
    from lumos_queue.api.submit import submit_inference

    return submit_inference(
        JobKind.INFER, benchmark, rows, fields, options, name, tags, again, priority, concurrency, deployment
    )
