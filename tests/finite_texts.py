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
        at = len(state)
        return {one[at]: one[: at + 1] for one in self.texts if one[:at] == state and len(one) > at}

    def may_end(self, state: Any, /) -> bool:
        return state in self.texts

    def accepts(self, text: str, /) -> bool:
        return text in self.written

    def regex(self) -> str:
        return "|".join(map(re.escape, self.written))

    @property
    def written(self) -> list[str]:
        return ["".join(one) for one in self.texts]


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
