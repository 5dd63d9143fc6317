"""Match regular expressions of users against answers of models, in time linear in the answer's length.

Python's `re` backtracks, so an answer could keep a worker busy for ever. RE2 does not backtrack: it rejects lookaround
and backreferences, and limits the memory of a pattern.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from lumos_queue.errors import SpecError
from lumos_queue.util.sanitize import storable

MAX_PATTERN = 1_000  #: characters


@lru_cache(maxsize=100)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern. Raises SpecError with the reason if RE2 does not support it."""
    import re2  # only jobs with such a scorer need it

    if not pattern:
        raise SpecError("--scorer regex: has no pattern: give one, as in --scorer 'regex:^[0-9]+ km$'.")
    if len(pattern) > MAX_PATTERN:
        raise SpecError(f"The pattern has {len(pattern):,} characters: give at most {MAX_PATTERN:,}.")
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(storable(pattern)[0], options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise SpecError(
            f"The pattern '{pattern[:80]}' cannot be used: {reason}. Expected a pattern of RE2, which has no lookahead "
            "and no backreferences."
        ) from None


def matches(pattern: str, answer: str) -> bool:
    """Whether the pattern matches somewhere in the answer."""
    return compile_pattern(pattern).search(storable(answer)[0]) is not None
