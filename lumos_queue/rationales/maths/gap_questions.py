"""Asks for the number that a clause lacks, as a noun phrase.

    On Saturday, she sold | | boxes                        ->  how many boxes she sold on Saturday
    The price of the cup is | $ |                          ->  the price of the cup
    divide this by that to find the number of bags: | | bags  ->  the number of bags
    Third year: | | apples                                 ->  the number of apples for 'Third year'
    He has 5 red and 3 blue ones for a total of | | pens   ->  the answer to 'He has … for a total of how many pens?'

The rules look at the form of the words only. The last two forms fit every clause.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lumos_queue.rationales.maths.english import (
    BEING,
    DETERMINERS,
    MEASURES,
    PREPOSITIONS,
    PRONOUNS,
)
from lumos_queue.rationales.maths.gap_words import (
    LOWER,
    MEASURE_UNITS,
    NO_SUBJECTS,
    OPENER,
    QUANTITIES,
    capitalize,
    is_complete,
    is_noun_phrase,
    is_opener,
    is_subject,
    names_quantity,
    split_noun,
    split_opener,
    starts_as_pronoun,
)
from lumos_queue.rationales.maths.gaps import Gap
from lumos_queue.rationales.maths.verbs import MODALS, PARTICLES, has_verb, is_verb, takes_object
from lumos_queue.rationales.word_set import word_set

MAX_SUBJECT_WORDS = 16

_FIND = re.compile(
    r"\b(?:find|figure out|calculate|determine|compute|know|work out|get|finding|calculating)(?: out)? ", re.IGNORECASE
)
_CONVERT = re.compile(r"\bconvert ", re.IGNORECASE)
_TO_UNIT = re.compile(r" (?:in)?to (?=[a-z ]{1,30}\Z)")
_ADVERBS = word_set("then now also about only therefore currently exactly just still already approximately thus hence")
_ANOTHER = word_set("another additional extra")
_PIED = word_set("for in by at to from into on after within per until with")
_LEFT_WITH = re.compile(r"\b(?:left|ends? up|ended up|start(?:s|ed)?|remains?) with$")
_ADDS_TO = re.compile(r"\b(?:come|comes|came|amount|amounts|amounted|adds? up|added up) (?:out )?to$")
_TOTAL_OF = re.compile(r"\b(?:a (?:grand |combined )?total of|a sum of|up to|as many as)$", re.IGNORECASE)
_IN_TOTAL = re.compile(r" (?:in total|in all|altogether|all together)$")
_NOUN_OF = re.compile(r"^(?P<clause>.+?) an? (?P<noun>(?:[a-z-]+ )?[a-z-]+) of$")
_REASON = re.compile(r"(?:since|because|as|given|so|knowing)\b", re.IGNORECASE)
#: After these, the rest of a line may be a clause of its own.
_BOUNDARY = re.compile(
    r"[,;:]\s*|\b(?:so(?: that(?! (?:many|amount)))?|then|mean(?:s|ing)?(?: that)?|because|but|therefore)\s+"
    r"|\band (?=(?:he|she|they|it|we|there)\b)|\bthat (?=(?:he|she|they|there)\b)"
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th) ")
_RELATIVE = re.compile(r" (?:he|she|they|it) (?:is|are|was|were) ")
_JOINING = word_set("which who so because since means")  #: a clause with these is two clauses
_CONNECTIONS = word_set("so then and that but means mean meaning therefore which")
_UNIT = re.compile(r"[a-z][a-z. ²-]{0,24}")
_FULL_STOP = " .,;:="


def ask_for_gap(gap: Gap, lower_words: frozenset[str]) -> Iterator[str]:
    """Yield noun phrases for the number that the clause lacks, those that read best first.

    `lower_words`: words of the row in lower case; a clause begins with one of them in lower case if it comes later.
    """
    phrase = _Phrasing(gap, lower_words)
    for form in (phrase.ask_purpose, phrase.ask_label, phrase.ask_clause):
        if text := form():
            yield text
            break
    if text := phrase.quote():
        yield text


class _Phrasing:
    """Writes the phrases for one gap."""

    def __init__(self, gap: Gap, lower_words: frozenset[str]) -> None:
        self.gap = gap
        self.lower_words = lower_words
        self.noun, self.rest = split_noun(gap.right)
        self.tail = _ORDINAL.sub("", gap.right)
        left = gap.left.removesuffix(" the") if self.tail != gap.right else gap.left
        self.left = left.strip().rstrip("$").strip()

    # --- forms --------------------------------------------------------------------------------------------------------

    def ask_purpose(self) -> str | None:
        """Return the quantity that the line finds: `… to find the number of bags:`."""
        text = self.left.rstrip(_FULL_STOP)
        has_sign = self.left.endswith((":", "="))
        if has_sign and (conversion := _CONVERT.search(text)):
            quantity, *unit = _TO_UNIT.split(text[conversion.end() :])
            if unit and quantity:
                return f"{self._lower(quantity)} in {unit[-1]}"
        matches = list(_FIND.finditer(text))
        quantity = text[matches[-1].end() :].strip() if matches else ""
        if not quantity or not (has_sign or not self.rest):
            return None
        first = quantity.split()[0].lower()
        is_question = first in ("how", "what")
        if not (is_question or is_noun_phrase(quantity)) or not is_complete(quantity):
            return None
        if not has_sign and (is_question or not names_quantity(quantity)):
            return None
        return self._add_unit(self._lower(quantity))

    def ask_label(self) -> str | None:
        """Return the quantity of a line that begins with a label: `Total cost:`."""
        if not self.left.endswith((":", "=", "-")):
            return None
        label = self.left.rstrip(_FULL_STOP + "-")
        label = re.split(r"[;:.]\s+", label)[-1]
        if not label or not re.search("[A-Za-z]{3}", label):
            return None
        if is_noun_phrase(label) and names_quantity(label) and not has_verb(label.split()):
            return self._add_unit(self._lower(label))
        return f"{self._amount()} for '{capitalize(label)}'"

    def ask_clause(self) -> str | None:
        """Return the number of a clause as a question: `how many boxes she sold on Saturday`."""
        if not self.left or self.left.lower() in ("while", "since", "if", "when", "with"):
            return self._ask_without_subject("")
        for clause, opener in self._clauses():
            if phrase := self._ask(clause, opener):
                return phrase
        return None

    def quote(self) -> str | None:
        """Return the line with a question in place of its number, or the number's unit and the words before it."""
        words = self.left.rstrip(_FULL_STOP).split()
        if not words or (
            words[-1].lower() == "of" and not _TOTAL_OF.search(self.left) and not _NOUN_OF.match(self.left)
        ):
            return None
        left = " ".join([capitalize(words[0]), *words[1:]])
        if self._is_open(words):
            if words[-1].lower() in BEING and not self.gap.right and not (self.gap.is_money or self.gap.is_percent):
                return f"the answer to '{left} what number?'"
            text = " ".join(filter(None, (left, self._question_words(), self.tail)))
            return f"the answer to '{text}?'"
        suffix = f" {self.rest}" if self.rest and not self.noun else ""
        return f"{self._amount()} for '{left}{suffix}'"

    # --- clauses ------------------------------------------------------------------------------------------------------

    def _clauses(self) -> Iterator[tuple[str, str]]:
        """Yield the clauses at the end of the text before the gap, the shortest first, each with its opening phrase."""
        starts = [0, *(match.end() for match in _BOUNDARY.finditer(f"{self.left} "))]
        for start in reversed(starts):
            clause, before = self.left[start:].strip(), self.left[:start].strip(" ,;:")
            if not clause and not has_verb(before.split()) and is_opener(before):
                yield "", before
            elif not clause and self.rest and start:
                yield "", ""
            if not clause:
                continue
            clause, own_opener = split_opener(clause)
            if not is_subject(clause):
                continue
            head = re.split(r"(?:[,;:]|\bso|\bthen|\bmeans?|\bmeaning)\s+", before)[-1]
            head_words = head.split()
            while head_words and head_words[-1].lower() in _CONNECTIONS:
                head_words.pop()
            head = " ".join(head_words).strip(" ,")
            if own_opener:
                yield clause, own_opener
            elif is_opener(head):
                yield clause, head
            elif not before or has_verb(before.split()) or _REASON.match(before) or before.split()[0].endswith("ing"):
                yield clause, ""

    def _ask(self, clause: str, opener: str) -> str | None:
        words = clause.split()
        if not words:
            return self._ask_without_subject(opener)
        if starts_as_pronoun(words) or len(words) > MAX_SUBJECT_WORDS + 4:
            return None
        clause = clause.rstrip(",")
        if "," in clause and (" and " not in clause or words[0].endswith("ing")):
            return None
        if not _JOINING.isdisjoint(words) or (words[0].lower() in PRONOUNS and "and" in words):
            return None
        clause = _IN_TOTAL.sub("", _TOTAL_OF.sub("", clause).strip())
        words = clause.split()
        if _TOTAL_OF.search(self.left) and words[-1:] in (["for"], ["in"], ["to"], ["is"], ["with"]):
            return None
        removals: list[str] = []
        while words and words[-1].lower() in _ADVERBS | _ANOTHER | {"a", "an", "the", "total"}:
            removals.append(words.pop().lower())
        if len(words) < 2:
            return None
        article = bool(removals) and removals[0] in ("a", "an", "the")
        last = words[-1].lower()
        if last in BEING or last in ("equals", "equal"):
            return self._ask_being(words, opener)
        has_more = self.noun and not self.noun.startswith("more") and not _ANOTHER.isdisjoint(removals)
        noun = f"more {self.noun}" if has_more else self.noun
        if last in _PIED or last == "of":
            return self._ask_after_preposition(words, opener, noun)
        if not takes_object(words):
            return None
        if article:
            return self._join(f"the {self.noun}", words, self.rest, opener) if self.gap.is_money and self.noun else None
        if last in ("cost", "costs", "charge", "charges", "charged") and self.gap.is_money:
            return self._join("how much", words, self.gap.right, opener)
        return self._join(self._how_many(noun), words, self.rest, opener)

    def _ask_being(self, words: list[str], opener: str) -> str | None:
        """Return the number of a clause such as `her brother is | | years old`."""
        subject = words[:-1]
        while subject and subject[-1].lower() in (*MODALS, "also", "now", "then", "therefore", "currently", "equal"):
            subject.pop()
        if not subject:
            return None
        verb = words[len(subject) :]
        first = subject[0].lower()
        if first == "there" or (subject[-1].lower() == "there"):
            return (
                self._join(self._how_many(self.noun), ["there", *verb], self.rest, opener) if first == "there" else None
            )
        name = " ".join(subject)
        nouns = self.noun.split()
        if nouns and nouns[-1] in MEASURES:
            question = "how old" if self.noun == "years old" else f"how many {self.noun}"
            return self._join(question, words, self.rest, opener)
        if first in PRONOUNS | NO_SUBJECTS or _has_other_verb(name):
            return None
        if names_quantity(name) and is_noun_phrase(name) and not self.rest:
            return self._add_opener(self._add_unit(self._lower(name)), opener)
        if self.gap.is_percent:
            return None
        if self.gap.is_money:
            return self._join("how much", words, self.gap.right, opener)
        if self.noun:
            return self._join(f"how many {self.noun}", words, self.rest, opener)
        return self._join("what", words, self.rest, opener) if is_noun_phrase(name) else None

    def _ask_after_preposition(self, words: list[str], opener: str, noun: str) -> str | None:
        clause = " ".join(words)
        if _LEFT_WITH.search(clause) or _ADDS_TO.search(clause):
            if words[0].lower() in NO_SUBJECTS:
                return None
            if _ADDS_TO.search(clause) and names_quantity(name := _ADDS_TO.sub("", clause).strip()) and not self.rest:
                return self._add_unit(self._lower(name))
            return self._join(self._how_many(noun), words, self.rest, opener)
        match = _NOUN_OF.match(clause)
        if match:
            noun_words, subject = match["noun"].split(), match["clause"].split()
            if noun_words[-1] in QUANTITIES - {"average"} and len(subject) > 1 and is_verb(subject, len(subject) - 1):
                return self._join(f"the {match['noun']}", subject, self.rest if self.gap.is_money else "", opener)
            return None
        if words[-1].lower() not in _PIED or len(words) < 3 or not has_verb(words[:-1]):
            return None
        if words[-1].lower() == "to" and not (is_verb(words, len(words) - 2) or words[-2].lower() in PARTICLES):
            return None
        if words[-1].lower() == "for" and self.gap.is_money:
            return self._join("how much", words, self.rest, opener) if is_verb(words, len(words) - 2) else None
        return self._join(f"{words[-1].lower()} {self._how_many(noun)}", words[:-1], self.rest, opener)

    def _ask_without_subject(self, opener: str) -> str | None:
        if self.gap.is_money or self.gap.is_percent:
            verb, _, subject = self.gap.right.partition(" ")
            if verb in BEING and subject and is_noun_phrase(subject) and not opener:
                return self._lower(subject)
            if not self.gap.right.startswith("of "):
                return None
            kind = "how much" if self.gap.is_money else "what percentage"
            return self._add_opener(f"{kind} {self.gap.right}", opener)
        if self.gap.right.split()[:1] and self.gap.right.split()[0] in DETERMINERS:
            return self._add_opener(self.gap.right, opener)
        if not self.noun:
            starts_with_verb = self.rest.split()[:1] and self.rest.split()[0] in BEING | {
                "have",
                "had",
                "remain",
                "will",
            }
            return self._add_opener(f"how many {self.rest}", opener) if starts_with_verb else None
        if not self.rest and opener:
            return self._add_opener(f"how many {self.noun} there are", opener)
        return self._add_opener(f"how many {self.gap.right}", opener)

    # --- parts --------------------------------------------------------------------------------------------------------

    def _join(self, question: str, clause: Sequence[str], rest: str, opener: str) -> str:
        rest = "in total" if rest == "total" else rest
        text = f"{question} {self._lower(' '.join(clause))} {rest}".strip()
        return self._add_opener(text, opener)

    def _add_opener(self, text: str, opener: str) -> str:
        opener = opener.strip(" ,")
        return f"{text} {self._lower(opener)}" if opener else text

    def _add_unit(self, quantity: str) -> str:
        """Return a quantity with the unit of its number, if that is a unit of measure: `the weight in pounds`."""
        if self.rest or not self.noun or self.gap.is_money or not _UNIT.fullmatch(self.noun):
            return quantity
        stem = self.noun.split()[-1][:4].lower()
        is_count = re.match(r"(?:the )?(?:total |new |final )*number\b|how many", quantity)
        if is_count or stem in quantity.lower() or len(self.noun.split()) > 2 or re.search(r" in [a-z]+$", quantity):
            return quantity
        return f"{quantity} in {self.noun}" if self.noun.split()[-1] in MEASURE_UNITS else quantity

    def _how_many(self, noun: str) -> str:
        if self.gap.is_money:
            return "how much money"
        if self.gap.is_percent:
            return "what percentage"
        if ordinal := _ORDINAL.match(noun):
            return f"which {noun[ordinal.end() :]}"
        return f"how many {noun}" if noun else "how many"

    def _question_words(self) -> str:
        if self.gap.is_money:
            return "how much" if not self.noun else "how many dollars"
        if self.gap.is_percent:
            return "what percentage"
        return "which" if self.tail != self.gap.right else "how many"

    def _amount(self) -> str:
        if self.gap.is_money:
            return "the amount of money"
        if self.gap.is_percent:
            return "the percentage"
        return f"the number of {self.noun}" if self.noun else "the number"

    def _is_open(self, words: Sequence[str]) -> bool:
        """Return whether a number can follow the words: they end with a verb or a preposition."""
        if self.left.endswith((":", "=", "-")):
            return False
        last = words[-1].lower()
        open_words = (
            BEING | PREPOSITIONS | _PIED | _ADVERBS | _ANOTHER | {"or", "so", "equals", "leaving", "a", "the", "worth"}
        )
        if last in open_words or last in ("that's", "that’s", "it's", "it’s", "of", "to"):
            return True
        return takes_object(words) or last.endswith("ing")

    def _lower(self, text: str) -> str:
        """Return the text with a small first letter, if its first word is no name."""
        first, _, rest = text.strip().partition(" ")
        lower = first.lower()
        if first[1:] != first[1:].lower() or not first:
            return text.strip()
        known = (
            (lower.endswith("ing") and len(lower) > 6)
            or lower in self.lower_words
            or lower in LOWER
            or (OPENER.fullmatch(lower) and not lower.endswith("day"))
        )
        return f"{lower if known else first} {rest}".strip()


def _has_other_verb(subject: str) -> bool:
    """Return whether a subject has a verb that does not belong to a relative clause: `the pens they were given`."""
    return " that " not in subject and not BEING.isdisjoint(_RELATIVE.sub(" ", subject).split())
