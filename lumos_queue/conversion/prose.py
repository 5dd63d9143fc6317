"""What a line of a GSM8K solution calculates, from its own words.

    Ida sold 36/3 = <<36/3=12>>12 tarts on Monday.      ->  how many tarts Ida sold on Monday
    Jan earns 90/6 = $<<90/6=15>>15 per hour.           ->  how much money Jan earns per hour

Rules, not understanding: where a line does not have one of these shapes there is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from lumos_queue.benchmarks.numerals import numbers_in

MAX_WORDS = 12  #: of the text after the result
MAX_NOUN_WORDS = 4  #: of what is counted
MAX_HEAD_WORDS = 6  #: of subject and verb

_RESULT = re.compile(r"^\s*(?P<money>\$?)[-\d.,/]*\d\s*(?P<percent>%?)")
_CLAUSE_END = re.compile(r"[.;:,=(<]|\b(?:and|so|which|because|since|but|while|then)\b")
_FORMULA = re.compile(r"[\s$\d.,()+\-*/x×÷–=%]*$")
_WORDS = re.compile(r"[A-Za-z' -]+")
_OPENING = re.compile(
    r"^(?:(?:so|thus|then|therefore|hence|now|finally|first|next|and|also|that means|this means|in total|altogether"
    r"|overall|since|because)\b,?\s*(?:that\s)?)+",
    re.IGNORECASE,
)
_TOTAL = re.compile(r"\b(?:a total of|in total|another|about|up to|a|an|the|only)\s*$")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PREPOSITIONS = _words(
    """in on at of per for from to with after before during by as each every a an left total altogether
    already together overall when if that who are is was were he she they it more"""
)
_MONEY_TAIL = _words("in on at of per for from to with after before during each every a an left total altogether")
_VERBS = _words(
    """sold sells has had have earns earned earn needs needed need made makes make paid pays pay spent spends spend
    bought buys buy got gets get eats ate eat used uses use drove drives drive ran runs run read reads walked walks walk
    saved saves save gave gives give cost costs received receives collected collects drank drinks baked bakes sees saw
    planted plants picked picks owes owed lost loses weighs weighed wrote writes worked works caught catches travels
    travelled traveled brought brings contributed donated donates scored scores won wins found finds produces produced
    drew draws counted keeps kept owns owned took takes charges charged raised"""
)
_NO_NAMES = _words("that this there these those if when after in on at for what which who adding since because")
_SUBJECTS = _words("the his her he she they their it its each we")


def quantity(before: str, after: str, stated: Collection[Fraction]) -> str | None:
    """`how many …` for a mark between `before` and `after`, or None where the line does not read well.

    `stated` are the numbers of the question; words with any other number might give a result away and are not used.
    """
    result = _RESULT.match(after)
    tail = _CLAUSE_END.split(after[result.end() if result else 0 :], maxsplit=1)[0].strip()
    if tail and (_WORDS.fullmatch(tail) is None or not _safe(tail, stated) or len(tail.split()) > MAX_WORDS):
        return None
    words = tail.split()
    head = _head(before, stated)
    if before.rstrip().endswith("$") or (result and result["money"]):
        if words[:1] == ["dollars"]:
            words = words[1:]
        if words and words[0] not in _MONEY_TAIL:
            return None
        return " ".join(filter(None, ["how much money", head, *words])) if head or words else None
    if result and result["percent"]:
        return f"what percentage {' '.join(words)}" if words[:1] == ["of"] else None
    return _counted(words, head)


def _counted(words: list[str], head: str | None) -> str | None:
    """`how many tarts Ida sold on Monday`."""
    if not words or (words[0] in _PREPOSITIONS and words[0] != "more") or not words[0][0].islower():
        return None
    more = words[:1] == ["more"]
    end = next((place for place in range(int(more), len(words)) if words[place] in _PREPOSITIONS), len(words))
    if words[end : end + 1] == ["of"]:
        end = next((place for place in range(end + 1, len(words)) if words[place] in _PREPOSITIONS), len(words))
    noun, rest = words[:end], words[end:]
    if not noun or (more and len(noun) == 1) or len(noun) > MAX_NOUN_WORDS:
        return None
    if rest and rest[0] in ("are", "is", "was", "were", "he", "she", "they", "it", "who", "that"):
        head = None
    return " ".join(filter(None, ["how many", *noun, head, *rest]))


def _head(before: str, stated: Collection[Fraction]) -> str | None:
    """Subject and verb, when the text before the formula is no more than that: `Ida sold`."""
    text = _OPENING.sub("", before[-200:].rsplit(". ", 1)[-1].strip())
    text = _TOTAL.sub("", _FORMULA.sub("", text)).strip()
    words = text.split()
    if not 2 <= len(words) <= MAX_HEAD_WORDS or words[-1] not in _VERBS:
        return None
    if _WORDS.fullmatch(text) is None or not _safe(text, stated):
        return None
    first = words[0].lower()
    if first in _SUBJECTS:
        return " ".join([first, *words[1:]])
    if first in _NO_NAMES:
        return None
    return text if words[0][0].isupper() and (len(words) == 2 or words[1] == "and") else None


def _safe(text: str, stated: Collection[Fraction]) -> bool:
    return all(number in stated for number in numbers_in(text, words=True))
