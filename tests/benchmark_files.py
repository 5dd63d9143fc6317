"""Helpers for tests of benchmarks: write files, score answers."""

from __future__ import annotations

import json

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion


def write_json(folder, content, name="data.json"):
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def scores(benchmark, task, answer=None, ending="answered"):
    """Return the value of each metric."""
    return {score.metric: score.value for score in benchmark.score(task, EpisodeResult(answer, ending))}


def said_by(formulation, task, reply):
    """Return the answer of a formulation that asks once, for the reply of the model."""
    generator = formulation(task, Agent({}, "complex_qa"))
    next(generator)
    try:
        generator.send(Completion(reply, "stop"))
    except StopIteration as stop:
        return stop.value.answer
    raise AssertionError("it asks again")
