"""The yardstick: a bare aiohttp loop that stores each episode in SQLite in one transaction. No leases, retries, queue.

It is as fast as such a loop gets: uvloop, orjson, no fsync for an episode (`synchronous=NORMAL`). Options: `fsync`
makes each episode durable as it is stored, `per-step` commits each step by itself as well, `nothing` stores nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

import aiohttp
import orjson
import uvloop

from performance.contender import Measurement, Meter, Spec, main
from performance.episode import prompts, request
from performance.questions import Question
from performance.store import Store


async def solve_all(spec: Spec, work: Sequence[Question], store: Store) -> int:
    """Run all episodes, so many at once; returns how many answers were right."""
    queue, right = iter(work), 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(prompt: str) -> str:
            headers = {"Content-Type": "application/json"}
            data = orjson.dumps(request(prompt))
            async with session.post(f"{spec.url}/generate", data=data, headers=headers) as response:
                response.raise_for_status()
                return orjson.loads(await response.read())["generated_text"]

        async def solve(question: Question) -> bool:
            steps: list[tuple[str, str, str]] = []
            episode = prompts(question.text, steps)
            prompt = next(episode)
            while True:
                reply = await ask(prompt)
                try:
                    prompt = episode.send(reply)
                except StopIteration as stop:
                    answer = stop.value
                    break
                finally:
                    if spec.option == "per-step":
                        store.save_step(question.number, len(steps), steps[-1])
            if spec.option != "nothing":
                store.save(question.number, answer, answer == question.answer, steps)
            return answer == question.answer

        async def keep_solving() -> None:
            nonlocal right
            for question in queue:
                correct = await solve(question)  # apart from the sum, which others change meanwhile
                right += correct

        await asyncio.gather(*(keep_solving() for _ in range(spec.in_flight)))
    return right


async def _run(spec: Spec) -> Measurement:
    store = Store(spec.path / "ref.db", durable=spec.option == "fsync")
    await solve_all(spec, spec.warm_up(), store)
    work = spec.work()
    meter = Meter(spec, os.getpid())
    return meter.stop(await solve_all(spec, work, store))


if __name__ == "__main__":
    main(lambda spec: uvloop.run(_run(spec)))
