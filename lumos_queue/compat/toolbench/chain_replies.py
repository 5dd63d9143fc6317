"""Determine the replies of ToolBench's chains, whose nodes do not show where a reply ends.

A thought before an action is either a separate reply or a part of the reply that calls the function. The messages of
the chain that answers (`train_messages`) show which; of the other chains only the number of replies is known
(`query_count`). If fewer thoughts than possible are separate replies there, the first thoughts are taken: the nodes,
which are what a file contains, are the same for every choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lumos_queue.compat.toolbench.trees import ACTION, INPUT, THOUGHT

Chain = Sequence[Mapping[str, Any]]


def find_lone_thoughts(
    chains: Sequence[Chain], messages: Sequence[Mapping[str, Any]], count: int, max_depth: int = 0
) -> list[set[int]]:
    """Return for each chain the indexes of thoughts that are separate replies although an action follows.

    `messages`: those of the chain that answers, or none. `count`: the replies of all chains. `max_depth`: the nodes of
    a chain after which no reply was requested; 0 for no limit. If nodes are numbered, the numbers show it, and the sets
    are empty.
    """
    lone_thoughts: list[set[int]] = [set() for _ in chains]
    if any(node["expand_num"] for chain in chains for node in chain):
        return lone_thoughts
    replies = [message for message in messages if message.get("role") == "assistant"]
    answered = None
    for number, chain in enumerate(chains):
        thoughts = _match_replies(chain, replies)
        if thoughts is not None:
            answered, lone_thoughts[number] = number, thoughts & set(_thoughts_before_actions(chain))
            break
    remaining = count - sum(map(_count_fewest_replies, chains)) - sum(map(len, lone_thoughts))
    for number, chain in enumerate(chains):
        if number != answered and remaining > 0:
            indexes = [index for index in _thoughts_before_actions(chain) if not 0 < max_depth <= index + 1]
            lone_thoughts[number] = set(indexes[:remaining])
            remaining -= len(lone_thoughts[number])
    return lone_thoughts


def _thoughts_before_actions(chain: Chain) -> list[int]:
    pairs = enumerate(pairwise(node["node_type"] for node in chain))
    return [index for index, pair in pairs if pair == (THOUGHT, ACTION)]


def _count_fewest_replies(chain: Chain) -> int:
    """Count the replies if each thought before an action belongs to the reply that calls the function."""
    thoughts = sum(node["node_type"] == THOUGHT for node in chain)
    calls = sum(node["node_type"] == INPUT for node in chain)
    return thoughts + calls - len(_thoughts_before_actions(chain))


def _match_replies(chain: Chain, replies: Sequence[Mapping[str, Any]]) -> set[int] | None:
    """Return the indexes of the thoughts without a call if these messages made this chain; None if they did not."""
    index, lone_thoughts = 0, set()
    for reply in replies:
        text, calls = reply.get("content"), _count_calls(reply)
        if 2 * calls > len(chain) - index:
            return None
        nodes = [(THOUGHT, text)] if isinstance(text, str) else []
        nodes += [(ACTION, None), (INPUT, None)] * calls
        candidates = chain[index : index + len(nodes)]
        if len(candidates) < len(nodes) or not all(map(_is_node, candidates, nodes)):
            return None
        if not calls and nodes:
            lone_thoughts.add(index)
        index += len(nodes)
    return lone_thoughts if replies and index == len(chain) else None


def _count_calls(reply: Mapping[str, Any]) -> int:
    calls = reply.get("tool_calls")  # in StableToolBench's later files
    return len(calls) if isinstance(calls, list) else int(isinstance(reply.get("function_call"), Mapping))


def _is_node(node: Mapping[str, Any], expectation: tuple[str, str | None]) -> bool:
    kind, text = expectation
    return node["node_type"] == kind and text in (None, node["description"])
