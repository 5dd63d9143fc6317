"""Read the reply of a run in which one model answered the question alone, for a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.domains.registry import DOMAINS
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import without_roles
from lumos_queue.prompts.single_model import write_cot
from lumos_queue.records import Completion

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode


def read_reply(episode: StoredEpisode, domain: str) -> str:
    """Return the model's reply on one line, or only its answer without reasoning; '' if the run has no reply or answer.

    A model with an instruction may state the answer in a form that the formulation cannot read without the
    instruction. Such a reply gets the domain's last sentence with the answer.
    """
    replies = [step.result.text for step in episode.steps if isinstance(step.result, Completion)]
    answer = " ".join((episode.answer or "").split())
    if not replies or not answer:
        return ""
    formulation = FORMULATIONS.load(episode.formulation)
    if not formulation.reasons:
        return answer
    text = " ".join(replies[-1].split())
    answer_in_text = formulation.phrase(text) if formulation.phrase else ""
    return text if answer_in_text == answer else write_cot(DOMAINS.load(domain).name, text, answer)


def has_marks_of_turns(text: str) -> bool:
    """Whether a text has marks that begin or end a turn, so that a trainer would read several replies in it."""
    return without_roles(text) != text or "</s>" in text
