"""Evaluations with steps and scores, stored as by workers, with arbitrary texts, for tests of pages."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sqlalchemy import update

from db.engine.connection import Database
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.kinds.totals import EpisodeTotals
from db.models import JobEndpoint, JobRow, JobTag
from db.queue.batch import Batch, FinishedItem
from db.queue.commit import commit
from db.queue.job_changes import finish_if_idle
from lumos_queue.commands import Ask, Do, Note, Step
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Completion, Execution, Outcome, Score, Subgoal, Task
from tests.claims import claim, holder, new_job

RIGHT, WRONG, FAILED, BROKEN, OPEN = "right", "wrong", "action failed", "infrastructure", "open"


def evaluation(
    database: Database,
    course: Sequence[str],
    text: str = "How many?",
    kind: str = "evaluate",
    number: int = 0,
    same_tasks: bool = False,
) -> str:
    """Create a job with a task for each word of `course`, the course of its episode. `text` is in all stored texts.

    Jobs with different numbers have different tasks, unless `same_tasks` is true.
    """
    tasks = [
        Task("wordmath", "data", f"{index} {text}", f"{text} {index}", {"n": index}, {"answer": text})
        for index in range(len(course))
    ]
    digest = hashlib.sha256(f"{number} {text}".encode()).hexdigest()
    dataset = hashlib.sha256(text.encode()).hexdigest() if same_tasks else digest
    rows = tuple(Task(task.benchmark, dataset, task.row, task.question, task.inputs, task.gold) for task in tasks)
    job = new_job(database, kind=kind, digest=digest, rows=rows)
    agent = Agent(roles={"planner": "tgi://10.0.0.1:80", "grounder": "tgi://10.0.0.1:80"}, domain="maths")
    infer = Infer("wordmath", dataset, "test", "iterative", agent)
    spec = (Evaluate(infer) if kind == "evaluate" else infer).as_json()
    with database.writer.begin() as connection:
        changes = {"spec": spec, "name": text[:200], "chosen": ""}
        connection.execute(update(JobRow).where(JobRow.id == job).values(changes))
        connection.execute(JobTag.__table__.insert().values(job=job, key="note", value=text))
        endpoint = {
            "job": job,
            "role": "planner",
            "url": f"tgi://10.0.0.1:80?{text}",
            "identity": {"model": text},
            "seen_at": 1.0,
        }
        connection.execute(JobEndpoint.__table__.insert().values(**endpoint))
    who = holder(database, job)
    items = claim(database, who, len(course)) if course else []
    for item, went in zip(items, course, strict=True):
        _finish(database, who, item, went, text)
    finish_if_idle(database, job)
    return job


def _finish(database: Database, who, item, went: str, text: str) -> None:
    buffer = Buffer()
    journal = EpisodeJournal(item.id, 1, buffer, {"planner": "Plan.\n"})
    status = "division_by_zero" if went == FAILED else "ok"
    action = Action(("R1",), "Calculator", text)
    for step in (
        Step(0, 0, Ask("planner", f"Plan.\n{text}"), Completion(text, "stop", 100, 10, 0.5, waited=0.1, lost=0.2)),
        Step(1, 0, Note(Subgoal(1, f"Subgoal 1: {text}")), None),
        Step(2, 0, Ask("grounder", f"Ground. {text}"), Completion(text, "stop", 50, 5, 0.25)),
        Step(3, 0, Do(action), Execution(status, text, ({"text": text},), text, 0.01)),
    ):
        journal.record(step)
    rows, contents = buffer.take()
    batch = Batch({item.id: item.claim}, rows, contents)
    if went != OPEN:
        ending = {BROKEN: "infra_error", FAILED: "action_error"}.get(went, "answered")
        value = 1.0 if went == RIGHT else 0.0
        finished_item = FinishedItem(
            item.id,
            Outcome(None if went in (BROKEN, FAILED) else text, ending, text if ending != "answered" else ""),
            (Score("accuracy", value),) if went != BROKEN else (),
            totals=EpisodeTotals(2, 150, 15),
        )
        commit(database, who, Batch({item.id: item.claim}, rows, contents, finished=[finished_item]))
    else:
        commit(database, who, batch)
