"""Experts of `chat://HOST:PORT?model=NAME`: a chat model gets a short prompt for each sample.

The prompts were written for this project. They have a version, which jobs store: a changed prompt is a new version, and
earlier versions stay in PROMPTS. Requests are steps of the episode (actions/experts/chat_runs.py), not of this module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lumos_queue.commands import digest
from lumos_queue.endpoints.registry import check_url
from lumos_queue.endpoints.urls import CHAT_SCHEMES, model_name, scheme_of
from lumos_queue.errors import SpecError
from lumos_queue.experts.backends.base import BackendFacts, Fidelity
from lumos_queue.experts.base import Expert, Kind
from lumos_queue.experts.catalogue import EXPERTS

VERSION = "1"  #: of the prompts of new jobs
MASK = "[MASK]"
_FENCE = "```"
_QUOTES = (('"', '"'), ("'", "'"), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("`", "`"))
_EDGES = " \t.,:;!?\"'`*()[]\u201c\u201d\u201e"  #: around a word that fills a mask
_FEELINGS = re.compile(r"\b(?:positive|negative|neutral)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ExpertPrompt:
    """The prompt of an expert: an instruction, and each text input below its label."""

    instruction: str
    labels: tuple[str, ...]  #: of the text inputs, in the order of the slots
    answer: str  #: a label that models write before their answer


PROMPTS: Mapping[str, Mapping[str, ExpertPrompt]] = MappingProxyType(
    {
        "1": {
            "Sentiment Analysis": ExpertPrompt(
                "Is the sentiment of the text positive or negative? Reply with one word: positive or negative.",
                ("Text",),
                "Sentiment",
            ),
            "Text Summarization": ExpertPrompt(
                "Summarize the text in two sentences. Reply with the summary alone.", ("Text",), "Summary"
            ),
            "Machine Translation": ExpertPrompt(
                "Translate the English text into German. Reply with the translation alone.", ("Text",), "Translation"
            ),
            "Fill Mask": ExpertPrompt(
                f"Each {MASK} in the text stands for one word. Reply with the missing word alone; with several "
                "words, in order, if there are several masks.",
                ("Text",),
                "Word",
            ),
            "Question Answering": ExpertPrompt(
                "Answer the question with a few words of the document. Reply with the answer alone.",
                ("Document", "Question"),
                "Answer",
            ),
            "Text Generation": ExpertPrompt(
                "Continue the text with one or two sentences. Reply with the continuation alone.",
                ("Text",),
                "Continuation",
            ),
            "Image Captioning": ExpertPrompt(
                "Describe the image in one short sentence. Reply with the sentence alone.", (), "Caption"
            ),
            "Visual Question Answering": ExpertPrompt(
                "Answer the question about the image in a few words. Reply with the answer alone.",
                ("Question",),
                "Answer",
            ),
        }
    }
)
SERVED = tuple(PROMPTS[VERSION])  #: the experts that a chat model can be
SEE_IMAGES = tuple(
    name for name in SERVED if any(slot.kind is Kind.IMAGE for slot in EXPERTS[name].slots)
)  #: those whose model needs images


def is_chat(url: str) -> bool:
    """Return whether a backend's URL is the address of a chat server."""
    return scheme_of(url) in CHAT_SCHEMES


def role_of(expert: Expert) -> str:
    """Return the role of the model that is this expert, which its recorded calls and `--sampling` name."""
    return f"expert-{expert.option}"


def check_chat_url(url: str) -> None:
    """Raise SpecError for the address of a chat server that is wrong, or that names no model."""
    check_url(url)
    if not model_name(url):
        raise SpecError(f"The address of experts names no model: expected {scheme_of(url)}://HOST:PORT?model=NAME.")


def check_version(version: str) -> None:
    """Raise SpecError for an unknown version of the prompts."""
    if version not in PROMPTS:
        raise SpecError(f"Version {version[:20]} of the prompts of experts is unknown: expected {', '.join(PROMPTS)}.")


def find(expert: str, url: str, version: str = "") -> BackendFacts:
    """Return the facts of an expert that a chat model is. `version`: of its prompt; '': the newest.

    Raises SpecError for a wrong address, for an expert that no chat model can be, and for an unknown version.
    """
    check_chat_url(url)
    version = version or VERSION
    check_version(version)
    if expert not in PROMPTS[version]:
        raise SpecError(
            f"not run: needs another backend, as a chat model cannot be {expert}; it can be {', '.join(SERVED)}."
        )
    return BackendFacts(
        expert,
        url,
        digest("chat", expert, url, version),
        "that of the model",
        Fidelity.SUBSTITUTE,
        EXPERTS[expert].output,
        f"chat model {model_name(url)}, prompt of version {version}",
    )


def write_prompt(expert: str, texts: Sequence[str], version: str) -> str:
    """Return the prompt for one sample. `texts` are its text inputs, in the order of the slots."""
    prompt = PROMPTS[version][expert]
    parts = [prompt.instruction, *(f"{label}: {text}" for label, text in zip(prompt.labels, texts, strict=True))]
    return "\n\n".join(parts)


def read_reply(expert: str, texts: Sequence[str], reply: str, version: str) -> str:
    """Return the expert's output from a model's reply; '' if the reply has none.

    The output is one line without quotation marks or a label around it. A sentiment is one word in lower case, as
    references are. A filled mask and a continuation are whole texts, as of other backends.
    """
    answer = _strip(reply, PROMPTS[version][expert].answer)
    if not answer:
        return ""
    if expert == "Sentiment Analysis":
        match = _FEELINGS.search(answer)
        return match[0].lower() if match else answer.lower()
    if expert == "Fill Mask":
        return _fill(texts[0], answer)
    if expert == "Text Generation":
        return answer if answer.startswith(" ".join(texts[0].split())) else f"{texts[0]} {answer}"
    return answer


def _strip(reply: str, label: str) -> str:
    text = reply.strip()
    if len(text) >= 2 * len(_FENCE) and text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text[len(_FENCE) : -len(_FENCE)]
        first, line_break, rest = text.partition("\n")
        text = rest if line_break and first.strip().isalpha() else text
    text = " ".join(text.split())
    if text[: len(label) + 1].lower() == f"{label.lower()}:":
        text = text[len(label) + 1 :].lstrip()
    for opening, closing in _QUOTES:
        if len(text) > 1 and text.startswith(opening) and text.endswith(closing):
            inside = text[1:-1]
            return inside.strip() if opening not in inside and closing not in inside else text
    return text


def _fill(text: str, answer: str) -> str:
    """Return the text with the words of an answer in place of its masks; '' if the answer has fewer, or a mask."""
    if MASK in answer:
        return ""
    parts = text.split(MASK)
    first, last = parts[0].split(), parts[-1].split()
    words = answer.split()
    if len(parts) == 2 and len(words) > 1 and words[: len(first)] == first and words[len(words) - len(last) :] == last:
        words = words[len(first) : len(words) - len(last)]  # the model repeats the text around the word
    words = [word for word in (candidate.strip(_EDGES) for candidate in words) if word]
    if len(words) < len(parts) - 1:
        return ""
    return "".join(part + word for part, word in zip(parts, [*words[: len(parts) - 1], ""], strict=True))
