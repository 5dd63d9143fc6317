"""A database with a job of many finished items: a few made by the product, the rest copied from those by SQL."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import and_, text

from db.engine.connection import Database, open_database
from db.engine.migrate import upgrade
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.models import EpisodeRow, Item
from db.queries.jobs import get_job
from db.queue.batch import Batch, FinishedItem
from db.queue.claims import ClaimedItem, ClaimRequest, LeaseHolder
from db.queue.commit import commit
from db.queue.fence import start_session
from db.queue.sums import add_counted
from lumos_queue.commands import Ask, Do
from lumos_queue.episode import run_episode
from lumos_queue.formulations.iterative import iterative
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Ending, Execution, FinishReason, Outcome, Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from lumos_queue.util.version import code_version
from performance.jobs import evaluation, rows_of
from performance.questions import amounts_in, grounder_reply, planner_reply, questions

AGENT = Agent(roles={}, domain="maths")


class Stock:
    """One job with `item_count` items to claim, and a worker session that claims them."""

    def __init__(self, folder: Path, database_url: str, item_count: int):
        settings = Settings(home=folder, database_url=database_url)
        self.database: Database = open_database(settings.database)
        upgrade(self.database)
        folder.mkdir(exist_ok=True)
        rows = rows_of(questions(1, item_count), folder / "rows.jsonl")
        self.job = evaluation("http://127.0.0.1:9", rows)
        identifier, _ = submit(self.database, settings, self.job, rows)
        session = start_session(self.database, code_version())
        with self.database.engine.connect() as connection:
            self.holder = LeaseHolder(session, code_version(), get_job(connection, identifier))
        self.finished, self._after = 0, -1
        self.finish(self.claim(1))

    def claim(self, count: int, fresh: bool = False) -> list[ClaimedItem]:
        """Claim like a slice in full work; `fresh`: like a slice that has just begun, which searches all items."""
        wish = ClaimRequest(count) if fresh else ClaimRequest(count, busy=count, after=self._after)
        items = commit(self.database, self.holder, Batch({}), wish)
        self._after = max(item.ordinal for item in items)
        return items

    def finish(self, items: Sequence[ClaimedItem]) -> None:
        finished_items = [FinishedItem(item.id, Outcome("1", Ending.ANSWERED)) for item in items]
        commit(self.database, self.holder, Batch({item.id: item.claim for item in items}, finished=finished_items))
        self.finished += len(items)

    def fill(self, count: int) -> None:
        """Copy the first finished item and its episode until `count` items are finished."""
        missing_count = count - self.finished
        series = (
            "WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < :missing) "
            if self.database.is_sqlite
            else "WITH g(n) AS (SELECT generate_series(1, :missing)) "
        )
        items = {c.name: f't."{c.name}"' for c in Item.__table__.columns if c.name != "id"}
        items["ordinal"] = "-g.n - :finished"
        episodes = {c.name: f't."{c.name}"' for c in EpisodeRow.__table__.columns}
        episodes["id"] = "i.id"
        values = {"missing": missing_count, "finished": self.finished, "job": self.holder.job.id}
        with self.database.writer.begin() as connection:
            first = (
                "(SELECT id FROM item WHERE job = :job AND state = 'done' AND ordinal >= 0 ORDER BY ordinal LIMIT 1)"
            )
            connection.execute(
                text(
                    f"INSERT INTO item ({_names(items)}) {series} SELECT {', '.join(items.values())} "
                    f"FROM item t, g WHERE t.id = {first}"
                ),
                values,
            )
            connection.execute(
                text(
                    f"INSERT INTO episode ({_names(episodes)}) SELECT {', '.join(episodes.values())} FROM item i, "
                    f"episode t WHERE t.id = {first} AND i.job = :job AND i.ordinal < -:finished"
                ),
                values,
            )
            add_counted(connection, 0, and_(Item.job == self.holder.job.id, Item.ordinal < -self.finished))
        with self.database.writer.begin() as connection:
            connection.execute(text("ANALYZE"))
        self.finished = count

    def record(self, items: Sequence[ClaimedItem], steps: int) -> list[Batch]:
        """Run these items' episodes without an endpoint: what they did, in batches of at least so many steps."""
        batches, heads = [], self.job.prompt_prefixes()
        buffer, finished_items, claims = Buffer(), [], {}
        for item in items:
            assert item.task
            journal = EpisodeJournal(item.id, item.attempt, buffer, heads, item.code_version)
            outcome = asyncio.run(run_episode(iterative, item.task, AGENT, journal, perform(item.task))).outcome
            claims[item.id] = item.claim
            scores, figures = self._scores(item.task, outcome), journal.figures
            finished_items.append(FinishedItem(item.id, outcome, scores, totals=figures.totals, figures=figures))
            if buffer.size >= steps or item is items[-1]:
                batches.append(Batch(claims, *buffer.take(), finished_items))
                finished_items, claims = [], {}
        return batches

    def _scores(self, task: Task, outcome: Outcome):
        from lumos_queue.benchmarks.base import EpisodeResult
        from lumos_queue.benchmarks.registry import open_benchmark

        return tuple(open_benchmark(task.benchmark).score(task, EpisodeResult(outcome.answer)))

    def close(self) -> None:
        self.database.close()


def _names(columns: dict[str, str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def perform(task: Task):
    amounts, total = amounts_in(task.question.encode()), 0

    async def perform(command, _position):
        nonlocal total
        if isinstance(command, Ask):
            reply = planner_reply if command.role == "planner" else grounder_reply
            return Completion(reply(amounts, command.prompt.count("<|assistant|>")), FinishReason.STOP, 200, 20, 0.05)
        if isinstance(command, Do):
            turn = int(command.action.variables[0][1:])
            total = sum(map(int, amounts[: turn + 1]))
            return Execution("ok", str(total), ({"text": str(total)},), seconds=0.0001)
        return None

    return perform
