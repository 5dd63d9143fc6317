"""Write the steps in the prompt of a policy: the whole transcript, or a transcript with a limit of characters.

With `whole` the prompt has everything, and the episode ends when the model's context is full. With `cut:N`, if the
steps have more than N characters, only the beginnings of observations stay, starting with the oldest. With `drop:N`, if
they have more than N characters, the oldest steps are left out. A note in the prompt marks what is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.errors import SpecError
from lumos_queue.notation import without_roles
from lumos_queue.prompts.dialogue import ASSISTANT, Framing, Turn

CUT_TO = 100  #: characters of an observation that was cut


@dataclass(frozen=True, slots=True)
class TranscriptStep:
    """A step of a transcript: the model's reply, and the next message to the model."""

    reply: str
    message: str  #: '': none, so that the model's next reply follows directly

    def write(self, style: Framing) -> str:
        reply = style.write(Turn("assistant", self.reply))
        return reply + (style.write(Turn("user", without_roles(self.message))) if self.message else ASSISTANT)


@dataclass(frozen=True, slots=True)
class History:
    """The rule for how much of a transcript is in the prompt."""

    kind: str = "whole"  #: whole, cut or drop
    limit: int = 0  #: characters of all steps; 0 with `whole`

    def write(self, steps: Sequence[TranscriptStep], style: Framing) -> str:
        """Return the steps as text, shortened by the rule."""
        texts = [step.write(style) for step in steps]
        if self.kind == "whole" or sum(map(len, texts)) <= self.limit:
            return "".join(texts)
        return self._drop(texts, style) if self.kind == "drop" else self._cut(steps, texts, style)

    def _cut(self, steps: Sequence[TranscriptStep], texts: list[str], style: Framing) -> str:
        size = sum(map(len, texts))
        for index, step in enumerate(steps):
            if size <= self.limit:
                break
            if len(step.message) > CUT_TO:
                remaining = len(step.message) - CUT_TO
                short = TranscriptStep(
                    step.reply, f"{step.message[:CUT_TO]}... [{remaining:,} characters left out]"
                ).write(style)
                size += len(short) - len(texts[index])
                texts[index] = short
        return "".join(texts)

    def _drop(self, texts: list[str], style: Framing) -> str:
        size, first = sum(map(len, texts)), 0
        while size > self.limit and first < len(texts) - 1:  # the latest step is always shown
            size -= len(texts[first])
            first += 1
        note = TranscriptStep("", f"[{first} earlier steps are left out]").write(style) if first else ""
        return note + "".join(texts[first:])


def read_history(name: str, value: str) -> History:
    """Read `whole`, `cut:N` or `drop:N`. Raises SpecError for any other value."""
    kind, _, limit = value.partition(":")
    if value == "whole":
        return History()
    if kind in ("cut", "drop") and limit.isascii() and limit.isdecimal() and 0 < int(limit) < 10**9:
        return History(kind, int(limit))
    raise SpecError(f"The setting {name} is '{value[:40]}': expected whole, cut:N or drop:N, N in characters.")
