"""The properties by which accepted annotations can be stratified, and the names of rules and notes in strata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from lumos_queue.errors import SpecError, unknown
from lumos_queue.records import Origin

NO_NOTE = "no note"


class StratumKey(StrEnum):
    """A property of an annotation by which audits can be stratified. The values are stored."""

    LEVEL = "level"  #: the check level
    SUBGOALS = "subgoals"  #: 1-2, 3-4, 5 or more
    RULE = "rule"  #: the version of the rules of its conversion, and whether a teacher wrote it
    NOTE = "note"  #: its verdicts that reject nothing, such as `ambiguous link`


DEFAULT_KEYS = (StratumKey.LEVEL, StratumKey.SUBGOALS)


def name_notes(notes: Iterable[str]) -> str:
    """Return the names of noting verdicts as a text, which does not depend on their order or repetition."""
    return " + ".join(sorted(set(notes))) or NO_NOTE


def rule_version_of(spec: Mapping[str, Any]) -> int:
    """Return the version of the source's rules of a stored conversion, or 1 if its specification names none."""
    return spec.get("rule_version", 1)


def name_rule(origin: str, spec: object) -> str:
    """Return the name of the rules that made an annotation, for example `rules 2` or `teacher, rules 2`.

    `spec` is the stored request of its job; a damaged request counts as one without fields. An annotation that no
    conversion made has the name of its origin.
    """
    if origin != Origin.CONVERTED:
        return origin
    fields: Mapping[str, Any] = spec if isinstance(spec, Mapping) else {}
    rules = f"rules {rule_version_of(fields)}"
    return f"teacher, {rules}" if fields.get("teacher") else rules


def read_stratum_keys(text: str) -> tuple[StratumKey, ...]:
    """Read names of properties separated by commas; an empty text means DEFAULT_KEYS.

    The properties are returned in the order of StratumKey. Raises SpecError for an unknown or repeated name.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in tuple(StratumKey):
            raise unknown("property of strata", name[:40], StratumKey)
        if names.count(name) > 1:
            raise SpecError(f"'{name}' appears twice in the properties of strata: give each once.")
    return tuple(key for key in StratumKey if key in names) or DEFAULT_KEYS
