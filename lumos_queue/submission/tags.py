"""Read names and tags of jobs. Every text becomes one line that can be stored and displayed."""

from __future__ import annotations

import re
from collections.abc import Sequence

from db.kinds.name_and_tags import NameAndTags
from lumos_queue.errors import SpecError
from lumos_queue.util.display import harmless
from lumos_queue.util.sanitize import storable

MAX_NAME = 200  #: characters of a name, or of a tag's value
MAX_TAGS = 50  #: of one job
_KEY = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def read_name_and_tags(name: str, tags: Sequence[str]) -> NameAndTags:
    """Read `--name TEXT` and each `--tag KEY=VALUE`. Raises SpecError for a text that is too long, or not a tag."""
    return NameAndTags(read_name(name), read_tags(tags))


def read_name(text: str, label: str = "--name") -> str:
    """Return the text on one line, with replacement characters for control characters of a terminal.

    Raises SpecError if the text is too long; the message begins with `label`.
    """
    name = harmless(storable(" ".join(text.split()))[0])
    if len(name) > MAX_NAME:
        raise SpecError(f"{label} has {len(name):,} characters: give at most {MAX_NAME}.")
    return name


def read_tags(tags: Sequence[str]) -> dict[str, str]:
    """Return a mapping from KEY to VALUE. Raises SpecError for other texts, a repeated key, or more than MAX_TAGS."""
    values: dict[str, str] = {}
    for tag in tags:
        key, equals, value = tag.partition("=")
        if not equals or not _KEY.fullmatch(key):
            raise _not_a_tag(tag)
        if key in values:
            raise SpecError(f"The tag '{key}' is given twice.")
        values[key] = read_name(value, f"The value of the tag '{key}'")
    if len(values) > MAX_TAGS:
        raise SpecError(f"{len(values)} tags are given: a job has at most {MAX_TAGS}.")
    return values


def _not_a_tag(text: str) -> SpecError:
    return SpecError(
        f"'{harmless(text[:40])}' is not a tag: expected KEY=VALUE, where KEY has 1 to 64 letters A-Z, digits, and any "
        "of _ . -"
    )
