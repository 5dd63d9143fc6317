"""Experts for sentiment, summaries and masks by packages. Each package is imported only by the expert that uses it."""

from __future__ import annotations

import re
from typing import Any

from lumos_queue.experts.backends.pixels import read_text

_SENTENCES = 2
_MASK = "[MASK]"


class Vader:
    """Sums the scores of a lexicon. A text without known words counts as positive."""

    def __init__(self) -> None:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer  # pyright: ignore[reportMissingImports]

        self.analyzer = SentimentIntensityAnalyzer()

    def run(self, *inputs: bytes) -> bytes:
        return b"positive" if self.analyzer.polarity_scores(read_text(inputs[0]))["compound"] >= 0 else b"negative"


class TextRank:
    """Selects the two sentences that are most similar to the others."""

    def __init__(self) -> None:
        from summa import summarizer  # pyright: ignore[reportMissingImports]

        self.summarize = summarizer.summarize

    def run(self, *inputs: bytes) -> bytes:
        text = read_text(inputs[0])
        sentences = len(re.findall(r"[.!?](?:\s|$)", text))
        summary: Any = self.summarize(text, ratio=min(1.0, (_SENTENCES + 0.1) / max(1, sentences)))
        return " ".join(summary.split("\n") if summary else [text]).encode()


class FillByBigrams:
    """Fills a mask with the word whose bigrams with both neighbours have the largest product of counts in web texts."""

    def __init__(self) -> None:
        import wordsegment  # pyright: ignore[reportMissingImports]

        wordsegment.load()
        self.after: dict[str, dict[str, float]] = {}
        self.before: dict[str, dict[str, float]] = {}
        for pair, count in wordsegment.BIGRAMS.items():
            first, _, second = pair.partition(" ")
            self.after.setdefault(first, {})[second] = count
            self.before.setdefault(second, {})[first] = count

    def run(self, *inputs: bytes) -> bytes:
        words = read_text(inputs[0]).split(" ")
        for index, word in enumerate(words):
            if _MASK in word:
                words[index] = word.replace(_MASK, self._best(words[index - 1 : index], words[index + 1 : index + 2]))
        return " ".join(words).encode()

    def _best(self, left: list[str], right: list[str]) -> str:
        follows = self.after.get(left[0].lower() if left else "", {})
        leads = self.before.get(right[0].lower() if right else "", {})
        words = sorted({*follows, *leads} - {"<s>", "</s>"})
        return max(words, key=lambda word: (follows.get(word, 1.0)) * (leads.get(word, 1.0)), default="the")
