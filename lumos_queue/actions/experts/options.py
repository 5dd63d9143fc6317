"""The options that choose the backends of experts: `--tool experts=own`, or `--tool image-denoising=package:opencv`.

Without an option, the checkpoint that OpenAGI's paper names runs an expert. Submission fails if a needed expert is
missing. Experts that no task needs may be missing; a run of a missing expert reports it.

With `--tool experts=chat://…`, rules (`own:`) run the experts that the chat model cannot be. Submission asks its server
whether the model takes images, and stores the answer and the version of the prompts, because workers must use the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

from lumos_queue.actions.options import check_option_names
from lumos_queue.commands import digest
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends import chat
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.backends.oracle import oracle_facts
from lumos_queue.experts.backends.remote_server import SCHEMES
from lumos_queue.experts.catalogue import EXPERTS, PLANNABLE
from lumos_queue.settings import read_settings

DOMAIN, ALL, DIGEST = "experts", "experts", "experts_sha256"
PROMPTS, IMAGES = "experts-prompts", "experts-images"  #: options of chat models; prepared options of a job have them
WARNING = "experts_warning"  #: the prepared option with a remark on the experts that rules run beside a chat model
YES, NO = "yes", "no"
DEFAULT = "hf"
ORACLE, OWN = "oracle:", "own:"
KINDS = (DEFAULT, "own", "oracle")  #: choices without a URL
NEEDED = tuple(name for name in PLANNABLE if name != "Text Generation")
_BY_OPTION = {expert.option: expert for expert in EXPERTS.values()}
OPTIONS = {
    ALL: "what runs all experts: hf, the paper's checkpoints (default); own, built-in rules; "
    "own:FOLDER, networks of `lumos train experts`; oracle, which measures planning alone; "
    "chat://HOST:PORT?model=NAME, a chat model for texts, and for captions and questions if it takes images, and rules "
    "for the rest",
    **{
        option: f"what runs {expert.name}: oracle:, own:, own:FOLDER, package:NAME, hf:ID, http://HOST:PORT"
        + (" or chat://HOST:PORT?model=NAME" if expert.name in chat.SERVED else "")
        for option, expert in _BY_OPTION.items()
    },
    PROMPTS: f"the version of the prompts of chat models: {', '.join(chat.PROMPTS)} (default {chat.VERSION})",
    IMAGES: f"whether the chat model of {ALL} takes images: {YES} or {NO} (default: its server is asked)",
}
Resolve = Callable[[str, str], BackendFacts]  #: gets an expert's name and a URL; raises SpecError
TakesImages = Callable[[str], bool | None]  #: gets an address of a chat server; None: the server does not answer now


def resolve_backend(expert: str, url: str) -> BackendFacts:
    """Return the facts of an expert's backend. Raises SpecError: 'not run: needs …'."""
    if url == ORACLE:
        return oracle_facts(EXPERTS[expert])
    from lumos_queue.experts.backends.registry import resolve

    return resolve(expert, url)


def ask_for_images(url: str) -> bool | None:
    """Return whether the server of a checked `chat://` address takes images; None if it does not answer now."""
    from lumos_queue.endpoints.image_support import takes_images

    with ThreadPoolExecutor(1) as thread:  # this thread may run an event loop
        return thread.submit(lambda: asyncio.run(takes_images(url, read_settings()))).result()


def prepare_experts(
    tools: Mapping[str, str],
    resolve: Resolve = resolve_backend,
    required_names: Collection[str] = NEEDED,
    ask: TakesImages = ask_for_images,
) -> dict[str, str]:
    """Return the checked options, and a digest of the backends of all available experts.

    Raises SpecError for an option that cannot be used, and if an expert of `required_names` is missing.
    """
    check_option_names(tools, DOMAIN, OPTIONS)
    chat_options = _prepare_chat(tools, ask)
    tools = {name: value for name, value in tools.items() if name not in (PROMPTS, IMAGES)} | chat_options
    facts, reasons = _resolve_all(tools, resolve)
    if missing_names := [name for name in reasons if name in required_names]:
        summary = f"{len(missing_names)} of {len(required_names)} experts cannot run; choose --tool experts=…"
        raise SpecError(f"{missing_names[0]}: {reasons[missing_names[0]]} ({summary})")
    own_urls = {option: facts[expert.name].url for option, expert in _BY_OPTION.items() if option in tools}
    return {ALL: tools.get(ALL, DEFAULT), **own_urls, **chat_options, DIGEST: _digest_of(facts)}


def find_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, BackendFacts]:
    """Return the facts of the available experts, by canonical name. Raises SpecError."""
    check_option_names(tools, DOMAIN, OPTIONS)
    return _resolve_all(tools, resolve)[0]


def open_experts(tools: Mapping[str, str], resolve: Resolve = resolve_backend) -> dict[str, BackendFacts]:
    """Return the facts of the experts of prepared options, by canonical name; {} for options that were not prepared.

    A job that an earlier version submitted gets the experts as that version ran them. Raises SpecError if the experts
    on this machine differ from the experts at submission.
    """
    if DIGEST not in tools:
        return {}
    facts, reasons = _resolve_all(tools, resolve)
    if _digest_of(facts) != tools[DIGEST]:
        earlier_facts = {name: backend.earlier or backend for name, backend in facts.items()}
        if _digest_of(earlier_facts) == tools[DIGEST]:
            return earlier_facts
        raise SpecError(
            "The experts here are not those that the job was submitted with: restore them, or submit again."
            + _count_missing({name: why for name, why in reasons.items() if name in NEEDED})
        )
    return facts


def chat_addresses(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses of the chat models that are experts, by their role, from options (prepared or not)."""
    urls = {expert: _url(expert.option, tools) for expert in EXPERTS.values()}
    return {chat.role_of(expert): url for expert, url in urls.items() if chat.is_chat(url)}


def describe_backend(expert: str, tools: Mapping[str, str]) -> tuple[str, str]:
    """Return the URL and the fidelity of an expert's backend from prepared options, without opening the backend.

    The fidelity of an expert of another machine is '', as only that machine knows it.
    """
    url = _url(EXPERTS[expert].option, tools)
    if url == ORACLE:
        return url, Fidelity.ORACLE
    if url.partition(":")[0] in SCHEMES:
        return url, ""
    is_paper = url == f"hf:{EXPERTS[expert].checkpoint}"
    return url, Fidelity.REFERENCE if is_paper else Fidelity.SUBSTITUTE


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
            url = _url(expert.option, tools)
            if chat.is_chat(url):
                facts[expert.name] = chat.find(expert.name, url, tools.get(PROMPTS, chat.VERSION))
            else:
                facts[expert.name] = resolve(expert.name, url)
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
    if option not in tools and chat.is_chat(choice) and not _is_served(_BY_OPTION[option].name, tools):
        return OWN
    if ":" in choice:
        return choice
    return f"hf:{_BY_OPTION[option].checkpoint}" if choice == DEFAULT else f"{choice}:"


def _is_served(expert: str, tools: Mapping[str, str]) -> bool:
    """Return whether the chat model of the option for all experts is this expert."""
    return expert in chat.SERVED and (expert not in chat.SEE_IMAGES or tools.get(IMAGES) == YES)


def _prepare_chat(tools: Mapping[str, str], ask: TakesImages) -> dict[str, str]:
    """Return the prepared options of chat models as experts; {} if no expert is one. Raises SpecError."""
    if not any(map(chat.is_chat, tools.values())):
        return {}
    version, images = tools.get(PROMPTS, chat.VERSION), tools.get(IMAGES, "")
    chat.check_version(version)
    if images not in ("", YES, NO):
        raise SpecError(f"--tool {IMAGES}={images[:40]} is not known: expected {YES} or {NO}.")
    options, url = {PROMPTS: version}, tools.get(ALL, DEFAULT)
    if not chat.is_chat(url):
        return options
    chat.check_chat_url(url)
    cause = "its server takes no images"
    if not images and any(EXPERTS[name].option not in tools for name in chat.SEE_IMAGES):
        answer = ask(url)
        images = YES if answer else NO
        if answer is None:
            cause = f"its server did not answer whether it takes images; --tool {IMAGES}={YES} states that it does"
    options |= {IMAGES: images} if images else {}
    names = [name for name in NEEDED if EXPERTS[name].option not in tools and not _is_served(name, options)]
    if names:
        cause = f" ({cause})" if set(names) & set(chat.SEE_IMAGES) else ""
        options[WARNING] = f"a chat model is not all experts{cause}: the rules of own run {', '.join(names)}"
    return options


def _digest_of(facts: Mapping[str, BackendFacts]) -> str:
    return digest(*(part for name in sorted(facts) for part in (name, facts[name].digest)))
