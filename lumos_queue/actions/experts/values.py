"""Inputs and outputs of experts: a list of images or texts, with an item for each sample of the task.

An image is represented by the sha256 of its artifact. A sample without a value has a problem instead, and later runs
leave the sample out.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lumos_queue.errors import ActionError
from lumos_queue.experts.base import Kind
from lumos_queue.experts.originals import Origin, read_origin

MAX_SAMPLES = 1000
MAX_CHARACTERS = 60_000  #: of one text
MAX_ALL_CHARACTERS = 2_000_000  #: of the texts of one value together
MAX_SHOWN = 300  #: characters of one text in the display for people
SHOWN = 3  #: texts
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Values:
    """Images or texts, one for each sample, in the order of the task's samples."""

    kind: Kind
    items: tuple[str | None, ...]  #: sha256 of images, or texts; None where there is a problem
    problems: Mapping[int, str] = field(default_factory=dict)  #: sample, counted from 0, to why it has no value
    origins: tuple[Origin | None, ...] = ()  #: of the values, where experts are oracles; else ()

    def as_json(self, text: str) -> dict[str, Any]:
        """Return the images or texts as the JSON value of a variable. `text` is shown to people."""
        problems = {str(sample): problem for sample, problem in sorted(self.problems.items())}
        document: dict[str, Any] = {
            "kind": "values",
            "type": str(self.kind),
            "items": list(self.items),
            "problems": problems,
            "text": text,
        }
        if any(self.origins):
            document["origins"] = [origin.as_json() if origin else None for origin in self.origins]
        return document

    def digest_of(self, sample: int) -> str:
        """Return the sha256 of the bytes of a sample that has a value."""
        item = self.items[sample]
        assert item is not None
        return item if self.kind is Kind.IMAGE else hashlib.sha256(item.encode()).hexdigest()


def read_items(kind: Kind, items: object) -> tuple[str | None, ...]:
    """Return the items of a channel or a variable: sha256 of images, or texts.

    Raises ActionError for another value, too many items or too long texts.
    """
    if not isinstance(items, list) or not items:
        raise ActionError("bad_value", "a list of images or texts was expected")
    if len(items) > MAX_SAMPLES:
        raise ActionError("too_large", f"a value may have {MAX_SAMPLES:,} samples, this has {len(items):,}")
    if not all(sample is None or isinstance(sample, str) for sample in items):
        raise ActionError("bad_value", "a list of images or texts was expected")
    if kind is Kind.IMAGE and not all(sample is None or _DIGEST.fullmatch(sample) for sample in items):
        raise ActionError("bad_value", "an image is named by its sha256")
    if kind is Kind.TEXT:
        check_sizes([text for text in items if text is not None])
    return tuple(items)


def read_values(value: Mapping[str, Any]) -> Values:
    """Return the Values that `as_json` wrote as a variable's value. Raises ActionError for any other value."""
    if value.get("kind") != "values" or value.get("type") not in tuple(Kind):
        raise ActionError("wrong_type", "the variable holds no images or texts of samples")
    kind = Kind(value["type"])
    items = read_items(kind, value.get("items"))
    problems = {int(sample): str(problem) for sample, problem in dict(value.get("problems") or {}).items()}
    return Values(kind, items, problems, tuple(map(read_origin, value.get("origins") or ())))


def check_sizes(texts: Sequence[str]) -> None:
    """Raise ActionError if a text, or all texts together, are too long for a value."""
    longest, total = max(map(len, texts), default=0), sum(map(len, texts))
    if longest > MAX_CHARACTERS or total > MAX_ALL_CHARACTERS:
        raise ActionError(
            "too_large",
            f"a text may have {MAX_CHARACTERS:,} characters and all of them {MAX_ALL_CHARACTERS:,}; "
            f"the longest has {longest:,}, all have {total:,}",
        )


def show(values: Values, images: Sequence[bytes] = ()) -> str:
    """Return a line for people: `10 images (64x64)`, or the first texts. `images`: the bytes of images with a value."""
    samples = [sample for sample in values.items if sample is not None]
    gap = f"; {len(values.items) - len(samples)} without a value" if len(samples) < len(values.items) else ""
    if values.kind is Kind.TEXT:
        texts = [text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…" for text in samples[:SHOWN]]
        suffix = f" … ({len(samples)} texts)" if len(samples) > SHOWN else ""
        return " | ".join(texts) + suffix + gap
    sizes = sorted({size for image in images if (size := read_size(image))})
    dimensions = f" ({', '.join(sizes[:SHOWN])})" if sizes else ""
    return f"{len(samples)} image{'s' * (len(samples) != 1)}{dimensions}{gap}"


def read_size(image: bytes) -> str:
    """Return the size of a PNG in pixels, such as `256x128`, from its header; '' for other bytes."""
    if not image.startswith(_PNG) or len(image) < 24:
        return ""
    width, height = struct.unpack_from(">II", image, 16)
    return f"{width}x{height}"
