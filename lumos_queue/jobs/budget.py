"""Limit the cost of a job: when its stored model calls have cost the budget, no call is made and the job is paused.

The cost can exceed the budget by that of the calls in flight at this moment, in all processes, and by that of the calls
that other processes completed after this process last read the database, up to two seconds before.
"""

from __future__ import annotations

import asyncio
import time

from db.engine.connection import Database
from db.queue.budget import cost_of_job, job_of, pause_for
from lumos_queue.commands import Ask, Command, Result
from lumos_queue.episode import Perform, StepContext
from lumos_queue.records import Completion
from lumos_queue.util.wording import format_price

LOOK_SECONDS = 2.0  #: between two reads of the cost of all processes
STORED_SECONDS = 0.5  #: by which a completion of this process is in the database


class Meter:
    """The cost of a job as this process knows it. Only one event loop may use the object."""

    def __init__(self, database: Database, prompt_price: float, completion_price: float, budget: float):
        """Prices: USD per million tokens. Budget: USD."""
        self.budget = budget  #: USD
        self._database, self._prices = database, (prompt_price, completion_price)
        self._job = ""
        self._stored_cost = 0.0  #: USD in the database at the last read
        self._recent: list[tuple[float, float]] = []  #: (timestamp, USD) of calls here that the read may have missed
        self._look_time = float("-inf")
        self._in_flight = 0
        self._idle = asyncio.Condition()

    def limit(self, perform: Perform, item: int) -> Perform:
        """Return a `perform` for the item with this id, which begins model calls only while the budget allows them."""

        async def perform_metered(command: Command, context: StepContext) -> Result:
            if not isinstance(command, Ask):
                return await perform(command, context)
            await self._admit(item)
            try:
                result = await perform(command, context)
                if isinstance(result, Completion):
                    prompt, completion = self._prices
                    cost = (result.prompt_tokens * prompt + result.completion_tokens * completion) / 1e6
                    self._recent.append((time.monotonic(), cost))
                return result
            finally:
                async with self._idle:
                    self._in_flight -= 1
                    self._idle.notify_all()

        return perform_metered

    async def _admit(self, item: int) -> None:
        """Wait until a call may be made; forever if the budget is spent, until the slice gives back the item."""
        while True:
            async with self._idle:
                if time.monotonic() - self._look_time > LOOK_SECONDS:
                    await self._look(item)
                if self._stored_cost + sum(cost for _, cost in self._recent) < self.budget:
                    self._in_flight += 1
                    return
                await self._idle.wait_for(lambda: not self._in_flight)
                await asyncio.sleep(STORED_SECONDS)  # completed calls are being written
                await self._look(item)
                if self._stored_cost >= self.budget:
                    await asyncio.to_thread(self._pause)
                    await asyncio.sleep(LOOK_SECONDS)

    async def _look(self, item: int) -> None:
        start = time.monotonic()
        self._stored_cost = await asyncio.to_thread(self._read, item)
        self._recent = [(timestamp, cost) for timestamp, cost in self._recent if timestamp > start - STORED_SECONDS]
        self._look_time = start

    def _read(self, item: int) -> float:
        with self._database.engine.connect() as connection:
            self._job = self._job or job_of(connection, item)
            return cost_of_job(connection, self._job, *self._prices)

    def _pause(self) -> None:
        pause_for(
            self._database,
            self._job,
            f"{format_price(self._stored_cost)} of {format_price(self.budget)} are spent. "
            f"Raise it with: lumos budget {self._job} USD",
        )
