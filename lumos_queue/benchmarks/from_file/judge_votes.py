"""From a judge's replies to the grade of an answer, from 0 to 1.

The grade of an answer is the median of its votes that can be read; where the two in the middle differ, as an even
number of votes may, it is their mean, and the answer is counted as a tie. Of two grades that is the majority, and 0.5
of a tie. A vote that cannot be read, or has no reply, is asked for once more. An answer without any vote that can be
read has no score. An episode without an answer has the grade 0: no judge is asked.

A grade is read from the last line of a reply that ends with one (`Grade: 4`, `**4**`, `4/5`), or from the only grade
that its lines state. A line behind a bar is quoted from the prompt, and states none. Replies are hostile: reading takes
time in proportion to the text, and never raises.
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

VERSION = "1"  #: of the metric: raised with a rule of reading or of counting votes
UNREADABLE, MISSING = "unreadable", "missing"
NO_ANSWER = "no answer"  #: the detail of the score of an episode that has none
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
#: A number, of how many, and a remark without figures: `4/5`, `4 (a small gap)`.
_NUMBER = re.compile(
    r"(?P<grade>[0-9]{1,9})(?:\.0)?(?:[ ]?(?:/|out of)[ ]?(?P<most>[0-9]{1,9}))?(?:[ ][(–—-][^0-9]*)?", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """What became of the votes on an answer, as the detail of its score has it."""

    grades: tuple[int, ...]  #: those that were read, in the order of the votes
    unreadable: int = 0
    missing: int = 0  #: refused by the judge's server, or ended within the reasoning
    again: int = 0  #: votes that were asked for once more

    @property
    def is_tie(self) -> bool:
        """Whether the two votes in the middle differ."""
        ordered_grades, half = sorted(self.grades), len(self.grades) // 2
        return (
            bool(ordered_grades) and len(ordered_grades) % 2 == 0 and ordered_grades[half - 1] != ordered_grades[half]
        )

    def as_text(self) -> str:
        """The detail of a score."""
        votes = [*map(str, self.grades), *[UNREADABLE] * self.unreadable, *[MISSING] * self.missing]
        suffix = f"; {self.again} asked again" if self.again else ""
        return f"votes {' '.join(votes)}{suffix}{'; tie' if self.is_tie else ''}"

    @classmethod
    def from_text(cls, text: str) -> VoteCounts | None:
        """Read what `as_text` gave; None for another text."""
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
    """Whether there is no reply: the judge's server refused, or the model thought and never replied."""
    return vote.finish_reason == FinishReason.REFUSED or vote.is_only_reasoning or not _reply_of(vote).strip()


def may_ask_again(judge: JudgeDefinition, vote: Completion) -> bool:
    """Whether a vote has no grade and another reply may: a server that refused a request refuses it again."""
    return vote.finish_reason != FinishReason.REFUSED and read_vote(judge, vote) is None


def read_vote(judge: JudgeDefinition, vote: Completion) -> int | None:
    """Return the grade that a reply states, 0 or 1 of two grades, 1 to 5 of five; None where it states none."""
    if is_missing(vote):
        return None
    text = _reply_of(vote)
    if vote.finish_reason == FinishReason.LENGTH:  # its last line may go on: `Grade: 1` of `Grade: 1.5`
        text = text.rpartition("\n")[0]
    return read_grade(text, judge.grades)


def read_grade(text: str, grades: int) -> int | None:
    """Return the grade that a text states on its last line, or on all lines that state one; else None.

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
    """Count the replies to the votes on an answer: first one for each vote, then those to votes asked again."""
    first, retries = votes[: judge.votes], votes[judge.votes :]
    final_votes = [*retries, *(vote for vote in first if vote.finish_reason == FinishReason.REFUSED)]
    grades = [read_vote(judge, vote) for vote in votes]
    missing_count = sum(map(is_missing, final_votes))
    unreadable = sum(not is_missing(vote) and read_vote(judge, vote) is None for vote in final_votes)
    return VoteCounts(tuple(grade for grade in grades if grade is not None), unreadable, missing_count, len(retries))


def score_votes(judge: JudgeDefinition, answer: str | None, votes: Sequence[Completion]) -> Sequence[Score]:
    """Return the score of an answer by its votes; none where no vote can be read, 0 where there is no answer."""
    if answer is None:
        return (Score(GRADE, 0.0, VERSION, NO_ANSWER),)
    counts = count_votes(judge, votes)
    if not counts.grades:
        return ()
    grade = float(median(counts.grades))
    return (Score(GRADE, grade if judge.grades == 2 else (grade - 1) / 4, VERSION, counts.as_text()),)


def _reply_of(vote: Completion) -> str:
    """The text of a reply behind its reasoning: '' where that did not end."""
    return vote.text[split_reasoning(vote.text).start :] if may_have_reasoning(vote.text) else vote.text


def _is_quoted(line: str) -> bool:
    """Whether a line has the bar of quotations in the prompt, and is no row of a table, which also ends with one."""
    text = line.strip()
    return text.startswith("|") and not text.endswith("|")


def _value_of(line: str, words: Mapping[str, str], is_bare: bool = False) -> str:
    """The value that a line states behind a label, or as all of a line that is `bare`; '' for any other line."""
    text = line.strip(_EDGES).removeprefix("- ").strip(_EDGES)
    if len(text) > _MAX_LINE:
        return ""
    match = _LABEL.fullmatch(text)
    if not (match or is_bare):
        return ""
    value = (match["value"] if match else text).strip(_EDGES).lower()
    return words.get(value, value if _NUMBER.fullmatch(value) else "")


def _read_value(value: str, grades: int) -> int | None:
    """The grade of such a value; None for one that is not on the scale."""
    number = _NUMBER.fullmatch(value)
    if number is None or (number["most"] and int(number["most"]) != (1 if grades == 2 else grades)):
        return None
    grade = int(number["grade"])
    return grade if (grade in (0, 1) if grades == 2 else 1 <= grade <= grades) else None
