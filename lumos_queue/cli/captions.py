"""`lumos data captions`: write a job's captions of images to a file that benchmarks and conversions read."""

from __future__ import annotations

import hashlib
import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from db.kinds.states import ItemState
from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.records import Ending, Role

PAGE = 1_000  #: episodes read at once


def data_captions(
    job: opt.JobId,
    out: Annotated[Path, typer.Option(help="The file with the captions; it must not exist.")],
    json: opt.Json = False,
) -> None:
    """Write the captions of a job to a file.

    The job must have the formulation `caption`. Use the file with --option captions=FILE.
    """
    from db.engine.snapshot import reading
    from db.queries.jobs import get_job
    from db.queue.figures import progress
    from lumos_queue.deployment.database import database
    from lumos_queue.errors import SpecError
    from lumos_queue.formulations.registry import FORMULATIONS
    from lumos_queue.settings import read_settings

    with database(read_settings()) as job_database, reading(job_database) as connection:
        row = get_job(connection, job)
        formulation = FORMULATIONS.find(row.formulation)
        if formulation is None or Role.CAPTIONER not in formulation.roles:
            raise SpecError(
                f"The job {row.id} has the formulation '{row.formulation}': captions come from a job made by: "
                "lumos infer BENCHMARK --formulation caption --role captioner=URL"
            )
        captions, missing_count = captions_of(connection, row.id)
        states = progress(connection, row.id)
    if not captions:
        raise SpecError(f"The job {row.id} has no captions yet. See: lumos job {row.id}")
    spec = row.spec.get("infer", row.spec)
    content = {
        "model": spec["agent"]["roles"][Role.CAPTIONER],
        "job": row.id,
        "benchmark": row.benchmark,
        "split": row.split,
        "captions": captions,
    }
    data = (json_.dumps(content, ensure_ascii=False, indent=1) + "\n").encode()
    try:
        with out.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise SpecError(f"Cannot write '{out}': {error.strerror or error}.") from None
    result = {
        "file": str(out),
        "sha256": hashlib.sha256(data).hexdigest(),
        "captions": len(captions),
        "without": missing_count,
        "items": states,
    }
    output.result(result, _print_captions)


def captions_of(connection: Any, job: str) -> tuple[dict[str, str], int]:
    """Return a caption of each row (the first, of several samples), and how many finished episodes have none."""
    from db.queries.filters import Filter, term
    from db.queries.trajectories import find_episodes

    captions: dict[str, str] = {}
    missing_count, cursor = 0, 0
    while page := find_episodes(connection, Filter((term("job", "=", job),)), cursor, PAGE):
        for episode in page:
            if episode.ending == Ending.ANSWERED and episode.answer:
                captions.setdefault(episode.row, episode.answer)
            else:
                missing_count += 1
        cursor = page[-1].id
    return captions, missing_count


def _print_captions(result: dict[str, Any]) -> None:
    output.show(f"{result['captions']} captions in {result['file']}")
    if result["without"]:
        output.say(f"{result['without']} episodes have no caption: the file has none for their tasks")
    if open_items := sum(count for state, count in result["items"].items() if state != ItemState.DONE):
        output.say(f"{open_items} items are not done yet: write the file again when they are")
