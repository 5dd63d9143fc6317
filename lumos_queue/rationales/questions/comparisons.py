"""Two things that a question compares, as a question on each, in its own words: what is sought on either page.

Who was born earlier, Ann or Bob?           -> When was Ann born?  When was Bob born?
Which peak is higher, Ahr or Bel?           -> How high is Ahr?  How high is Bel?
Which is a comedy film, Ahr or Bel?         -> Is Ahr a comedy film?  Is Bel a comedy film?
Are Ann and Bob both opera composers?       -> Is Ann an opera composer?  Is Bob an opera composer?
Are Ann and Bob of the same nationality?    -> What is the nationality of Ann?  What is the nationality of Bob?

What the pages say must lead to the gold answer: where it does not, or cannot be told, there are no such questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lumos_queue.rationales.questions.matching import content, find, has_form, missing_words, words
from lumos_queue.rationales.questions.spans import Span, compare_spans, dates, quantities

MAX_CHARACTERS = 600  #: of a question that is looked at

#: In these the names of the two are `\0`.
_OR = re.compile(r"(?P<asked>(?:who|which|what)\b.*?),? \0 or \0", re.IGNORECASE)
_ONE_OF_TWO = re.compile(r"(?P<verb>is|was) \0 or \0 (?P<said>.+)", re.IGNORECASE)
_BOTH = re.compile(
    r"(?P<verb>are|were) (?:(?:both )?\0 and \0 both|both \0,? and \0) (?P<said>.+)", re.IGNORECASE
)  # fmt: skip
_SAME = re.compile(
    r"(?:are|were|do|did) (?:both )?\0 and \0 (?:both )?(?:of|from|have|share) the same (?:nationality|country)", re.I
)

_IS = re.compile(r"(?:who|which|what)(?: [\w'-]+){0,5}? (?P<verb>is|was) (?P<said>.+)", re.IGNORECASE)
_BORN = re.compile(r"\bborn\b|\b(?:who|which|what)\b.* is (?:older|younger)\b", re.IGNORECASE)
_HAPPENED = re.compile(
    r"\bwas (?:first )?(published|formed|founded|established|started|released|created|built|launched|opened)\b"
)
_HIGH = re.compile(r"\b(?:mountain|peak|hill|volcano|summit)s?\b.*\b(?:higher|taller|highest|tallest)\b")
_HAS_MORE = re.compile(r"\b(?:has|have|contains|had) (?:more|the most|the fewest|fewer) ((?:[\w-]+ ){0,2}[\w-]+)")
_LEAST = re.compile(r"\b(?:first|earlier|earliest|older|oldest|fewer|fewest)\b")
_MOST = re.compile(r"\b(?:recently|later|latest|last|younger|youngest|higher|highest|taller|tallest|more|most)\b")
#: What has a degree cannot be asked of one alone.
_DEGREE = re.compile(
    r"\b(?:more|most|less|least|fewer|first|last|further|farther|same|better|best|worse|worst|\w{3,}(?:est|ier)"
    r"|(?:long|larg|bigg|small|high|low|tall|short|old|young|lat|great|clos|new|fast|wid|deep)er)\b"
)
_DEMONYM = re.compile(r"\b(?:is|was) an? (?:former |retired |professional )*([A-Z][a-z]+(?:-[A-Z][a-z]+)*) [a-z]")
_NO_PLURAL = re.compile(r"(?:of|from|in|on|at|by|\w+ed|known|born|held|used)\b")
_HEAD = re.compile(r"(?P<before>.*?\b)(?P<head>\w+)(?P<after>(?: (?:of|for|in|from|by|at|on|who|that|with)\b.*)?)")
_PLURAL = re.compile(r"[^siu]s$")
_BEFORE_BIRTH = re.compile(r"\bborn\b[^.]*$|\([^()]*$")
_TO = re.compile(r"\s?(?:[-–—]|\bto\b|\buntil\b|\bthrough\b)\s?")
#: A page that calls somebody a poet says that he is a writer: where such a word is missing, nothing is known.
_BROAD = frozenset(
    """writer author artist musician entertainer performer athlete scientist company business place city plant animal
    person people group book film movie song celebrity""".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Side:
    """What is asked of one of the two, and what its page says to that."""

    question: str
    result: str


@dataclass(frozen=True, slots=True)
class _Pair:
    """A question with `\\0` for the names of the two, these names, what their pages say, and the gold answer."""

    asked: str
    names: Sequence[str]
    texts: Sequence[str]
    answer: str

    def sides(self, question: Callable[[str], str], results: Sequence[str]) -> list[Side]:
        return [Side(question(name), result) for name, result in zip(self.names, results, strict=True)]

    def choice(self) -> int | None:
        """Which of the two the answer names; None where it names both as well, or neither."""
        said = set(words(self.answer))
        shares = [len(said.intersection(words(name))) / max(1, len(set(words(name)))) for name in self.names]
        return None if shares[0] == shares[1] else int(shares[1] > shares[0])

    def judge(self, said: str) -> list[str]:
        """Whether each page says it: `yes` where all its words stand there, `no` where one that is not broad does not.

        '' where that is not known.
        """
        wanted = content(said)
        lacking = [missing_words(wanted, text) for text in self.texts]
        return ["" if not wanted or (some and _BROAD.issuperset(some)) else "no" if some else "yes" for some in lacking]

    def compare(self, question: Callable[[str], str], spans: Sequence[Span | None]) -> list[Side] | None:
        """The sides, where the answer has the smaller or the larger value, as the question's words want it."""
        first, second = spans
        least, chosen = _LEAST.search(self.asked) is not None, self.choice()
        if first is None or second is None or chosen is None or least == (_MOST.search(self.asked) is not None):
            return None
        if compare_spans(first, second) != ("<" if (chosen == 0) == least else ">"):
            return None
        return self.sides(question, [first.text, second.text])


def find_sides(question: str, names: Sequence[str], texts: Sequence[str], answer: str) -> list[Side] | None:
    """The questions on two things, in the order of their names, with their results; None where no rule reads it.

    `names` are those that the question has, `texts` the sentences of their pages.
    """
    asked, shown = question.strip().rstrip(" ?."), []
    if len(asked) > MAX_CHARACTERS:
        return None
    for name in names:
        found = find(name, asked)
        if found is None:
            return None
        start, end = found
        article = "the " if asked[:start].casefold().endswith("the ") else ""
        shown.append(article + asked[start:end])
        asked = f"{asked[: start - len(article)]}\0{asked[end:]}"
    pair = _Pair(asked, shown, texts, answer)
    readers = (_nationalities, _both, _choice, _dates, _heights, _numbers)
    return next((found for read in readers if (found := read(pair))), None)


def _nationalities(pair: _Pair) -> list[Side] | None:
    found = [match[1] for text in pair.texts if (match := _DEMONYM.search(text))]
    if not _SAME.fullmatch(pair.asked) or len(found) != len(pair.texts):
        return None
    if (found[0] == found[1]) != (pair.answer.casefold() == "yes"):
        return None
    return pair.sides(lambda name: f"What is the nationality of {name}?", found)


def _both(pair: _Pair) -> list[Side] | None:
    """Of two that both are, each is; where not both are, one must be and the other must not."""
    match = _BOTH.fullmatch(pair.asked)
    said = _singular(match["said"]) if match else None
    if not match or not said:
        return None
    results = ["yes", "yes"] if pair.answer.casefold() == "yes" else pair.judge(said)
    if pair.answer.casefold() != "yes" and sorted(results) != ["no", "yes"]:
        return None
    verb = "Is" if match["verb"].casefold() == "are" else "Was"
    return pair.sides(lambda name: f"{verb} {name} {said}?", results)


def _singular(said: str) -> str | None:
    """`opera composers` as `an opera composer`; what is no noun in the plural as it stands."""
    if _NO_PLURAL.match(said):
        return said
    match = _HEAD.fullmatch(said)
    if not match or "," in said or not _PLURAL.search(match["head"]):
        return None
    noun = match["before"] + re.sub(r"ie$", "y", match["head"][:-1]) + match["after"]
    return f"{'an' if noun[0].lower() in 'aeio' else 'a'} {noun}"


def _choice(pair: _Pair) -> list[Side] | None:
    """`Is Ahr or Bel public?`: the chosen one is, and the other is not."""
    either = _OR.fullmatch(pair.asked)
    match = _IS.fullmatch(either["asked"].rstrip(" ,:")) if either else _ONE_OF_TWO.fullmatch(pair.asked)
    if not match or _DEGREE.search(match["said"]):
        return None
    results, chosen = pair.judge(match["said"]), pair.choice()
    if chosen is None or (results[chosen], results[1 - chosen]) != ("yes", "no"):
        return None
    return pair.sides(lambda name: f"{match['verb'].capitalize()} {name} {match['said']}?", results)


def _dates(pair: _Pair) -> list[Side] | None:
    if _BORN.search(pair.asked):
        return pair.compare(lambda name: f"When was {name} born?", list(map(_birth, pair.texts)))
    if match := _HAPPENED.search(pair.asked):
        spans = [_date_of(match[1], text) for text in pair.texts]
        return pair.compare(lambda name: f"When was {name} {match[1]}?", spans)
    return None


def _birth(text: str) -> Span | None:
    """The date after `born`, or the first of `(1 May 1900 – 2 June 1950)`."""
    found = dates(text)
    return _beginning(found[0]) if found and _BEFORE_BIRTH.search(text[: found[0].start]) else None


def _date_of(verb: str, text: str) -> Span | None:
    """The date of what is said to have happened; None where several are stated."""
    found = dates(text)
    return _beginning(found[0]) if len(found) == 1 and not missing_words([verb], text) else None


def _beginning(span: Span) -> Span:
    """The first date of a stretch of time."""
    return (dates(_TO.split(span.text)[0]) or [span])[0]


def _heights(pair: _Pair) -> list[Side] | None:
    if not _HIGH.search(pair.asked):
        return None
    found = [[span for span in quantities(text) if span.kind == "length"] for text in pair.texts]
    return pair.compare(lambda name: f"How high is {name}?", list(map(_single, found)))


def _numbers(pair: _Pair) -> list[Side] | None:
    match = _HAS_MORE.search(pair.asked)
    if not match:
        return None
    noun = words(match[1])[-1:]
    found = [
        [span for span in quantities(text) if noun and has_form(noun[0], words(text[span.end :][:60])[:3])]
        for text in pair.texts
    ]
    return pair.compare(lambda name: f"How many {match[1]} does {name} have?", list(map(_single, found)))


def _single(spans: Sequence[Span]) -> Span | None:
    return spans[0] if len(spans) == 1 else None
