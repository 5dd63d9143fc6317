"""The peer: plain Celery, one task for each episode, urllib3, and the episode stored in one SQLite transaction."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import urllib3
from celery import Celery

from performance.episode import prompts, request
from performance.questions import question
from performance.store import Store

app = Celery("peer", broker=os.environ["PEER_BROKER_URL"])
app.conf.update(
    # What costs least: no results, no events, messages acknowledged early.
    result_backend=None,
    task_ignore_result=True,
    task_acks_late=False,
    worker_send_task_events=False,
    task_send_sent_event=False,
    broker_connection_retry_on_startup=True,
    broker_pool_limit=1,
)


@cache
def _connect() -> tuple[urllib3.PoolManager, Store, str]:
    """Return the connections of this process; its first episode opens them, after the fork."""
    slots = int(os.environ["PEER_IN_FLIGHT"])
    return (
        urllib3.PoolManager(maxsize=slots, retries=False, headers={"Content-Type": "application/json"}),
        Store(Path(os.environ["PEER_STORE"])),
        os.environ["PEER_URL"] + "/generate",
    )


@app.task(name="episode")
def episode(number: int) -> None:
    """Solve the question of that number and keep what happened."""
    http, store, url = _connect()
    task = question(number)
    steps: list[tuple[str, str, str]] = []
    prompt_stream = prompts(task.text, steps)
    prompt = next(prompt_stream)
    while True:
        response = http.request("POST", url, body=json.dumps(request(prompt)))
        if response.status != 200:
            raise RuntimeError(f"status {response.status}")
        try:
            prompt = prompt_stream.send(json.loads(response.data)["generated_text"])
        except StopIteration as stop:
            store.save(number, stop.value, stop.value == task.answer, steps)
            return
