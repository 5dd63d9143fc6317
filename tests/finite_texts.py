"""A constraint that allows the texts of a list, each given as its pieces."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.commands import digest


@dataclass(frozen=True, slots=True)
class FiniteTexts:
    """A state is the pieces so far."""

    texts: tuple[tuple[str, ...], ...]

    @property
    def digest(self) -> str:
        return digest("finite texts", repr(self.texts))

    def as_json(self) -> dict[str, Any]:
        return {"texts": self.texts}

    def start(self) -> Hashable:
        return ()

    def pieces(self, state: Any, /) -> Mapping[str, Hashable]:
        length = len(state)
        return {
            text[length]: text[: length + 1] for text in self.texts if text[:length] == state and len(text) > length
        }

    def may_end(self, state: Any, /) -> bool:
        return state in self.texts

    def accepts(self, text: str, /) -> bool:
        return text in self.joined_texts

    def regex(self) -> str:
        return "|".join(map(re.escape, self.joined_texts))

    @property
    def joined_texts(self) -> list[str]:
        return ["".join(text) for text in self.texts]


#: Thirteen texts; some begin others.
STEPS = FiniteTexts(
    (
        ("Image Denoising", ","),
        ("Image Denoising", ",", "Fill Mask", ","),
        ("Fill Mask", ","),
        ("Fill Mask", ",", "Image Denoising", ","),
        ("(", "Fill Mask", ",)()", "left", ","),
        ("left", ","),
        ("right", ","),
        ("left", ",", "right", ","),
        ("right", ",", "left", ","),
        ("(", "Image Denoising", ",)()", "right", ","),
        ("left", ",", "right", ",", "Fill Mask", ","),
        ("(", "left", ",)(", "right", ",)", "left", ","),
        ("left", ",", "Image Denoising", ",", "right", ",", "Fill Mask", ","),
    )
)
