"""Handle candidates and constraints at servers: refuse requests for candidates, and check replies afterwards."""

from __future__ import annotations

from dataclasses import replace

from lumos_queue.commands import Constraint
from lumos_queue.endpoints.base import ModelCall
from lumos_queue.errors import EpisodeError
from lumos_queue.records import Completion, Ending, FinishReason


def refuse_search(url: str, call: ModelCall) -> None:
    """Raise EpisodeError if the call needs a search. Endpoints that only write one reply call this."""
    if call.candidates > 1 or call.sampling.beams > 1 or call.sampling.epsilon > 0:
        raise EpisodeError(
            Ending.INFRA_ERROR,
            f"{url} gives no candidates with log-probabilities: use local:DIR for this role, or leave out candidates, "
            "beams and epsilon.",
        )


def judge(completion: Completion, constraint: Constraint | None, was_sent: bool) -> Completion:
    """Return the completion, with a note if the constraint does not allow its text.

    `was_sent`: whether the server got the constraint. Raises no error: the caller decides about such a reply.
    """
    if constraint is None or constraint.accepts(completion.text):
        return completion
    preview = " ".join(completion.text[:80].split())
    if completion.finish_reason == FinishReason.LENGTH:
        note = f"the limit of tokens cut the reply, which is not allowed as it is: '{preview}'"
    elif was_sent:
        note = f"the server ignored the constraint: '{preview}' is not allowed"
    else:
        note = f"judged afterwards: '{preview}' is not allowed"
    return replace(completion, note=f"{completion.note}; {note}" if completion.note else note)
