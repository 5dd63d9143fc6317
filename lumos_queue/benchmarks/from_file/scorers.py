"""The scorers of rows of users' files. Each compares an answer with all right answers, and the best score counts.

The formulation has already read the answer from the model's reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.choices import choice_baselines, choice_scores
from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.benchmarks.from_file.patterns import compile_pattern, matches
from lumos_queue.errors import unknown
from lumos_queue.records import Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.number_baselines import numeric_baselines
from lumos_queue.scoring.numeric import numeric_scores, read_number, same_number
from lumos_queue.scoring.spans import exact_match, f1, normalize, read_answer
from lumos_queue.scoring.yes_no import read_yes_no

REGEX = "regex:"
NO_SPACES = "\u0590"  #: the first of the scripts that put no space between words, or attach words to each other
Scores = Callable[[Task, EpisodeResult], Sequence[Score]]
Baselines = Callable[[Sequence[Task]], Mapping[str, Sequence[float]]]


def _no_baselines(tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
    return {}


@dataclass(frozen=True, slots=True)
class Scorer:
    """One way to judge answers."""

    metrics: tuple[str, ...]  #: the main metric first
    score: Scores
    answers: AnswerKind = AnswerKind.TEXT
    baselines: Baselines = _no_baselines
    compares: bool = True  #: whether a row needs a right answer


def right_answers(task: Task) -> Sequence[str]:
    """Return the right answers of a task; an empty sequence if its row states no answer."""
    gold = task.gold or {}
    return gold.get("answers") or ([gold["answer"]] if "answer" in gold else [])


def _best(task: Task, score: Callable[[str], Sequence[Score]], default_scores: Sequence[Score]) -> Sequence[Score]:
    """Return the scores against the right answer that fits best: by the main metric, then by the next metrics.

    `default_scores`: the scores of a task without a right answer.
    """
    candidates = [score(answer) for answer in right_answers(task)]
    return max(candidates, key=lambda scores: [score.value for score in scores], default=default_scores)


def score_number(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `accuracy`, 1 for the right number in any spelling, and `strict`, 1 for the same text."""
    return _best(task, lambda gold: numeric_scores(result.answer, gold, result.ending), numeric_scores(None, ""))


def score_exact(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `exact_match`, 1 for the same words as SQuAD compares them; numbers are compared by value."""
    answer = read_answer(result.answer or "")
    right = bool(answer) and any(_is_same(answer, gold) for gold in right_answers(task))
    return (Score("exact_match", float(right)),)


def _is_same(answer: str, gold: str) -> bool:
    if not normalize(gold):  # only signs and articles, which do not count as words
        return answer.casefold() == gold.casefold()
    if read_number(gold) is not None and read_number(answer) is not None:  # `-5` and `5` are the same words
        return same_number(answer, gold)
    return exact_match(answer, gold)


def score_includes(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `includes`, 1 if the answer contains a right answer, ignoring case and spaces; `14` contains no `4`."""
    answer = _plain(result.answer or "")
    right = bool(answer) and any(_includes(answer, _plain(gold)) for gold in right_answers(task))
    return (Score("includes", float(right)),)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _includes(answer: str, gold: str) -> bool:
    """Whether the gold text is in the answer, but not within a longer word or number."""
    start = answer.find(gold)
    while gold and start >= 0:
        end = start + len(gold)
        if not (_is_within(answer[start - 1 : start], gold[0]) or _is_within(answer[end : end + 1], gold[-1])):
            return True
        start = answer.find(gold, end)
    return False


def _is_within(neighbour: str, edge: str) -> bool:
    return neighbour.isalnum() and edge.isalnum() and neighbour < NO_SPACES and edge < NO_SPACES


def score_f1(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `f1` of the words that the answer shares with a right answer, and `exact_match` of `score_exact`."""
    answer = read_answer(result.answer or "")
    best = max((f1(answer, gold) for gold in right_answers(task)), default=0.0) if answer else 0.0
    return (Score("f1", best), *score_exact(task, result))


def score_choice(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `accuracy`, 1 if the answer names a right choice, and `unparsed`, 1 if it names no choice."""

    def score(answer: str) -> Sequence[Score]:
        return choice_scores(replace(task, gold={**task.gold, "answer": answer}), result.answer)

    return _best(task, score, (Score("accuracy", 0.0), Score("unparsed", float(result.answer is not None))))


def score_yes_no(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return `accuracy`, 1 for the right one of yes and no, and `unparsed`, 1 for an answer that is neither."""
    truth = read_yes_no(result.answer) if result.answer is not None else None
    right = truth is not None and any(truth == (gold == "Yes") for gold in right_answers(task))
    is_unparsed = result.answer is not None and truth is None
    return Score("accuracy", float(right)), Score("unparsed", float(is_unparsed))


def score_later(task: Task, result: EpisodeResult) -> Sequence[Score]:
    """Return no scores, because judge_votes.py computes the scores of judges later."""
    return ()


def _constant_baselines(tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
    yes = [float("Yes" in right_answers(task)) for task in tasks]
    no = [float("No" in right_answers(task)) for task in tasks]
    return {"always yes": yes, "always no": no}


def _guess_numbers(tasks: Sequence[Task]) -> Mapping[str, Sequence[float]]:
    return numeric_baselines(tasks, lambda task: task.gold["answer"])


SCORERS: Mapping[str, Scorer] = {
    "number": Scorer(("accuracy", "strict"), score_number, AnswerKind.NUMBER, _guess_numbers),
    "exact": Scorer(("exact_match",), score_exact),
    "includes": Scorer(("includes",), score_includes),
    "f1": Scorer(("f1", "exact_match"), score_f1),
    "choice": Scorer(("accuracy", "unparsed"), score_choice, AnswerKind.CHOICE, choice_baselines),
    "yes_no": Scorer(("accuracy", "unparsed"), score_yes_no, AnswerKind.YES_NO, _constant_baselines),
    "judge": Scorer(("grade",), score_later),
}
NAMES = (*SCORERS, f"{REGEX}PATTERN")


def compares(name: str, judge: JudgeDefinition | None) -> bool:
    """Whether a scorer needs right answers in rows; a judge does if its rubric has {gold}. Raises as `open_scorer`."""
    return "{gold}" in judge.rubric if judge else open_scorer(name).compares


def open_scorer(name: str) -> Scorer:
    """Return the scorer of that name. Raises SpecError for an unknown name, and for a pattern that cannot be used."""
    if name.startswith(REGEX):
        pattern = name.removeprefix(REGEX)
        compile_pattern(pattern)

        def score(task: Task, result: EpisodeResult) -> Sequence[Score]:
            return (Score("matches", float(result.answer is not None and matches(pattern, result.answer))),)

        return Scorer(("matches",), score, compares=False)
    if name not in SCORERS:
        raise unknown("scorer", name, NAMES)
    return SCORERS[name]
