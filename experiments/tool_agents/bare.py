"""The bare loop: episodes of scripts, so many at once, each stored in SQLite in one transaction when it has ended.

As performance/ref.py: uvloop, aiohttp, orjson, WAL, `synchronous=NORMAL` (no fsync for an episode). No queue, leases,
retries, limits of time or size, digests or scores. Stored are a row for each model call (role, what is new in its
prompt, reply), one for each action (name, arguments, status, what was shown), and the answer.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import aiohttp
import orjson

from experiments.tool_agents.scripts import Answers, Episode, Row

_TABLES = (
    "CREATE TABLE episode (number INTEGER PRIMARY KEY, answer TEXT, calls INTEGER)",
    "CREATE TABLE call (episode INTEGER, place INTEGER, role TEXT, said TEXT, reply TEXT, "
    "PRIMARY KEY (episode, place)) WITHOUT ROWID",
    "CREATE TABLE action (episode INTEGER, place INTEGER, name TEXT, arguments TEXT, status TEXT, shown TEXT, "
    "PRIMARY KEY (episode, place)) WITHOUT ROWID",
)


class Store:
    """Where the episodes go."""

    def __init__(self, path: Path):
        self._connection = sqlite3.connect(path, isolation_level=None)
        for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", *_TABLES):
            self._connection.execute(statement)

    def save(
        self, number: int, answer: str | None, calls: Sequence[tuple[str, str, str]], actions: Sequence[Row]
    ) -> None:
        """One episode: its calls (role, what is new in the prompt, reply) and actions."""
        execute, execute_many = self._connection.execute, self._connection.executemany
        execute("BEGIN")
        execute("INSERT INTO episode VALUES (?, ?, ?)", (number, answer, len(calls)))
        execute_many(
            "INSERT INTO call VALUES (?, ?, ?, ?, ?)",
            [(number, position, *call) for position, call in enumerate(calls)],
        )
        execute_many(
            "INSERT INTO action VALUES (?, ?, ?, ?, ?, ?)",
            [(number, position, *action) for position, action in enumerate(actions)],
        )
        execute("COMMIT")

    def close(self) -> None:
        self._connection.close()


def begin(script: Callable[..., Episode], line: bytes, answers: Answers) -> Episode:
    """The episode of a question as its file has it: a line with the text and the documents of the functions."""
    question, documents = orjson.loads(line)
    return script(question, documents, answers)


def send(prompts: Sequence[tuple[str, str]]) -> Episode:
    """An episode whose prompts are known beforehand: no reply is read, no prompt written, no tool called."""
    for role, prompt in prompts:  # noqa: UP028 - `yield from` would send the replies to the list
        yield role, prompt
    return None, []


async def solve(url: str, episodes: Iterable[Episode], path: Path, in_flight: int) -> int:
    """Run the episodes to their ends; returns how many model calls they made."""
    queue, store, calls = iter(enumerate(episodes)), Store(path), 0

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(prompt: str) -> str:
            parameters = {"max_new_tokens": 1024, "details": True, "stop": ["\nObservation:"], "do_sample": False}
            data = orjson.dumps({"inputs": prompt, "parameters": parameters})
            async with session.post(url, data=data, headers={"Content-Type": "application/json"}) as response:
                response.raise_for_status()
                return orjson.loads(await response.read())["generated_text"]

        async def keep_solving() -> None:
            nonlocal calls
            for number, episode in queue:
                episode_calls: list[tuple[str, str, str]] = []
                last_prompt = ""
                role, prompt = next(episode)
                while True:
                    reply = await ask(prompt)
                    # As little is stored as can be: what is new in a prompt.
                    episode_calls.append(
                        (role, prompt[len(last_prompt) :] if prompt.startswith(last_prompt) else prompt, reply)
                    )
                    last_prompt = prompt
                    try:
                        role, prompt = episode.send(reply)
                    except StopIteration as stop:
                        answer, actions = stop.value
                        break
                store.save(number, answer, episode_calls, actions)
                calls += len(episode_calls)

        await asyncio.gather(*(keep_solving() for _ in range(in_flight)))
    store.close()
    return calls
