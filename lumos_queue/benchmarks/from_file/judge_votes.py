"""Compute the grade of an answer, from 0 to 1, from the replies of a judge.

The grade of an answer is the median of its readable votes. If the number of votes is even and the two in the middle
differ, the grade is their mean, and the answer is counted as a tie. With two grades, the median is the majority, or 0.5
for a tie. An unreadable vote and an empty reply are requested once more; a refused request is not. An answer without a
readable vote has no score. An episode without an answer has the grade 0, and no judge is asked.

A grade is read from the last line of a reply (`Grade: 4`, `**4**`, `4/5`). If that line has none, it is read from the
other lines, if all that state a grade state the same grade. A line with a bar is a quotation of the prompt, and its
grade does not count. Replies are hostile: reading takes time in proportion to the text, and never raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.endpoints.reasoning import may_have_reasoning, split_reasoning
from lumos_queue.records import Completion, FinishReason, Score
from lumos_queue.scoring.answer_markup import plain_reply
from lumos_queue.scoring.sampling import GRADE

VERSION = "1"  #: of the metric: increase it when a rule of reading or counting votes changes
UNREADABLE, MISSING = "unreadable", "missing"
NO_ANSWER = "no answer"  #: the detail of the score of an episode without an answer
_MAX_LINE = 80  #: characters of a line that may be a grade
_EDGES = " \t.,!*_`\"'“”‘’()[]{}#>|"
_WORDS = {
    **dict.fromkeys(("correct", "right", "true", "yes", "pass"), "1"),
    **dict.fromkeys(("incorrect", "wrong", "false", "no", "fail"), "0"),
}
_LABEL = re.compile(
    r"(?:(?:my|the|final|overall)[ ]){0,2}(?:grade|score|rating|verdict)[\"']?(?:[ ]?[:=]|[ ]is\b)?[ ]?(?P<value>.*)",
    re.IGNORECASE,
)
#: A number, the largest grade, and a remark without digits: `4/5`, `4 (a small gap)`.
_NUMBER = re.compile(
    r"(?P<grade>[0-9]{1,9})(?:\.0)?(?:[ ]?(?:/|out of)[ ]?(?P<most>[0-9]{1,9}))?(?:[ ][(–—-][^0-9]*)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """The grades of the votes on an answer, and the counts of its other votes. Stored as the detail of its score."""

    grades: tuple[int, ...]  #: the grades of the readable votes, in the order of the votes
    unreadable: int = 0
    missing: int = 0  #: votes that the judge's server refused, or that ended within the reasoning
    again: int = 0  #: votes that were requested once more

    @property
    def is_tie(self) -> bool:
        """Whether the two votes in the middle differ."""
        ordered_grades, half = sorted(self.grades), len(self.grades) // 2
        return (
            bool(ordered_grades) and len(ordered_grades) % 2 == 0 and ordered_grades[half - 1] != ordered_grades[half]
        )

    def as_text(self) -> str:
        """Return the counts as text, for the detail of a score: `votes 1 0 unreadable; 1 asked again; tie`."""
        votes = [*map(str, self.grades), *[UNREADABLE] * self.unreadable, *[MISSING] * self.missing]
        suffix = f"; {self.again} asked again" if self.again else ""
        return f"votes {' '.join(votes)}{suffix}{'; tie' if self.is_tie else ''}"

    @classmethod
    def from_text(cls, text: str) -> VoteCounts | None:
        """Read the text of `as_text`; None for any other text."""
        votes, *remarks = text.split("; ")
        words = votes.split(" ")
        if words[0] != "votes":
            return None
        grades = tuple(int(word) for word in words if word.isdecimal() and len(word) < 4)
        retry_count = next((remark.split(" ")[0] for remark in remarks if remark.endswith(" asked again")), "0")
        return cls(
            grades, words.count(UNREADABLE), words.count(MISSING), int(retry_count) if retry_count.isdecimal() else 0
        )


def is_missing(vote: Completion) -> bool:
    """Whether a vote has no reply: the judge's server refused, or the reply has only reasoning."""
    return vote.finish_reason == FinishReason.REFUSED or vote.is_only_reasoning or not _reply_of(vote).strip()


def may_ask_again(judge: JudgeDefinition, vote: Completion) -> bool:
    """Whether to request an unreadable vote again. A refused request is not repeated, as it would be refused again."""
    return vote.finish_reason != FinishReason.REFUSED and read_vote(judge, vote) is None


def read_vote(judge: JudgeDefinition, vote: Completion) -> int | None:
    """Return the grade that a vote states: 0 or 1 of two grades, or 1 to 5 of five; None if it states no grade."""
    if is_missing(vote):
        return None
    text = _reply_of(vote)
    if vote.finish_reason == FinishReason.LENGTH:  # the last line may be incomplete: `Grade: 1` of `Grade: 1.5`
        text = text.rpartition("\n")[0]
    return read_grade(text, judge.grades)


def read_grade(text: str, grades: int) -> int | None:
    """Return the grade on the last line of a text, or the only grade that its lines state; else None.

    >>> from lumos_queue.benchmarks.from_file.judge_votes import read_grade
    >>> read_grade("It names the right town.\\n**Grade: 4**", 5), read_grade("It is not correct.", 2)
    (4, None)
    """
    lines = [line for line in plain_reply(text).text.split("\n") if line.strip(_EDGES) and not _is_quoted(line)]
    if not lines:
        return None
    words = _WORDS if grades == 2 else {}
    if last := _value_of(lines[-1], words, is_bare=True):
        return _read_value(last, grades)
    stated_values = {value for line in lines if (value := _value_of(line, words))}
    return _read_value(stated_values.pop(), grades) if len(stated_values) == 1 else None


def count_votes(judge: JudgeDefinition, votes: Sequence[Completion]) -> VoteCounts:
    """Count the votes on an answer. `votes` has first a reply for each vote, then the replies to repeated requests."""
    first, retries = votes[: judge.votes], votes[judge.votes :]
    final_votes = [*retries, *(vote for vote in first if vote.finish_reason == FinishReason.REFUSED)]
    grades = [read_vote(judge, vote) for vote in votes]
    missing_count = sum(map(is_missing, final_votes))
    unreadable = sum(not is_missing(vote) and read_vote(judge, vote) is None for vote in final_votes)
    return VoteCounts(tuple(grade for grade in grades if grade is not None), unreadable, missing_count, len(retries))


def score_votes(judge: JudgeDefinition, answer: str | None, votes: Sequence[Completion]) -> Sequence[Score]:
    """Return the score of an answer by its votes; none if no vote is readable, 0 if there is no answer."""
    if answer is None:
        return (Score(GRADE, 0.0, VERSION, NO_ANSWER),)
    counts = count_votes(judge, votes)
    if not counts.grades:
        return ()
    grade = float(median(counts.grades))
    return (Score(GRADE, grade if judge.grades == 2 else (grade - 1) / 4, VERSION, counts.as_text()),)


def _reply_of(vote: Completion) -> str:
    """Return the text of a reply after its reasoning; '' if the reasoning does not end."""
    return vote.text[split_reasoning(vote.text).start :] if may_have_reasoning(vote.text) else vote.text


def _is_quoted(line: str) -> bool:
    """Whether a line quotes the prompt: it begins with a bar, but does not end with a bar like a table's row."""
    text = line.strip()
    return text.startswith("|") and not text.endswith("|")


def _value_of(line: str, words: Mapping[str, str], is_bare: bool = False) -> str:
    """Return the grade as text, after a label such as `Grade:` or, if `is_bare`, without a label; '' if none."""
    text = line.strip(_EDGES).removeprefix("- ").strip(_EDGES)
    if len(text) > _MAX_LINE:
        return ""
    match = _LABEL.fullmatch(text)
    if not (match or is_bare):
        return ""
    value = (match["value"] if match else text).strip(_EDGES).lower()
    return words.get(value, value if _NUMBER.fullmatch(value) else "")


def _read_value(value: str, grades: int) -> int | None:
    """Return the grade in a text of `_value_of`; None if it is not on the scale."""
    number = _NUMBER.fullmatch(value)
    if number is None or (number["most"] and int(number["most"]) != (1 if grades == 2 else grades)):
        return None
    grade = int(number["grade"])
    return grade if (grade in (0, 1) if grades == 2 else 1 <= grade <= grades) else None
