"""The bare loop: prompts that are known beforehand, sent one after the other in each episode, and stored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import aiohttp
import orjson

from performance.store import Store


async def solve(url: str, episodes: Sequence[Sequence[tuple[str, str]]], path: Path, in_flight: int) -> int:
    """Send the prompts (role, prompt) of all episodes, so many episodes at once; returns how many there were."""
    import asyncio

    waiting, store, calls = iter(enumerate(episodes)), Store(path), 0

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(prompt: str) -> str:
            parameters = {"max_new_tokens": 1024, "details": True, "stop": ["\nObservation:"], "do_sample": False}
            data = orjson.dumps({"inputs": prompt, "parameters": parameters})
            async with session.post(url, data=data, headers={"Content-Type": "application/json"}) as response:
                response.raise_for_status()
                return orjson.loads(await response.read())["generated_text"]

        async def keep_solving() -> None:
            nonlocal calls
            for number, prompts in waiting:
                steps = []
                known = ""
                for role, prompt in prompts:
                    # As little is stored as can be: what is new in a prompt.
                    new = prompt[len(known) :] if prompt.startswith(known) else prompt
                    steps.append((role, new, await ask(prompt)))
                    known = prompt
                store.save(number, steps[-1][2], True, steps)
                calls += len(steps)

        await asyncio.gather(*(keep_solving() for _ in range(in_flight)))
    store.close()
    return calls
