"""Rows of runs in which one model answered alone (`cot`, `direct`): its own reply to the question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import without_roles
from lumos_queue.prompts.single_model import write_cot
from lumos_queue.records import Completion

if TYPE_CHECKING:
    from db.trajectories import StoredEpisode

SOLVERS = ("cot", "direct")


def read_reply(episode: StoredEpisode, domain: str) -> str:
    """Return what a model says in a row of its own run, on one line; '' where the run has no reply.

    A model that was instructed may name the answer otherwise than the formulation reads it without an instruction: then
    the domain's ending is added, which states the answer that was read.
    """
    replies = [step.result.text for step in episode.steps if isinstance(step.result, Completion)]
    answer = " ".join((episode.answer or "").split())
    if not replies or not answer:
        return ""
    if episode.formulation == "direct":
        return answer
    text = " ".join(replies[-1].split())
    phrase = FORMULATIONS.load(episode.formulation).phrase
    answer_in_text = phrase(text) if phrase else ""
    return text if answer_in_text == answer else write_cot(DOMAINS.load(domain).name, text, answer)


def has_marks_of_turns(text: str) -> bool:
    """Whether a text has what begins or ends a turn: a trainer would read more than one reply in it."""
    return without_roles(text) != text or "</s>" in text
