"""Find the nouns of product titles, without the tagger of WebShop's reward (spaCy's `en_core_web_*`).

WebShop counts the nouns and proper nouns of two titles. In a title nearly every word is capitalised, and the tagger
takes nearly every capitalised word for a proper noun. So in this module every word with letters is a noun, unless it is
a function word, a number, a participle at the start of the title or about the whole title (`UL Listed`), or a verb
before its particle (`Slip on`). A measure (`260ml`) counts as one noun; several measures in a row are a list of sizes
and do not count.

Evidence: the six title scores that are recorded with real episodes are fractions of exactly the number of nouns that
this module finds in their goals' titles (24, 17, 11, 17, 7 and 23); the four title scores in WebShop's own tests come
out the same. Other titles were not compared with the tagger.
"""

from __future__ import annotations

import re

_SIZES = re.compile(r"(?<!\S)\S*?(?:\d/|/\d)\S*")  #: `7/SE/6/5`
_TOKEN = re.compile(r"(?:[^\W\d_]\.){2,}|[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,]*[^\W\d_]*|[^\w\s]")
_MEASURE = re.compile(r"\d[\d.,]*[^\W\d_]{2,}")  #: with one letter (`4K`) it is a number
_PARTICLES = frozenset(("on", "up", "off"))
_OTHER_WORDS = """
    a an the and or nor but so if as at by for from in into of off on onto out over per to up upon with without
    within via than then that this these those it its i you he she we they my your his her our their me him us them
    is are was were be been being do does did has have had can could may might must shall should will would not no
    all any both each every more most some such only very too also just s t re ve ll d m
    listed included certified approved made designed
"""
_NO_NOUNS = frozenset(_OTHER_WORDS.split())


def nouns(title: str) -> list[str]:
    """Return the nouns of a title in lower case, in order, with repetitions."""
    tokens = [token.lower() for token in _TOKEN.findall(_SIZES.sub(" ", title))]
    title_nouns = []
    for position, token in enumerate(tokens):
        before = tokens[position - 1] if position else ""
        after = tokens[position + 1] if position + 1 < len(tokens) else ""
        if token[0].isdigit():
            alone = not (_MEASURE.fullmatch(before) or _MEASURE.fullmatch(after))
            counts = bool(_MEASURE.fullmatch(token)) and alone
        else:
            participle = position == 0 and token.endswith("ing")
            counts = token[0].isalpha() and token not in _NO_NOUNS and after not in _PARTICLES and not participle
        if counts:
            title_nouns.append(token)
    return title_nouns
