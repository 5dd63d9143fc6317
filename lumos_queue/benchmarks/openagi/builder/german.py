"""Translate references to German by an expert."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from lumos_queue.errors import ActionError, SpecError
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.host import experts_of_this_process
from lumos_queue.experts.problems import Problem

TRANSLATION = "Machine Translation"
DEFAULT = "hf:t5-large"  #: the released code's translator of references, a larger model than its expert


@dataclass(frozen=True, slots=True)
class German:
    """The translations of texts, and the reasons of those that failed."""

    texts: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    def find_problem(self, texts: Iterable[str]) -> str:
        """Return the reason why some of these texts have no translation; '' if all have one."""
        failures = [self.problems.get(text, "it was not translated") for text in texts if text not in self.texts]
        return f"{len(failures):,} references have no translation; the first: {failures[0]}" if failures else ""


def translate(facts: BackendFacts, texts: Iterable[str]) -> German:
    """Return the translations. Raises SpecError if the expert cannot be loaded."""
    unique_texts = list(dict.fromkeys(texts))
    try:
        results = asyncio.run(_run(facts, unique_texts))
    except ActionError as error:
        raise SpecError(f"{facts.expert}: {error}") from None
    translations, problems = {}, {}
    for text, result in zip(unique_texts, results, strict=True):
        if isinstance(result, Problem):
            problems[text] = f"{result.kind}: {result.message}"
        elif translation := result.decode("utf-8", "replace").strip():
            translations[text] = translation
        else:
            problems[text] = "the translation is empty"
    return German(translations, problems)


async def _run(facts: BackendFacts, texts: list[str]) -> list[bytes | Problem]:
    from lumos_queue.experts.backends.remote_server import SCHEMES, RemoteExperts
    from lumos_queue.settings import read_settings

    inputs = [[text.encode() for text in texts]]
    if facts.url.partition(":")[0] not in SCHEMES:
        return await experts_of_this_process().run(facts, inputs)
    experts = RemoteExperts(read_settings())
    try:
        return await experts.run(facts, inputs)
    finally:
        await experts.close()
