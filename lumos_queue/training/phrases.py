"""Find fixed phrases, which occur often, in texts that were written from templates.

A document has the phrase `: string): A function of the tool '` once for each function. As one token the phrase takes
one position of a small model instead of ten, so the parts that differ between functions are closer together.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from tokenizers import Tokenizer, models, trainers

READ = 2_000  #: texts that are read
SHARE = 0.1  #: least occurrences of a phrase for each text
MERGES = 200
_PIECES = re.compile(r"[^\W\d_]++(?:-?\d+)?|-?\d+|[^\w\s]+|_|\s")
_FIRST = 0xF0000  #: of a private plane of Unicode: a character for each piece


def find_phrases(texts: Callable[[], Iterable[str]], fixed_phrases: Sequence[str]) -> list[str]:
    """Return the phrases of two or more pieces that occur at least SHARE times per text, in about 2,000 of the texts.

    Pieces are words, marks and spaces; they are joined as byte-pair encoding joins characters (Sennrich et al., 2016).
    No phrase contains a digit or a part of one of the `fixed_phrases`.
    """
    characters: dict[str, str] = {}
    lines: list[str] = []
    size, step = 0, 1 + sum(1 for _ in texts()) // READ
    for text in islice(texts(), 0, None, step):
        size += 1
        for phrase in fixed_phrases:
            text = text.replace(phrase, "0")  # a digit: no phrase has one
        line = ""
        for piece in _PIECES.findall(text):
            if piece[-1].isdigit():  # a number, or a name such as SH-48213: the tokenizer reads it as one
                lines.append(line)
                line = ""
            else:
                line += characters.setdefault(piece, chr(_FIRST + len(characters)))
        lines.append(line)
    least = max(2, round(SHARE * size))
    tokenizer = Tokenizer(models.BPE())
    options = {"vocab_size": len(characters) + MERGES, "min_frequency": least, "show_progress": False}
    tokenizer.train_from_iterator(lines, trainers.BpeTrainer(**options))
    counts = Counter(token for line in tokenizer.encode_batch(lines) for token in line.tokens)
    pieces = {character: piece for piece, character in characters.items()}
    tokens = (token for token, count in counts.items() if len(token) > 1 and count >= least)
    return sorted("".join(pieces[character] for character in token) for token in tokens)
