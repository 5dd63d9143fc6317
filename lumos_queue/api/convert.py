"""Submit conversions, as `lumos convert` does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.api.connect import translate_failures
from lumos_queue.api.evaluate import Model, Values
from lumos_queue.api.forks import note_call
from lumos_queue.api.jobs import JobHandle
from lumos_queue.api.objects import address_of
from lumos_queue.api.start import call_outside_loop, log, store_job
from lumos_queue.api.submit import handle_of, name_rows, pairs
from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.records import Task
from lumos_queue.settings import Settings, read_settings
from lumos_queue.submission.conversion_request import ConversionOptions, make_conversion_job
from lumos_queue.submission.ranges import check_ranges
from lumos_queue.submission.tags import read_name_and_tags

NO_JUDGE: Mapping[str, Any] = {"rubric": "", "grades": 0, "votes": 0}  #: no model judges the answers of a conversion


@translate_failures()
def convert(
    benchmark: str | Path | Benchmark = "",
    *,
    rows: Iterable[Task | Mapping[str, Any]] | None = None,
    data: str | Path | None = None,
    split: str = "",
    limit: int = 0,
    teacher: Model = "",
    subgoals: str = "high",
    reasks: int = 1,
    vision: str = "",
    seed: int = 0,
    samples: int = 1,
    temperature: float | None = None,
    max_tokens: int = 800,
    price_prompt: float = 0.0,
    price_completion: float = 0.0,
    budget: float = 0.0,
    perturbations: int = 3,
    longest: int = 1024,
    tokenizer: str | Path | None = None,
    options: Values | None = None,
    skip_bad_rows: bool = False,
    name: str = "",
    tags: Values | None = None,
    again: bool = False,
    published: bool = False,
    priority: int = 0,
    concurrency: int = 0,
    fields: Mapping[str, str | Sequence[str]] | None = None,
    scorer: str = "",
    domain: str = "",
    licence: str = "",
    title: str = "",
    deployment: Settings | None = None,
) -> JobHandle:
    """Turn gold rationales into annotated episodes: by the model `teacher`, or by rules without a teacher.

    The other arguments are those of `lumos convert` (docs/commands.md), return value and errors those of `evaluate`.
    If the rows are your own (a file, or `rows` without a benchmark), `fields` must name their field of rationales.

    >>> import lumos_queue as lq
    >>> job = lq.convert("wordmath", split="train", limit=20).wait()
    >>> job.episodes("level>=executed").count()
    20
    """
    check_ranges(locals(), may_be_none=("temperature",))
    deployment = deployment or read_settings()
    named_rows = {
        "benchmark": benchmark,
        "data": data,
        "split": split,
        "options": options,
        "fields": fields,
        "scorer": scorer,
        "domain": domain,
        "licence": licence,
        "title": title,
        **NO_JUDGE,
    }
    file, read_rows = name_rows("convert", named_rows, rows, deployment)
    request = ConversionOptions(
        source=file.benchmark,
        data=file.data,
        split=file.split,
        definition=file.definition,
        limit=limit,
        deterministic=not teacher,
        teacher=address_of(teacher, deployment) if teacher else "",
        subgoals=subgoals,
        reasks=reasks,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        price_prompt=price_prompt,
        price_completion=price_completion,
        budget=budget,
        perturbations=perturbations,
        longest=longest,
        tokenizer=None if tokenizer is None else Path(tokenizer),
        skip_bad_rows=skip_bad_rows,
        options=pairs("options", options),
        vision=vision,
        published=published,
        samples=samples,
    )
    scheduling = Scheduling(priority, concurrency)
    name_and_tags = read_name_and_tags(name, pairs("tags", tags))
    with note_call(deployment):
        job, read = call_outside_loop(lambda: make_conversion_job(request, deployment, log.warning, read_rows))
        row, new = store_job(
            deployment, job, read, log.warning, name_and_tags=name_and_tags, scheduling=scheduling, again=again
        )
    return handle_of(deployment, row, new)
