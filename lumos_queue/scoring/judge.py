"""LLM accuracy: a model, the role `judge`, says whether an answer means the same as the gold answer.

The prompt is that of the LUMOS evaluation (spec/lumos.md 6.2), which asked GPT-4. The vote is stored with the episode.
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
    """Return the question for the judge. Each part is on one line, so that no part can look like another part."""
    question, prediction, gold = (" ".join(text.split()) for text in (question, prediction, gold))
    return _PROMPT.format(question=question, prediction=prediction[:MAX_SHOWN], answer=gold)


def read_vote(reply: str) -> bool | None:
    """Whether the judge says CORRECT and nothing else, or INCORRECT and nothing else; None when it says anything else.

    The original accepted `CORRECT` to the letter, so that `CORRECT.` counted as wrong. A sentence is not read, as it
    may deny what it names (`It isn't correct.`).
    """
    return {"correct": True, "incorrect": False}.get(reply.strip(_AROUND).casefold())


def vote_scores(vote: str | None) -> Sequence[Score]:
    """The score of a vote; none without a judge, or if it refused or never replied.

    A vote that cannot be read counts as incorrect and says so, and so does the empty one of an episode without answer.
    """
    if vote is None:
        return ()
    read = read_vote(vote)
    return (
        Score(METRIC, float(read is True), detail=("" if read is not None else "unreadable: ") + vote[:MAX_DETAIL]),
    )
