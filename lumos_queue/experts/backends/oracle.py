"""Run experts of `oracle:`, which know the answer. They measure only planning; their scores are not a model's.

An expert that undoes an augmentation starts from the clean original, so the order of such experts is free. A head
returns the reference if no augmentation is left, else a fixed wrong output. So a plan recovers the reference exactly if
it undoes all augmentations and then runs the right heads.

Oracles run in the process of the actions, where the origins of inputs are known: they are fast and cannot crash.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

from lumos_queue.commands import digest
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.originals import Origin, Originals, follow
from lumos_queue.experts.problems import BAD_INPUT, Problem

VERSION = "1"
WRONG_TEXT = b"an oracle has no answer to this"
#: A gray picture of one pixel.
WRONG_IMAGE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)
WRONG = {Kind.TEXT: WRONG_TEXT, Kind.IMAGE: WRONG_IMAGE}


def oracle_facts(expert: Expert) -> BackendFacts:
    """Return the facts of the oracle of an expert."""
    return BackendFacts(
        expert.name,
        "oracle:",
        digest("oracle", expert.name, VERSION),
        "MIT",
        Fidelity.ORACLE,
        expert.output,
        "gives the clean original back: measures planning only",
    )


def run_oracle(
    expert: Expert, inputs: Sequence[Sequence[bytes]], origins: Sequence[Sequence[Origin | None]], originals: Originals
) -> list[bytes | Problem]:
    """Return a result for each sample. `inputs` and `origins` have a list of samples for each slot of the expert."""
    return [
        _run(
            expert,
            [slot_samples[sample] for slot_samples in inputs],
            [slot_samples[sample] for slot_samples in origins],
            originals,
        )
        for sample in range(len(inputs[0]))
    ]


def _run(
    expert: Expert, inputs: Sequence[bytes], origins: Sequence[Origin | None], originals: Originals
) -> bytes | Problem:
    try:
        after = follow(expert, origins, originals)
        if expert.undoes:
            return inputs[0] if after is None or after == origins[0] else originals.load(after)
        answer = None if after is None else originals.answer(after)
    except (LookupError, ValueError) as error:  # the task's sources name an unknown sample
        return Problem(BAD_INPUT, f"there is no such original: {error}"[:200])
    return WRONG[expert.output] if answer is None else answer
