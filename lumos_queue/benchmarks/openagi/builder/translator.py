"""Choose the expert that translates references to German."""

from __future__ import annotations

from collections.abc import Mapping

from lumos_queue.actions.experts.options import ORACLE, resolve_backend
from lumos_queue.benchmarks.openagi.builder.german import DEFAULT, TRANSLATION
from lumos_queue.errors import SpecError, unknown
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.catalogue import EXPERTS

OPTION = EXPERTS[TRANSLATION].option


def find_translator(tools: Mapping[str, str]) -> tuple[BackendFacts | None, str]:
    """Return the backend that the option --tool machine-translation=… names, or the default, and ''.

    Without an option, None and the reason if the default is missing. Raises SpecError for other options, and for a
    named backend that cannot run.
    """
    for name in tools:
        if name != OPTION:
            raise unknown("tool", name, (OPTION,))
    if not tools:
        try:
            return resolve_backend(TRANSLATION, DEFAULT), ""
        except SpecError as error:
            return None, f"{str(error).rstrip('.')}; choose another expert with --tool {OPTION}=URL"
    url = f"{tools[OPTION]}:" if tools[OPTION] in ("own", "oracle") else tools[OPTION]
    if url == ORACLE:
        raise SpecError(f"--tool {OPTION}={ORACLE} has no translations of published data: name a model, as hf:FOLDER.")
    return resolve_backend(TRANSLATION, url), ""
