"""Training rows from stored rollouts: at each prompt that a rollout came to, the teacher's reply.

    PYTHONPATH=. lumos infer toolworld --split train --formulation react --limit 500 \\
        --role policy=function:experiments.toolworld.policies:noisy
    PYTHONPATH=. python -m experiments.toolworld.rows JOB … --out rows/react --name react
    lumos train sft --data rows/react --formulation react --from scratch --folder fits/react

Who acted says where prompts come from, and the oracle says what is right there, as DAgger does it (Ross et al., 2011,
arXiv:1011.0686): rollouts of a model (--role policy=run:JOB) can be labelled as well.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from db.kinds.states import JobState
from db.queries.filters import parse_where
from db.queries.jobs import get_job
from db.queries.trajectories import StoredEpisode, stream_episodes
from experiments.toolworld.policies import teach
from lumos_queue.benchmarks.registry import is_test_task
from lumos_queue.commands import WITHIN
from lumos_queue.deployment.database import database
from lumos_queue.errors import SpecError
from lumos_queue.prompts.conversations import SingleReply, write_conversations
from lumos_queue.records import Completion
from lumos_queue.settings import read_settings

COUNTS = "counts.json"  #: beside the rows; written last


@dataclass(slots=True)
class TaughtRows:
    """Rows by role, each once, and what they came from."""

    by_role: dict[str, dict[tuple[str, str], None]] = field(default_factory=dict)  #: (prompt, reply), in order
    tasks: set[str] = field(default_factory=set)  #: questions
    repeated: int = 0  #: prompts that an earlier rollout came to
    unanswered: int = 0  #: prompts at which the teacher does not know what to say
    agreed: Counter[bool] = field(default_factory=Counter)  #: whether who acted said the same

    def add(self, role: str, prompt: str, actual_reply: str, reply: str | None) -> None:
        if reply is None:
            self.unanswered += 1
            return
        rows = self.by_role.setdefault(role, {})
        if (prompt, reply) in rows:
            self.repeated += 1
            return
        rows[prompt, reply] = None
        self.agreed[actual_reply.strip() == reply] += 1

    def as_json(self) -> dict[str, object]:
        return {
            "rows": {role: len(rows) for role, rows in sorted(self.by_role.items())},
            "characters": {
                role: sum(len(prompt) + len(reply) for prompt, reply in rows)
                for role, rows in sorted(self.by_role.items())
            },
            "longest_prompt": {
                role: max(len(prompt) for prompt, _ in rows) for role, rows in sorted(self.by_role.items())
            },
            "tasks": len(self.tasks),
            "repeated": self.repeated,
            "unanswered": self.unanswered,
            "same_as_said": self.agreed[True],
        }


def label_rollouts(episodes: Iterable[StoredEpisode]) -> TaughtRows:
    """The teacher's reply at each prompt of the episodes, in the order of tasks. Raises SpecError for a test split."""
    taught_rows = TaughtRows()
    for episode in sorted(episodes, key=lambda episode: (episode.task.dataset, episode.ordinal, episode.formulation)):
        if is_test_task(episode.task, episode.split):
            raise SpecError(
                f"The episode {episode.name} is of '{episode.split}', a split to test with: give rollouts of 'train'."
            )
        taught_rows.tasks.add(episode.task.question)
        for step in episode.steps:
            if isinstance(step.result, Completion) and step.branch < WITHIN:
                taught_rows.add(step.role, step.prompt, step.result.text, teach(step.prompt))
    return taught_rows


def read_rollouts(jobs: Sequence[str]) -> Iterator[StoredEpisode]:
    """The episodes of stored jobs. Raises SpecError for a job that is not of toolworld, or not done."""
    with database(read_settings()) as job_database:
        for job in jobs:
            with job_database.engine.connect() as connection:
                job_row = get_job(connection, job)
            if job_row.benchmark != "toolworld":
                raise SpecError(
                    f"The job {job_row.id} is of '{job_row.benchmark}': the teacher knows 'toolworld' alone."
                )
            if job_row.state != JobState.DONE:
                raise SpecError(f"The job {job_row.id} is {job_row.state}: go on with lumos resume {job_row.id}")
            yield from stream_episodes(job_database, parse_where(f"job={job_row.id}"))


def write_rows(taught_rows: TaughtRows, folder: Path, name: str) -> dict[str, object]:
    """Write `ROLE_NAME.jsonl` for each role; returns the counts. The same rows make the same files again.

    Raises SpecError where there is no row.
    """
    if not taught_rows.by_role:
        raise SpecError("The rollouts have no prompt at which the teacher knows what to say.")
    folder.mkdir(parents=True, exist_ok=True)
    for role, rows in taught_rows.by_role.items():
        path = folder / f"{role}_{name}.jsonl"
        part = path.with_suffix(".part")  # what a killed command leaves behind is not read as rows
        write_conversations((SingleReply.of(*row, number) for number, row in enumerate(rows, start=1)), part)
        os.replace(part, path)
    counts = taught_rows.as_json()
    (folder / COUNTS).write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    return counts


def main(
    jobs: Annotated[list[str], typer.Argument(help="Rollouts: jobs of toolworld, by whoever acted.")],
    out: Annotated[Path, typer.Option(help="Folder for the files of rows, one for each role.")],
    name: Annotated[str, typer.Option(help="The formulation that the model is trained for: ROLE_NAME.jsonl.")],
) -> None:
    """Write training rows: at each prompt of the rollouts, what the oracle says there."""
    try:
        counts = write_rows(label_rollouts(read_rollouts(jobs)), out, name)
    except SpecError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    typer.echo(json.dumps(counts))


if __name__ == "__main__":
    typer.run(main)
