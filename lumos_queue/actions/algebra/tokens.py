"""Split a formula's text into tokens, in one pass.

Ambiguous notations are read as follows:

- `x` means times between two numbers (`5 x 3`, `5x3`), or if a bracket follows ` x `; else it is the unknown x.
- `%` is per cent when it touches the text before it and not the text after it (`25% of 80`), or when no
  divisor follows (`25%)`); else the remainder (`7 % 3`, `7%3`).
- A word after a number, a letter or a bracket is a unit and is dropped (`5 red apples`, `12 cm`, `60 miles/hour`,
  `25 (cents)`); units are never converted. `dozen`, `hundred`, `thousand`, `million` and `billion` multiply.
- One letter is an unknown (`5 m`). Two letters are a product (`xy`), and so are three directly after a number
  (`2xyz`). A longer word is one unknown (`price`), also with digits (`x1`).
- `where`, `and`, `with`, `when`, `if` and `for` separate like a comma: `n-2 where n=5`.
- `1,000` is one number; `1, 000` is two.
"""

from __future__ import annotations

# ruff: noqa: SIM905  (words are easier to read in one line than quoted one by one)
import re
from fractions import Fraction
from typing import Any, cast

from lumos_queue.actions.algebra.kinds import MAX_TEXT, MAX_TOKENS, failure
from lumos_queue.scoring.numbers import MAX_EXPONENT, plain_text, read_numeral

FUNCTIONS = frozenset(
    "sqrt abs exp ln log sin cos tan floor ceil ceiling round min max sum gcd lcm factorial mod".split()
)
_SCALES = {"dozen": 12, "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_WORD_OPERATORS = {"of": "*", "times": "*", "plus": "+", "minus": "-", "mod": "mod"}
_COMMA_WORDS = frozenset({"where", "and", "with", "when", "if", "for"})
_SHORT_UNITS = frozenset(
    "cm mm km kg mg ml ft yd lb lbs oz mi hr hrs min mins sec secs mph kph am pm pcs pts usd eur cc sq".split()
)
_PER_UNITS = _SHORT_UNITS | frozenset(
    "second minute hour day week month year mile meter metre kilometer gallon liter litre pound ounce gram kilogram "
    "person people child student each piece item box bag page class dozen unit foot inch yard".split()
)
#: Names that may not come about by writing letters side by side.
RESERVED = FUNCTIONS | _SHORT_UNITS | frozenset(_SCALES) | frozenset(_WORD_OPERATORS) | {"pi"}

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<mixed>[0-9]+ +[0-9]+/[0-9]+(?![0-9.,/^]|\s*\^))"
    r"|(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+)"
    r"(?:[eE][+-]?[0-9]+(?![\w.]))?)"
    r"|(?P<reference>(?:R[0-9]{1,6}|Output)(?!\w))"
    r"|(?P<operator>\*\*|//|<=|>=|=<|=>|==|[-+*/^()=<>,!≤≥×·•∗⋅])"
    r"|(?P<percent>%)"
    r"|(?P<name>[^\W\d_]+(?:_?[0-9]+(?!\w)|_[^\W_]+)?)"
    r"|(?P<end>$)"
    r"|(?P<other>.)"
    r")",
    re.DOTALL,
)
_SPELLINGS = {"**": "^", "≤": "<=", "≥": ">=", "=<": "<=", "=>": ">=", "==": "=", **dict.fromkeys("×·•∗⋅", "*")}
_TIMES = re.compile(r"[xX](?=\s*(?:[0-9.]|R[0-9]))|(?<=\s)[xX](?=\s+\()")
_LETTER = re.compile(r"[^\W\d_]")
_OPERAND = re.compile(r"\s*(?![xX]\s*[0-9])(?!of\b|times\b|plus\b|minus\b)[\w(.]")
_BRACKETED_UNIT = re.compile(r" +\( *[^\W\d_]{3,}(?:[ /]+[^\W\d_]{2,})* *\)")
_PER = re.compile(r"\s*/\s*([^\W\d_]+)(?![\w(])")

#: Tokens that can precede an operator.
_ENDS = frozenset({"number", "reference", "name", "run", ")", "%", "!", "unit"})

Token = tuple[str, Any]


def tokenise(text: str) -> tuple[list[Token], bool]:
    """Return the tokens of a formula, the last of which is ('end', None), and whether it has a decimal point.

    The kinds of tokens are number (a Fraction), reference and call (a variable's name), function, name, run (letters
    to multiply), and the operators themselves. Raises ActionError of kind too_large or syntax.
    """
    if len(text) > MAX_TEXT:
        raise failure("too_large", f"a formula may have {MAX_TEXT} characters, this has {len(text)}")
    if not text.isascii() or "$" in text or "\\" in text:
        text = plain_text(text)
    text = text.rstrip(" .;")
    tokens: list[Token] = []
    position, last, decimal = 0, "", False
    while True:
        match = cast(re.Match, _TOKEN.match(text, position))  # the group `other` matches any character
        kind = cast(str, match.lastgroup)
        word: str = match[kind]
        position = match.end()
        if kind == "number":
            value, has_point = _number(word)
            decimal = decimal or has_point
            tokens.append(("number", value))
            last = "number"
            if position < len(text) and text[position] in " /":
                if unit_match := _BRACKETED_UNIT.match(text, position):
                    position = unit_match.end()
                position = _skip_per_unit(text, position, _PER_UNITS)
        elif kind == "operator":
            last = _SPELLINGS.get(word, word)
            tokens.append((last, None))
        elif kind == "reference":
            last = "call" if text.startswith("(", position) else "reference"
            tokens.append((last, word))
        elif kind == "end":
            tokens.append(("end", None))
            return tokens, decimal
        elif kind == "name":
            position, last = _name(text, match, last, tokens)
        elif kind == "percent":
            is_attached = not text[position - 2 : position - 1].isspace() and text[position : position + 1].isspace()
            last = "%" if is_attached or not _OPERAND.match(text, position) else "mod"
            tokens.append((last, None))
        elif kind == "mixed":
            tokens.append(("number", _mixed_number(word)))
            last = "number"
        else:
            raise failure("syntax", f"{word!r} is not part of a formula")
        if len(tokens) > MAX_TOKENS:
            raise failure("too_large", f"a formula may have {MAX_TOKENS} numbers, names and operators")


def _number(word: str) -> tuple[Fraction, bool]:
    if word.isdigit() and len(word) < 19:
        return Fraction(int(word)), False
    mantissa, _, exponent = word.lower().partition("e")
    value = read_numeral(mantissa)
    if value is None or len(exponent) > 4 or abs(int(exponent or "0")) > MAX_EXPONENT:
        raise failure("too_large", "a number has too many digits")
    return value * Fraction(10) ** int(exponent or "0"), "." in mantissa


def _mixed_number(word: str) -> Fraction:
    whole, _, part = word.partition(" ")
    over, under = (read_numeral(digits) for digits in part.strip().split("/"))
    value = read_numeral(whole)
    if value is None or over is None or under is None:
        raise failure("too_large", "a number has too many digits")
    if not over < under:
        raise failure("syntax", f"an operator is missing in {word!r}")
    return value + over / under


def _name(text: str, match: re.Match, last: str, tokens: list[Token]) -> tuple[int, str]:
    """Add the tokens of a word. Return the position after the word, and the kind of the last token."""
    word, start, end = match["name"], match.start("name"), match.end()
    after_operand = last in _ENDS
    if word[0] in "xX" and after_operand and (times := _TIMES.match(text, start)):
        tokens.append(("*", None))
        return times.end(), "*"
    if text.startswith("(", end) and word.lower() in FUNCTIONS:
        tokens.append(("function", word.lower()))
        return end, "function"
    if word in _WORD_OPERATORS and after_operand:
        tokens.append((_WORD_OPERATORS[word], None))
        return end, _WORD_OPERATORS[word]
    if word in _COMMA_WORDS and (after_operand or last == ","):
        if last != ",":
            tokens.append((",", None))
        return end, ","
    if not word.isalpha() or len(word) == 1:
        tokens.append(("name", word))
        return end, "name"
    if last in ("number", "unit") and word in _SCALES:
        tokens += [("*", None), ("number", Fraction(_SCALES[word]))]
        return end, "number"
    if word in ("pi", "π"):
        tokens.append(("name", "pi"))
        return end, "name"
    is_attached = start > 0 and text[start - 1].isdigit()
    is_unit = word in _SHORT_UNITS or len(word) > (3 if is_attached else 2)
    one_letter = last == "name" and len(tokens[-1][1]) == 1 and tokens[-1][1] not in "aAI"
    if is_unit and (last in _ENDS - {"name", "run"} or one_letter):
        return _skip_per_unit(text, end, None), "unit"
    tokens.append(("run" if len(word) == 2 or (is_attached and len(word) == 3) else "name", word))
    return end, tokens[-1][0]


def _skip_per_unit(text: str, position: int, words: frozenset[str] | None) -> int:
    """Return the position after a unit such as `/hour`; `position` without it. `words`: the accepted units, or None."""
    per = _PER.match(text, position)
    if per and (len(per[1]) > 1) and (per[1] in words if words else True):
        return per.end()
    return position
