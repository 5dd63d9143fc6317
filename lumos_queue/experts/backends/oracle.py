"""`oracle:`: experts that know the answer. They measure planning alone, and their results are no scores of models.

An expert that undoes an augmentation gives the sample without it, from the clean original: in any order. A head gives
the reference where nothing is left to be undone, and else a fixed wrong output. So a plan recovers the reference
exactly where it undoes everything and then runs what is asked for.

It runs where its inputs are known, in the process of the actions, as nothing of it is slow or can die.
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
    """What is known of the oracle of an expert."""
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
    """A result for each sample. `inputs` and `origins`: for each slot of the expert a list over the samples."""
    return [
        _run(expert, [one[sample] for one in inputs], [one[sample] for one in origins], originals)
        for sample in range(len(inputs[0]))
    ]


def _run(
    expert: Expert, inputs: Sequence[bytes], origins: Sequence[Origin | None], originals: Originals
) -> bytes | Problem:
    try:
        after = follow(expert, origins, originals)
        if expert.undoes:
            return inputs[0] if after is None or after == origins[0] else originals.load(after)
        found = None if after is None else originals.answer(after)
    except (LookupError, ValueError) as error:  # of a task's sources that name no sample
        return Problem(BAD_INPUT, f"there is no such original: {error}"[:200])
    return WRONG[expert.output] if found is None else found
