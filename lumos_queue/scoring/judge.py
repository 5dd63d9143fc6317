"""Compute LLM accuracy: a model in the role `judge` decides whether an answer means the same as the gold answer.

The prompt is that of the LUMOS evaluation, whose judge was GPT-4 (spec/lumos.md 6.2). The vote is stored with the
episode.
"""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.records import Score

METRIC = "llm_accuracy"
_PROMPT = (
    "Please judge whether the model prediction can be regarded as correct according to the given question and its "
    "ground-truth answer. Please answer 'CORRECT' or 'INCORRECT'. No more details and explanations.\n\n"
    "Question: {question}\nModel prediction: {prediction}\nGround-truth answer: {answer}\n"
)
_AROUND = " \t\r\n.!'\"“”‘’`*_()[]"  #: what may surround a verdict
MAX_SHOWN = 2000  #: characters of a prediction that the judge is shown
MAX_DETAIL = 200  #: characters of a vote kept in the score; all of it is in the stored reply


def prompt(question: str, prediction: str, gold: str) -> str:
    """Return the prompt for the judge. Each argument is put on one line, so that it cannot look like another part.

    The question keeps its other white space, as in the original.
    """
    question = " ".join(filter(None, map(str.strip, question.splitlines())))
    prediction, gold = (" ".join(text.split()) for text in (prediction, gold))
    return _PROMPT.format(question=question, prediction=prediction[:MAX_SHOWN], answer=gold)


def read_vote(reply: str) -> bool | None:
    """Return True for a reply of nothing but CORRECT, False for nothing but INCORRECT, and None for any other reply.

    Case, spaces and punctuation around the word do not count. (LUMOS's own evaluation accepts only exactly `CORRECT`.)
    Sentences are not read, because they may deny the word (`It isn't correct.`).
    """
    return {"correct": True, "incorrect": False}.get(reply.strip(_AROUND).casefold())


def vote_scores(vote: str | None) -> Sequence[Score]:
    """Return the score of a vote. If `vote` is None (no judge, or a judge that refused or never replied), return ().

    An unreadable vote counts as incorrect, and the detail of the score reports it. An episode without an answer has an
    empty vote, which also counts as unreadable.
    """
    if vote is None:
        return ()
    read = read_vote(vote)
    return (
        Score(METRIC, float(read is True), detail=("" if read is not None else "unreadable: ") + vote[:MAX_DETAIL]),
    )
