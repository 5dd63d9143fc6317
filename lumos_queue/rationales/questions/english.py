"""Sets of English words by their role in a question, or in a sentence that may answer it, for this package's rules."""

from __future__ import annotations

import re

from lumos_queue.rationales.word_set import word_set

#: They form a question or connect words, so that the answer need not contain them.
FUNCTION_WORDS = word_set(
    """a an the this that these those of in on at to from by with for as and or but than into about during between its
    it his her hers him he she their theirs them they who whom whose which what when where why how is are was were be
    been being do does did doing done has have had having will would can could may might must should there if then so
    such also any some you your we our i me my not no many much name type types kind kinds considered called both
    described"""
)
#: They hardly change the meaning of a sentence, so that only the question or only the answer may contain them.
LIGHT_WORDS = word_set(
    """typically usually commonly normally generally often mostly mainly primarily around about approximately roughly
    average said thought believed estimated located take takes took taken place happen happened occur occurred held
    total number overall currently originally normal general over up just ago fictional character famous popular main
    consist consists consisted"""
)
#: Words with the same meaning and different forms: a question often has one and its answer another.
SYNONYMS = (
    "child children kid kids son sons daughter daughters",
    "die dies died dead death passed",
    "born birth birthplace",
    "author authors wrote write writes written writer",
    "spouse wife wives husband married marry",
    "movie movies film films",
    "us u.s usa america american united",
    "began begin begun started start starts",
    "person people persons",
    "buried burial interred",
    "cost costs price",
    "foot feet",
    "won win wins winner",
    "sell sold sells selling",
    "made make makes making",
    "publish publishes published publication",
    "hold holds",
    "tall taller height high",
    "weigh weighs weight",
    "known know",
    "led lead leader leads",
    "found founded founder founders founding",
)

# --- comparisons of two results ---------------------------------------------------------------------------------------

GREATER = re.compile(
    r"\b(?:greater|more|larger|bigger|higher|taller|longer|wider|heavier|faster|later|after|at least|exceed)\b"
)
LESS = re.compile(r"\b(?:less|fewer|smaller|lower|shorter|narrower|lighter|slower|earlier|before|prior|at most)\b")
OR_EQUAL = re.compile(r"\b(?:equal|the same|at least|at most)\b")
EQUAL = re.compile(r"\b(?:the same|equal|identical|match)\b")
DIFFERENT = re.compile(r"\bdifferent\b")

# --- the smaller or the larger of two things --------------------------------------------------------------------------

SMALLER = re.compile(r"\b(?:first|earlier|earliest|older|oldest|fewer|fewest)\b")  #: asks for the smaller value
LARGER = re.compile(r"\b(?:recently|later|latest|last|younger|youngest|higher|highest|taller|tallest|more|most)\b")
#: A comparative cannot be asked of one thing alone.
COMPARATIVE = re.compile(
    r"\b(?:more|most|less|least|fewer|first|last|further|farther|same|better|best|worse|worst|\w{3,}(?:est|ier)"
    r"|(?:long|larg|bigg|small|high|low|tall|short|old|young|lat|great|clos|new|fast|wid|deep)er)\b"
)
