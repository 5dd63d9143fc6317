"""Which backend runs each expert: `--tool experts=own`, and `--tool image-denoising=package:opencv` for one of them.

Without an option an expert is run by the checkpoint that OpenAGI's paper names. What is not there is said at
submission; the experts that no task needs may be missing, and their runs say so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lumos_queue.actions.options import check_option_names
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.backends.oracle import oracle_facts
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE

DOMAIN, ALL, DIGEST = "experts", "experts", "experts_sha256"
DEFAULT = "hf"
ORACLE = "oracle:"
NEEDED = tuple(name for name in PLANNABLE if name != "Text Generation")
_BY_OPTION = {one.option: one for one in EXPERTS.values()}
OPTIONS = {
    ALL: "what runs all experts: hf, the paper's checkpoints (default); own, rules of our own; "
    "oracle, which measures planning alone",
    **{option: f"what runs {one.name}: oracle:, own:, package:NAME or hf:ID"
       for option, one in _BY_OPTION.items()},
}  # fmt: skip
Resolve = Callable[[str, str], BackendFacts]  #: gets an expert's name and a URL; raises SpecError


def resolve_backend(expert: str, url: str) -> BackendFacts:
    """The facts of an expert's backend. Raises SpecError: 'not run: needs …'."""
    if url == ORACLE:
        return oracle_facts(EXPERTS[expert])
    from lumos_queue.experts.backends.registry import resolve

    return resolve(expert, url)


def prepare_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, str]:
    """The options with the backend of every expert that there is, and one digest of all of them. Raises SpecError."""
    check_option_names(tools, DOMAIN, OPTIONS)
    found: dict[str, BackendFacts] = {}
    missing: list[str] = []
    for expert in EXPERTS.values():
        try:
            found[expert.option] = resolve(expert.name, _url(expert.option, tools))
        except SpecError as error:
            if expert.option in tools:
                raise
            if expert.name in NEEDED:
                missing.append(f"{expert.name}: {error}")
    if missing:
        raise SpecError(f"{missing[0]} ({len(missing)} of {len(NEEDED)} experts cannot run; choose --tool experts=…)")
    urls = {option: facts.url for option, facts in found.items()}
    return {ALL: tools.get(ALL, DEFAULT), **urls, DIGEST: _digest_of(found)}


def open_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, BackendFacts]:
    """The facts of the experts that prepared options name, by canonical name.

    Raises SpecError when one is missing here, or is not the one that was submitted.
    """
    found = {option: resolve(_BY_OPTION[option].name, url) for option, url in tools.items() if option in _BY_OPTION}
    if found and _digest_of(found) != tools.get(DIGEST):
        raise SpecError("the experts here are not those that the job was submitted with: restore them, or submit again")
    return {_BY_OPTION[option].name: facts for option, facts in found.items()}


def _url(option: str, tools: Mapping[str, str]) -> str:
    """The URL of one expert's backend, from its own option or that for all."""
    said = tools.get(option) or tools.get(ALL, DEFAULT)
    if ":" in said:
        return said
    if said not in (DEFAULT, "own", "oracle"):
        raise SpecError(f"--tool {ALL}={said[:40]} is not known: expected hf, own or oracle.")
    return f"hf:{_BY_OPTION[option].checkpoint}" if said == DEFAULT else f"{said}:"


def _digest_of(found: Mapping[str, BackendFacts]) -> str:
    return digest(*(part for option in sorted(found) for part in (option, found[option].digest)))
