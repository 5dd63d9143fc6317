"""Search the texts that people read for figures in another form than those of lumos_queue/util/wording.py."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from lxml import etree

from tests.page_parts import parse_page

_NUMBER = r"(?<![\w.,:/#$+-])\d[\d,]*(?:\.\d+)?"  #: that no name, address, version or date contains
_UNITS = "ms|sec|secs|seconds?|mins|minutes?|hours?|hrs?|m|days?|weeks?|years?|yrs?"

#: Another form of a figure, by what it is. `95 %` is the level of all intervals; seeds and years are no counts.
OTHER_FORMS = {
    "a percentage without a space": r"\d%",
    "a percentage with other than one digit": r"(?<![\d.,])(?!95 %|80 % power)(?:\d[\d,]* %|[\d,]+\.\d{2,} %)",
    "a percentage above 100": r"\b(?:[1-9][\d,]{3,}|[2-9]\d\d|1[1-9]\d|10[1-9])\.\d %",
    "a range with its unit twice": r"\d % (?:to|-|–) \d",
    "a percentage in words": r"\d (?:percent|per cent)\b",
    "an interval in other brackets": r"\(\+?-?\d+\.\d+(?: %)?(?:, | to | - |–|; )\+?-?\d+\.\d+(?: %)?\)",
    "an interval with its unit": r"\[[^\[\]]*\d %[^\[\]]*\d %\]",
    "an interval of shares that are not in per cent": r"\[[01]\.\d{2,}, [01]\.\d{2,}\]",
    "a count without a separator": (
        r"(?<![\w.,:/#$+-])(?<!seed )(?<!revision )(?!(?:19|20)\d\d\b)\d{4,}(?![\w:]|/[a-z]|-\d|\.\d)"
    ),
    "a number that is not rounded": r"(?<![\w$.])\d+\.\d{5,}",
    "a time in ISO 8601": r"\d{4}-\d\d-\d\dT\d\d",
    "a time without its zone": r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?(?![\d:]| UTC)",
    "a duration in another unit, or without a space": rf"{_NUMBER}(?: ?(?:{_UNITS})|s|min|h|d|y)\b",
    "a duration with too many digits": r"\d{2,}\.\d{2,} s\b|(?<![\d.])[1-9]\.\d{3,} s\b|\.\d{4,} s\b",
    "a size in another unit, or without a space": rf"{_NUMBER}(?: ?(?:[KMGT]i?B|kiB|B|bytes?)|kB)\b",
    "an amount of money in another form": (r"\b(?:USD|EUR) \d|\d (?:USD|EUR|dollars)\b|\$\d[\d,]*(?:\.\d)?(?![\d.,])"),
    "a value that is missing": (
        r"\bNone\b(?!\.)|\bnan\b|\bNaN\b|\bN/?A\b|\bn/a\b|—|\bnull\b|(?m:(?<=  )-(?=  |$))|(?m:^-$)"
    ),
}
#: Right forms that a pattern above would find: `3.4 MB`, and `812 bytes`, which has less than a kilobyte.
_SIZE = re.compile(r"\d{1,3}(?:,\d{3})*\.\d (?:k|M|G)B|\d{1,3} bytes?")


def find_other_forms(text: str, names: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return each figure in another form, as (what is wrong, figure and its surroundings).

    `names`: ids, digests and other texts to leave out before the search.
    """
    for name in sorted(filter(None, names), key=len, reverse=True):
        text = text.replace(name, "NAME")
    return [
        (kind, " ".join(text[max(0, match.start() - 40) : match.end() + 20].split()))
        for kind, pattern in OTHER_FORMS.items()
        for match in re.finditer(pattern, text)
        if not (kind.startswith("a size") and _SIZE.fullmatch(match[0]))
    ]


def read_texts(html: str) -> str:
    """Return the texts of a page, each on a line. Styles, scripts, text fields and axes of charts are left out."""
    return "\n".join(_texts(parse_page(html)))


def _texts(element: etree._Element) -> Iterator[str]:
    is_axis = "axis" in element.get("class", "").split()
    if isinstance(element.tag, str) and element.tag not in ("style", "script", "textarea") and not is_axis:
        yield from filter(None, [" ".join((element.text or "").split())])
        for child in element:
            yield from _texts(child)
    if tail := " ".join((element.tail or "").split()):
        yield tail
