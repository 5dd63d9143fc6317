"""The options that choose the backends of experts: `--tool experts=own`, or `--tool image-denoising=package:opencv`.

Without an option, the checkpoint that OpenAGI's paper names runs an expert. Submission fails if a needed expert is
missing. Experts that no task needs may be missing; a run of a missing expert reports it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from lumos_queue.actions.options import check_option_names
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts
from lumos_queue.experts.backends.oracle import oracle_facts
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE

DOMAIN, ALL, DIGEST = "experts", "experts", "experts_sha256"
DEFAULT = "hf"
ORACLE = "oracle:"
KINDS = (DEFAULT, "own", "oracle")  #: choices without a URL
NEEDED = tuple(name for name in PLANNABLE if name != "Text Generation")
_BY_OPTION = {expert.option: expert for expert in EXPERTS.values()}
OPTIONS = {
    ALL: "what runs all experts: hf, the paper's checkpoints (default); own, built-in rules; "
    "own:FOLDER, networks of `lumos train experts`; oracle, which measures planning alone",
    **{
        option: f"what runs {expert.name}: oracle:, own:, own:FOLDER, package:NAME, hf:ID or http://HOST:PORT"
        for option, expert in _BY_OPTION.items()
    },
}
Resolve = Callable[[str, str], BackendFacts]  #: gets an expert's name and a URL; raises SpecError


def resolve_backend(expert: str, url: str) -> BackendFacts:
    """Return the facts of an expert's backend. Raises SpecError: 'not run: needs …'."""
    if url == ORACLE:
        return oracle_facts(EXPERTS[expert])
    from lumos_queue.experts.backends.registry import resolve

    return resolve(expert, url)


def prepare_experts(
    tools: Mapping[str, str], resolve: Resolve = resolve_backend, required_names: Collection[str] = NEEDED
) -> dict[str, str]:
    """Return the checked options, and a digest of the backends of all available experts.

    Raises SpecError for an option that cannot be used, and if an expert of `required_names` is missing.
    """
    check_option_names(tools, DOMAIN, OPTIONS)
    facts, reasons = _resolve_all(tools, resolve)
    if missing_names := [name for name in reasons if name in required_names]:
        summary = f"{len(missing_names)} of {len(required_names)} experts cannot run; choose --tool experts=…"
        raise SpecError(f"{missing_names[0]}: {reasons[missing_names[0]]} ({summary})")
    own_urls = {option: facts[expert.name].url for option, expert in _BY_OPTION.items() if option in tools}
    return {ALL: tools.get(ALL, DEFAULT), **own_urls, DIGEST: _digest_of(facts)}


def find_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, BackendFacts]:
    """Return the facts of the available experts, by canonical name. Raises SpecError."""
    check_option_names(tools, DOMAIN, OPTIONS)
    return _resolve_all(tools, resolve)[0]


def open_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, BackendFacts]:
    """Return the facts of the experts of prepared options, by canonical name; {} for options that were not prepared.

    Raises SpecError if the experts on this machine differ from the experts at submission.
    """
    if DIGEST not in tools:
        return {}
    facts, reasons = _resolve_all(tools, resolve)
    if _digest_of(facts) != tools[DIGEST]:
        raise SpecError(
            "The experts here are not those that the job was submitted with: restore them, or submit again."
            + _count_missing({name: why for name, why in reasons.items() if name in NEEDED})
        )
    return facts


def explain_missing(expert: str, tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> str:
    """Return the reason why an expert has no backend, such as `not run: needs …`; '' if it has a backend."""
    try:
        resolve(expert, _url(EXPERTS[expert].option, tools))
    except SpecError as error:
        return str(error)
    return ""


def _resolve_all(tools: Mapping[str, str], resolve: Resolve) -> tuple[dict[str, BackendFacts], dict[str, str]]:
    """Return the facts of available experts and the reasons of missing ones. Raises SpecError for an option."""
    for option, choice in tools.items():
        if (option == ALL or option in _BY_OPTION) and ":" not in choice and choice not in KINDS:
            raise SpecError(f"--tool {option}={choice[:40]} is not known: expected {', '.join(KINDS)}, or a URL.")
    facts: dict[str, BackendFacts] = {}
    reasons: dict[str, str] = {}
    for expert in EXPERTS.values():
        try:
            facts[expert.name] = resolve(expert.name, _url(expert.option, tools))
        except SpecError as error:
            if expert.option in tools:
                raise
            reasons[expert.name] = str(error)
    return facts, reasons


def _count_missing(reasons: Mapping[str, str]) -> str:
    """Return a sentence with the number of missing experts and the first reason, which is often that of all of them."""
    if not reasons:
        return ""
    name, why = next(iter(reasons.items()))
    return f" Missing: {len(reasons)} of {len(NEEDED)}; {name}: {why}"


def _url(option: str, tools: Mapping[str, str]) -> str:
    """Return the URL of one expert's backend, from its own option or the option for all."""
    choice = tools.get(option) or tools.get(ALL, DEFAULT)
    if ":" in choice:
        return choice
    return f"hf:{_BY_OPTION[option].checkpoint}" if choice == DEFAULT else f"{choice}:"


def _digest_of(facts: Mapping[str, BackendFacts]) -> str:
    return digest(*(part for name in sorted(facts) for part in (name, facts[name].digest)))
