"""`lumos data captions`: what a captioning job said about images, as a file that benchmarks and conversion read."""

from __future__ import annotations

import hashlib
import json as json_
from pathlib import Path
from typing import Annotated, Any

import typer

from db.states import ItemState
from lumos_queue.cli import options as opt
from lumos_queue.cli import output

PAGE = 1_000  #: episodes read at once


def data_captions(
    job: opt.JobId,
    out: Annotated[Path, typer.Option(help="The file with the captions; it must not exist.")],
    json: opt.Json = False,
) -> None:
    """Write the captions of a job of the formulation `caption` to a file, for --option captions=FILE."""
    from db.jobs import get_job, progress
    from db.trajectories import reading
    from lumos_queue.errors import SpecError
    from lumos_queue.settings import read_settings
    from lumos_queue.submission.database import database

    with database(read_settings()) as opened, reading(opened) as connection:
        row = get_job(connection, job)
        if row.formulation != "caption":
            raise SpecError(
                f"The job {row.id} has the formulation '{row.formulation}': captions come from a job of "
                "`lumos infer BENCHMARK --formulation caption --role captioner=URL`."
            )
        captions, without = captions_of(connection, row.id)
        states = progress(connection, row.id)
    if not captions:
        raise SpecError(f"The job {row.id} has no caption yet: see `lumos job {row.id}`.")
    spec = row.spec.get("infer", row.spec)
    found = {
        "model": spec["agent"]["roles"]["captioner"], "job": row.id, "benchmark": row.benchmark, "split": row.split,
        "captions": captions,
    }  # fmt: skip
    data = (json_.dumps(found, ensure_ascii=False, indent=1) + "\n").encode()
    try:
        with out.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise SpecError(f"Cannot write '{out}': {error.strerror or error}.") from None
    told = {"file": str(out), "sha256": hashlib.sha256(data).hexdigest(), "captions": len(captions),
            "without": without, "items": states}  # fmt: skip
    output.result(told, _print)


def captions_of(connection: Any, job: str) -> tuple[dict[str, str], int]:
    """Row to caption, of several samples the first; and how many finished episodes gave none."""
    from db.filters import Filter, term
    from db.trajectories import find_episodes

    captions: dict[str, str] = {}
    without, after = 0, 0
    while page := find_episodes(connection, Filter((term("job", "=", job),)), after, PAGE):
        for episode in page:
            if episode.ending == "answered" and episode.answer:
                captions.setdefault(episode.row, episode.answer)
            else:
                without += 1
        after = page[-1].id
    return captions, without


def _print(told: dict[str, Any]) -> None:
    output.show(f"{told['captions']} captions in {told['file']}")
    if told["without"]:
        output.say(f"{told['without']} episodes gave none: their tasks will have no caption")
    if open_items := sum(count for state, count in told["items"].items() if state != ItemState.DONE):
        output.say(f"{open_items} items are not done: write the file again when they are")
