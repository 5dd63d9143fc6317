"""Judge an answer that is a name, a date or a phrase: exact match and F1 of words, as for SQuAD.

Case, ASCII punctuation and the articles a, an, the do not count (P. Rajpurkar, J. Zhang, K. Lopyrev and P. Liang,
SQuAD: 100,000+ questions for machine comprehension of text, EMNLP 2016, section 6.1).
"""

from __future__ import annotations

import re
import string
from collections import Counter

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
#: What may precede an answer: the label of a question answering tool, or the end of the paper's chain of thought.
_BEFORE = re.compile(r"(?:\A\s*|;\s*)Answer:|decomposed questions, the answer is:?", re.IGNORECASE)
_NO_ANSWER = frozenset(("", "no answer", "noanswer", "unanswerable"))


def read_answer(text: str) -> str:
    """Return the answer without an introduction (`Answer:`, `…, the answer is`) and without a final full stop."""
    answer = _BEFORE.split(text)[-1].strip()
    return answer[:-1].rstrip() if answer.endswith(".") and not answer.endswith("..") else answer


def normalize(text: str) -> str:
    """Return the text in lower case, without punctuation, articles and surplus spaces."""
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def is_no_answer(text: str) -> bool:
    """Whether the text means that there is no answer, in one of the forms that the question answering tool uses."""
    return normalize(read_answer(text)) in _NO_ANSWER


def exact_match(answer: str, gold: str) -> bool:
    """Whether the normalized texts are equal: the same words in the same order."""
    return normalize(answer) == normalize(gold)


def f1(answer: str, gold: str) -> float:
    """Return the harmonic mean of the common words' shares of each text; 1 if both are empty, 0 if only one is."""
    answer_words, gold_words = normalize(answer).split(), normalize(gold).split()
    if not answer_words or not gold_words:
        return float(answer_words == gold_words)
    common = (Counter(answer_words) & Counter(gold_words)).total()
    return 2 * common / (len(answer_words) + len(gold_words))
