"""Find the reasoning in the text of a reply: the blocks at its start in which a model thinks before it replies.

Blocks are `<think>…</think>` and the like, also several in a row. If the chat template has written the opening tag, the
reply only has the closing tag, which ends the reasoning. If a block is not closed, all of it is reasoning, and there is
no reply. Other tags are text. gpt-oss writes channels instead: text outside its channel `final` is reasoning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from lumos_queue.endpoints.end_tokens import END, find_end, skip_start

#: Opening and closing tags. Models vary case, white space and attributes.
_TAG = re.compile(
    r"<(?P<slash>/?)\s{0,9}(?P<name>(?:seed:)?(?:think|thinking|thoughts?|reasoning))(?:\s[^<>]{0,200})?(?<!/)>"
    r"|\[/?THINK\]|◁/?think▷|<\|(?:begin|end)_of_thought\|>|<\|(?:START|END)_THINKING\|>"
    r"|<\|inner_(?:prefix|suffix)\|>|<\|channel>\s{0,9}thought\b|<channel\|>",
    re.IGNORECASE,
)
#: The name of the block, and whether the tag closes it: for tags that are not in angle brackets, in lower case.
_SPECIAL = {
    "[think]": ("[think]", False),
    "[/think]": ("[think]", True),
    "◁think▷": ("◁think▷", False),
    "◁/think▷": ("◁think▷", True),
    "<|begin_of_thought|>": ("thought|", False),
    "<|end_of_thought|>": ("thought|", True),
    "<|start_thinking|>": ("thinking|", False),
    "<|end_thinking|>": ("thinking|", True),
    "<|inner_prefix|>": ("inner|", False),
    "<|inner_suffix|>": ("inner|", True),
    "<channel|>": ("channel|", True),
}
MAX_TAGS = 10_000  #: tags of a text that are read; text after the last is in the same block, or is the reply

#: The head of a message of gpt-oss: its channel, and the text after that.
_HEADER = re.compile(
    r"\s{0,9}(?:<\|start\|>)?\s{0,9}(?:assistant)?[^<>]{0,200}<\|channel\|>\s{0,9}(?P<channel>\w{1,40})"
    r"(?P<recipient>[^<>]{0,200})(?:<\|constrain\|>[^<>]{0,100})?<\|message\|>"
)
_END_OF_MESSAGE = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
#: The same of a server that skips special tokens: the names of the channels remain.
_BARE_ANALYSIS, _BARE_FINAL = "analysis", "assistantfinal"


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    closes: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Split:
    """The reasoning `blocks` of a text, and the index at which the reply begins. `is_open`: a block is not closed."""

    blocks: Sequence[str]
    start: int
    is_open: bool = False


def may_have_reasoning(text: str) -> bool:
    """Return False if the text surely has no tag of reasoning or of a chat format, as most texts."""
    return "<" in text or "[" in text or "◁" in text or _BARE_FINAL in text


def split_reasoning(text: str) -> Split:
    """Split a text into reasoning and reply, which begins behind start tokens. The time is linear in the length."""
    start = skip_start(text)
    if text.startswith(("<|channel|>", "<|start|>"), start):
        split = _split_channels(text, start)
        return Split(split.blocks, skip_start(text, split.start), split.is_open)
    if text.startswith(_BARE_ANALYSIS, start) and (final := text.find(_BARE_FINAL, start)) >= 0:
        return Split([text[start + len(_BARE_ANALYSIS) : final]], skip_start(text, final + len(_BARE_FINAL)))
    first = _TAG.search(text, start)
    if first is None or (first.start() > start and not _read_tag(first).closes):
        return Split((), start)
    return _split_blocks(text, start)


def _split_blocks(text: str, start: int) -> Split:
    tags = [_read_tag(match) for match in islice(_TAG.finditer(text, start), MAX_TAGS)]
    last = {tag.name: index for index, tag in enumerate(tags) if tag.closes}
    blocks: list[str] = []
    index, is_first = 0, True
    while index < len(tags):
        tag = tags[index]
        if tag.start > start and not (is_first and tag.closes and END.search(text, start, tag.start) is None):
            break  # a tag in the reply, or in a turn after it
        if tag.closes:  # without an opening tag: the template has written it, or the closing tag is repeated
            blocks.append(text[start : tag.start])
        else:
            closing_index = _find_closing(tags, index, last)
            if closing_index is None:
                blocks.append(text[tag.end : find_end(text, tag.end)])
                return Split(blocks, len(text), is_open=True)
            index = closing_index
            blocks.append(text[tag.end : tags[closing_index].start])
        start = skip_start(text, tags[index].end)
        index, is_first = index + 1, False
    return Split(blocks, start)


def _read_tag(match: re.Match[str]) -> _Tag:
    if match["name"]:
        return _Tag(match["name"].lower(), bool(match["slash"]), match.start(), match.end())
    name, closes = _SPECIAL.get(match[0].lower(), ("channel|", False))
    return _Tag(name, closes, match.start(), match.end())


def _find_closing(tags: Sequence[_Tag], opening_index: int, last: dict[str, int]) -> int | None:
    """Return the index of the tag that closes a block, or None if there is none.

    That is a tag with the block's name, else any closing tag. Blocks of the same name within the block belong to it, if
    enough closing tags follow. `last`: the index of the last closing tag of each name.
    """
    name = tags[opening_index].name
    has_own = last.get(name, -1) > opening_index
    if not has_own and max(last.values(), default=-1) < opening_index:
        return None
    index, inner = opening_index + 1, 0
    while not (tags[index].closes and (not has_own or tags[index].name == name)):
        inner += tags[index].name == name
        index += 1
    while inner:
        next_index = index + 1
        while next_index < len(tags) and tags[next_index].name != name:
            next_index += 1
        if next_index == len(tags) or not tags[next_index].closes:
            break
        index, inner = next_index, inner - 1
    return index


def _split_channels(text: str, start: int) -> Split:
    """Split the messages of gpt-oss. Calls of functions, and a last message other than an analysis, are the reply."""
    blocks: list[str] = []
    while (header := _HEADER.match(text, start)) is not None:
        if header["channel"] == "final":
            return Split(blocks, header.end())
        if "to=" in header[0]:
            return Split(blocks, header.start("channel"))
        end = _END_OF_MESSAGE.search(text, header.end())
        if end is None and header["channel"] == "analysis":
            blocks.append(text[header.end() :])
            return Split(blocks, len(text), is_open=True)
        next_start = len(text) if end is None else end.start() if end[0] in ("<|start|>", "<|channel|>") else end.end()
        if end is None or (header["channel"] != "analysis" and _HEADER.match(text, next_start) is None):
            return Split(blocks, header.end())
        blocks.append(text[header.end() : end.start()])
        if end[0] in ("<|return|>", "<|call|>"):
            return Split(blocks, end.start())
        start = next_start
    return Split(blocks, start)
