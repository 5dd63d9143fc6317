"""Worked examples in the teacher's prompt, written for this project: one module for each type of prompt.

A module is named after its type of prompt (`maths`, `maths_code`, `qa`, `web`, `multimodal`, `sql`). Its `DEMOS` maps
'high' and 'low' to the examples with high-level and low-level subgoals. A 'low' subgoal has exactly one action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

from lumos_queue.errors import unknown

PROMPTS = ("maths", "maths_code", "qa", "web", "multimodal", "sql")  #: what `Benchmark.teacher_prompt` may be
HIGH, LOW = SUBGOALS = ("high", "low")  #: how large a subgoal is; low: one action each


@dataclass(frozen=True, slots=True)
class Demo:
    """A worked example: a task, its plan as text, and the annotation that the teacher should write."""

    task: str
    plan: str
    annotation_text: str  #: `Subgoal 1: …` and `Action 1-1: …` lines, a blank line between subgoals


def demos_for(prompt: str, subgoals: str) -> Sequence[Demo]:
    """Return the examples for a type of prompt and a kind of subgoals. Raises SpecError for an unknown name."""
    if prompt not in PROMPTS:
        raise unknown("type of prompt", prompt, PROMPTS)
    if subgoals not in SUBGOALS:
        raise unknown("kind of subgoals", subgoals, SUBGOALS)
    return import_module(f"lumos_queue.conversion.demos.{prompt}").DEMOS[subgoals]
