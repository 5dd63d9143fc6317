"""Check the tree or the chains of an answer file before they are read."""

from __future__ import annotations

from lumos_queue.compat.toolbench.trees import ACTION, INPUT, THOUGHT
from lumos_queue.readers.fields import Node

MAX_NODES = 20_000  #: of a file; the published ones have at most some hundreds
_AFTER = {THOUGHT: (THOUGHT, ACTION, INPUT), ACTION: (INPUT,), INPUT: (THOUGHT, ACTION)}


def check_tree(root: Node) -> None:
    """Raise BadRow for an invalid node, or for a node that cannot follow its parent."""
    root["description"]
    pending, count = [(child, INPUT) for child in root["children"].items()], 0
    while pending:
        node, before = pending.pop()
        count += 1
        if count > MAX_NODES:
            raise node.bad(f"more than {MAX_NODES:,} nodes")
        kind = _check_node(node, before)
        children = node["children"].items()
        if kind == ACTION and len(children) != 1:
            raise node["children"].bad(f"an action has one input, here are {len(children)}")
        if kind == THOUGHT and len(children) > 1 and not node["expand_num"].value and _is_action(children[0]):
            raise node["children"].bad(f"a thought before an action has one child, here are {len(children)}")
        pending += [(child, kind) for child in children]


def check_chain(chain: Node) -> None:
    """Raise BadRow for an invalid chain."""
    nodes, before = chain.items(), INPUT
    if len(nodes) > MAX_NODES:
        raise chain.bad(f"more than {MAX_NODES:,} nodes")
    for node in nodes:
        before = _check_node(node, before)
    if before == ACTION:
        raise chain.bad("its last action has no input")


def _check_node(node: Node, before: str) -> str:
    """Return the kind of a node whose predecessor has the kind `before`. Raises BadRow for an invalid node."""
    kind = node["node_type"].value
    if kind not in (THOUGHT, ACTION, INPUT):
        raise node["node_type"].bad(f"expected {THOUGHT}, {ACTION} or {INPUT}")
    if kind not in _AFTER[before] or (kind == INPUT and before != ACTION):
        raise node["node_type"].bad(f"{kind} after {before}")
    for name in ("description", *(("observation",) if "observation" in node else ())):
        if not isinstance(node[name].value, str):
            raise node[name].bad("expected text")
    if "observation_code" in node:
        node["observation_code"].whole()
    node["pruned"].truth()
    node["expand_num"].whole()
    return kind


def _is_action(node: Node) -> bool:
    return "node_type" in node and node["node_type"].value == ACTION
