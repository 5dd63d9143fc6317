"""Learn the tokenizer of a model with random weights from its conversations. Each fixed phrase is one token."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from transformers import PreTrainedTokenizerFast

from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import KEEP_PLANNING, STOP_PLANNING
from lumos_queue.prompts.dialogue import ASSISTANT, PLAN_HEAD, USER
from lumos_queue.prompts.tool_agent import HEADS, SYSTEM
from lumos_queue.training.phrases import find_phrases
from lumos_queue.training.tokenizer import train_tokenizer

VOCABULARY = 2900  #: tokens at most, besides the phrases
#: The fixed texts in the prompts of tool agents.
TOOL_AGENT_PHRASES = (
    *(f"{SYSTEM}{head}" for head in HEADS),
    FINISH.describe(),
    FINISH.describe(is_described=True),
)


def phrases(*domains: str) -> tuple[str, ...]:
    """Return the fixed texts that occur in every conversation of these domains."""
    return (
        USER,
        "\n" + ASSISTANT,
        PLAN_HEAD,
        *(DOMAINS.load(domain).ground_head for domain in domains),
        "; Initial Environment Description: None.",
        "Subgoal to be grounded: ",
        "Subgoals to be grounded: ",
        "The executed result for Subgoal ",
        ". Should we stop planning?",
        KEEP_PLANNING + " ",
        STOP_PLANNING,
    )


def symbols(formulation: str) -> tuple[str, ...]:
    """Return all symbols of a formulation's replies: names of experts and marks, also if no text contains them."""
    generator = FORMULATIONS.find(formulation)
    experts = generator is not None and generator.experts
    return (*PLANNABLE, "(", ")", ",") if experts else ()


def has_templates(formulation: str) -> bool:
    """Return whether the prompts of the formulation are filled-in templates, such as the documents of functions."""
    generator = FORMULATIONS.find(formulation)
    return generator is not None and generator.functions


def learn_tokenizer(
    texts: Callable[[], Iterable[str]], symbols: Sequence[str] = (), templates: bool = False
) -> PreTrainedTokenizerFast:
    """Learn a tokenizer from the texts, which are read several times.

    The tokens include all `symbols`, and the fixed phrases that occur in the texts. `templates`: whether the texts are
    filled-in templates, from which a model copies. Then frequent phrases become tokens, too, and a token has up to
    three digits of a number.
    """
    fixed_phrases = (*phrases(*DOMAINS), *TOOL_AGENT_PHRASES)
    longest_first = sorted(fixed_phrases, key=len, reverse=True)
    used_phrases: set[str] = set()
    for text in texts():
        for phrase in longest_first:
            if phrase in text:
                used_phrases.add(phrase)
                text = text.replace(phrase, "\x00")
    retained_phrases = [phrase for phrase in fixed_phrases if phrase in used_phrases]
    if templates:
        retained_phrases += find_phrases(texts, longest_first)
    return train_tokenizer(texts(), VOCABULARY, [*retained_phrases, *symbols], copies=templates)
