"""Find the choice that a model's answer means. The prompt asks for a capital letter; models also write choices and
sentences.

Nothing was published about how LUMOS reads such answers. These rules are this project's (spec/lumos.md 6.2), and the
first rule that applies decides.

1. Only the text after the last `=`, and in it after the last `Answer:`, is read, unless the whole answer is a choice.
2. The text is a single letter, or begins with a letter that is marked: `B`, `(b)`, `B. dog`, `C: dog`. The rule does
   not apply if another letter follows at once (`A, B`, `A. B.`), if `is wrong` follows, or if the text lists several
   choices with their letters.
3. The text is a choice: exactly, or else apart from case, an article before it and a dot after it.
4. The text has a single letter that is a word and belongs to a choice. Of several letters, the last after `answer is`,
   `choice is`, `pick` and similar words counts. The letter is a capital, or, after `answer`, `option` or `choice`, also
   a small letter that is not itself a choice. The article (`A dog`; but `A is right`), initials (`D.C.`, `B-24`) and
   letters inside a choice that the text names (`It is vitamin C.`) do not count.
5. The text has no such letter, and names a single choice in whole words. Longer choices are sought first: `blue jeans`
   names `blue jeans`, not `blue`.
6. The text names neither letter nor choice, and is a part of a single choice: `remote` is `remote controls`.

In rules 4 and 5, a denied letter or choice does not count: up to four words after `not`, `n't`, `neither` and similar
words (`does not look like a dog`), or before `is not`, `is wrong` and similar words. Letters and choices that a comma,
`and`, `or` or a slash joins are denied together (`A and B are wrong`), and stated together: `The answer is A or B`
names no choice. Choices with the same text are the same choice. A letter without a choice, `No answer` and all other
texts mean no choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LETTERS = "ABCDEFGH"
Mention = tuple[int, int, int]  #: a choice's index, and where it is named: start and end
MAX_ANSWER = 2_000  #: characters; what follows is not read
_OPEN, _CLOSE = r"[\s\"'`*_(\[{]*+", r"[\"'`*_)\]}]*+"
#: A letter that is all there is, or is marked: by a bracket, a colon, a dot or comma and a space, or a dash.
_CAPITAL = re.compile(rf"{_OPEN}([A-H])(?={_CLOSE}[\s.,:;!]*$|{_CLOSE}[.:,;]+\s|[\"'`*_]*[)\]]|:|\s+[-–—]\s)")
_SMALL = re.compile(rf"{_OPEN}([a-h])(?={_CLOSE}[\s.:]*$|[\"'`*_]*[)\]]\s|[.:]\s)")
_ALONE = re.compile(r"(?<![\w&-])(?<!\w['’])(?<![A-Za-z]\.)([A-H])(?![\w&]|['’-]\w|\.[A-Z]\b)")
#: `A` before a word is the article, unless the word is one of these or a letter.
_ARTICLE = re.compile(
    r"\s++(?!(?i:is|are|was|were|seems|looks|would|because|since|as|and|or|nor|but|with)\b|[A-H]\b(?!['’-]))[^\W_]"
)
_AND = r"\s*+(?:[,/&]|(?:,\s*+)?\b(?i:and|or|nor)\b)"
_LETTER_FOLLOWS = re.compile(rf"{_CLOSE}(?:{_AND}{_OPEN}[A-Ha-h](?![\w'’])|[.:;]*+{_OPEN}[A-H](?=[.,:;)\]]|\s*$))")
_SMALL_NAMED = re.compile(
    rf"\b(?i:(?:answer|option|choice)s?(?:\s+is)?)\b\s*+:?{_OPEN}\b(?!a{_ARTICLE.pattern})"
    rf"([a-h](?![\w'’-]|\.\w)(?:{_CLOSE}{_AND}{_OPEN}[a-h](?![\w'’-]|\.\w))*)"
)
#: Between two letters or choices that belong together; what denies one from in front, from behind; what affirms it.
_JOINED = re.compile(r"[^\w.;:!?]*+(?i:(?:and|or|nor)\b[^\w.;:!?]*+)?(?i:(?:an?|the|option|choice)\s[^\w.;:!?]*+)?")
_DENIED = re.compile(
    r"(?i:\b(?:not|cannot|neither|nor|never|except|eliminat\w+|exclud\w+)|n['’]t)"
    r"(?:\s+(?!(?i:but|so|and|because|since|then|hence|therefore|sure|certain|only)\b|[A-H]\b)[\w'’]+){0,4}"
    r"[^\w.,;:!?]*\Z"
)
_WRONG = re.compile(
    r"[^\w.,;:!?]++(?i:(?:is|are|was|were|would be)(?:n['’]t|\s+(?:both |all )?(?:not|wrong|incorrect)\b)"
    r"|can(?:not|['’]t) be\b)"
)
_SAID = re.compile(
    r"\b(?i:(?:answer|option|choice)\s+is|choose|pick)\b\s*+(?::\s*+)?(?i:(?:option|choice)\s)?[^\w.;!?]*+\Z"
)
_REACH = 80  #: characters in front of a letter or a choice in which a denial is looked for
_LEADING_ARTICLE = re.compile(r"^(?:an?|the)\s+(?=\S)", re.IGNORECASE)
_ANSWER = re.compile(r"\banswer:", re.IGNORECASE)


def read_choice(answer: str, choices: Sequence[str]) -> int | None:
    """Return the index, from 0, of the choice that the answer means, or None. Of equal choices, the first counts."""
    answer = answer[:MAX_ANSWER]
    if "=" in answer and (whole := _same(answer, choices)) is not None:
        return whole
    text = _ANSWER.split(answer.rpartition("=")[2])[-1].strip()
    match = _CAPITAL.match(text) or (None if text.rstrip(" .") in choices else _SMALL.match(text))
    if match and not (
        _LETTER_FOLLOWS.match(text, match.end()) or _WRONG.match(text, match.end()) or _lists(text, choices)
    ):
        return _find_index(match[1], choices)
    if (same := _same(text, choices)) is not None:
        return same
    if not text or _plain(text) == "no answer":
        return None
    mentions = sorted(_mentions(text, choices), key=lambda mention: mention[1])
    letters = list(_letters(text, choices, mentions))
    if claims := _claims(text, letters):
        stated_claims = [claim for claim in claims if _SAID.search(text, max(0, claim[0][1] - _REACH), claim[0][1])]
        return _only(choices, (index for claim in stated_claims[-1:] or claims for index, _, _ in claim))
    if mentions or letters:
        return _only(choices, (index for claim in _claims(text, mentions) for index, _, _ in claim))
    return _only(choices, _find_containing(text, choices))


def _lists(text: str, choices: Sequence[str]) -> bool:
    """Whether the text lists several choices, each after its letter, so that no letter in it is an answer."""
    lists = (
        re.search(rf"(?<!\w){letter}[\"'`*_]*[.):]\s*{re.escape(choice)}(?!\w)", text, re.IGNORECASE)
        for letter, choice in zip(LETTERS, choices, strict=False)
    )
    return sum(map(bool, lists)) > 1


def _letters(text: str, choices: Sequence[str], mentions: Sequence[Mention]) -> Iterable[Mention]:
    """Yield the letters, in order, that are words by themselves and belong to a choice."""

    def large(match: re.Match[str]) -> str:
        small = match[1]
        return match[0] if small in choices else match[0][: -len(small)] + small.upper()

    for letter in _ALONE.finditer(_SMALL_NAMED.sub(large, text)):
        index, (start, end) = _find_index(letter[1], choices), letter.span()
        within = any(first <= start < last for _, first, last in mentions)
        if index is not None and not within and not (letter[1] == "A" and _ARTICLE.match(text, end)):
            yield index, start, end


def _claims(text: str, mentions: Iterable[Mention]) -> list[list[Mention]]:
    """Group mentions that are joined, as by a comma or `and`, into lists. Groups that the text denies are left out."""
    together: list[list[Mention]] = []
    for mention in mentions:
        if together and _JOINED.fullmatch(text, together[-1][-1][2], mention[1]):
            together[-1].append(mention)
        else:
            together.append([mention])
    return [
        claim
        for claim in together
        if not _DENIED.search(text, max(0, claim[0][1] - _REACH), claim[0][1]) and not _WRONG.match(text, claim[-1][2])
    ]


def _find_index(letter: str, choices: Sequence[str]) -> int | None:
    index = LETTERS.index(letter.upper())
    return index if index < len(choices) else None


def _same(text: str, choices: Sequence[str]) -> int | None:
    """Return the choice that equals the text: as written, or else in plain form if only one choice has that form."""
    for spelling in (text.strip(), text.strip(" ."), _LEADING_ARTICLE.sub("", text.strip(" ."), count=1)):
        if spelling in choices:
            return choices.index(spelling)
    plain = _plain(text)
    return _only(choices, (index for index, choice in enumerate(choices) if plain and _plain(choice) == plain))


def _plain(text: str) -> str:
    """Return the text in small letters, with single spaces, without article before it, and quotes or dots around it."""
    return _LEADING_ARTICLE.sub("", " ".join(text.casefold().split()).strip(" .!\"'`*"), count=1)


def _mentions(text: str, choices: Sequence[str]) -> Iterable[Mention]:
    """Yield each choice in the text: as written, then in any case. A choice inside a longer choice does not count.

    Words in another case mention all choices that differ only by case. A choice of a single character is found only as
    it is written, and only if it is a figure or a small letter other than the article `a`.
    """
    spans: dict[tuple[int, int], bool] = {}  #: span to whether it is as written
    for as_written in (True, False):
        for index in sorted(range(len(choices)), key=lambda index: -len(choices[index])):
            choice = choices[index].strip()
            if len(choice) < 2 and not (as_written and choice != "a" and (choice.islower() or choice.isdigit())):
                continue
            pattern = rf"(?<!\w){re.escape(choice)}(?!\w)"
            for match in re.finditer(pattern, text, re.NOFLAG if as_written else re.IGNORECASE):
                if not any(_hides(span, exact, match.span()) for span, exact in spans.items()):
                    spans[match.span()] = as_written
                    yield index, *match.span()


def _hides(span: tuple[int, int], exact: bool, other_span: tuple[int, int]) -> bool:
    """Whether an earlier mention, at `span`, excludes a later mention at `other_span`."""
    overlap = span[0] < other_span[1] and other_span[0] < span[1]
    return overlap and (exact or span != other_span)


def _find_containing(text: str, choices: Sequence[str]) -> Iterable[int]:
    """Yield the indexes of the choices that contain the text as whole words."""
    if plain := _plain(text):
        pattern = re.compile(rf"(?<!\w){re.escape(plain)}(?!\w)")
        for index, choice in enumerate(choices):
            if pattern.search(" ".join(choice.casefold().split())):
                yield index


def _only(choices: Sequence[str], indexes: Iterable[int]) -> int | None:
    """Return the first index of the choice that all `indexes` mean; None for different choices, or without indexes."""
    index_list = list(indexes)
    return choices.index(choices[index_list[0]]) if len({choices[index] for index in index_list}) == 1 else None
