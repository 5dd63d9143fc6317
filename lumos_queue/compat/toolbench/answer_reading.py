"""Read answer files of ToolBench. A file with an error is refused as a whole. answer_file.py explains the parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lumos_queue.compat.toolbench.answer_file import CHAINS, FINISH, TREE, AnswerFile
from lumos_queue.compat.toolbench.chain_replies import find_lone_thoughts
from lumos_queue.compat.toolbench.differences import find_changes
from lumos_queue.compat.toolbench.messages import Message, Wording, messages_of, read_wording
from lumos_queue.compat.toolbench.node_checks import check_chain, check_tree
from lumos_queue.compat.toolbench.tree_writing import ANSWERED, GAVE_UP, NodeStyle, mark_pruned
from lumos_queue.compat.toolbench.trees import RecordedDecision, read_chain, read_decisions
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.readers.fields import Node
from lumos_queue.util.regular_file import open_regular
from lumos_queue.util.sanitize import storable_json
from lumos_queue.util.untrusted_json import MAX_DEPTH, read_json
from lumos_queue.util.wording import format_bytes

FORMAT = "a ToolBench answer file: an object with 'answer_generation', and with 'tree' or 'trys'"
MAX_STEP = "single_chain_max_step"  #: in `forward_args`: the nodes of a path after which no reply is requested
MAX_BYTES = 32 * 2**20
MAX_FUNCTIONS = 1_000
MAX_PATH = (MAX_DEPTH - 4) // 2  #: nodes of a path: each is an object in a list; ToolBench's paths have 12 to 14


def read_answer_file(path: Path) -> AnswerFile:
    """Read an answer file. Raises SpecError for a file in another format."""
    try:
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SpecError(f"Cannot read '{path}': {error.strerror or error}. Expected {FORMAT}.") from error
    if len(data) > MAX_BYTES:
        raise SpecError(f"'{path}' has more than {format_bytes(MAX_BYTES)}. Expected {FORMAT}.")
    try:
        return answer_file_of(path.name, read_json(data.decode("utf-8-sig")))
    except UnicodeDecodeError as error:
        raise SpecError(f"'{path}' is not {FORMAT}: not UTF-8 at byte {error.start}.") from error
    except ValueError as error:
        deep = f"; a path may have {MAX_PATH} nodes" if "levels deep" in str(error) else ""
        raise SpecError(f"'{path}' is not {FORMAT}: {error}{deep}.") from error
    except BadRow as bad:
        raise SpecError(f"'{path}' is not {FORMAT}: '{bad.field}': {bad.problem}.") from None


def answer_file_of(name: str, content: Any) -> AnswerFile:
    """Return the answer file of that name with this content. Raises BadRow for content in another format."""
    content = storable_json(content)
    node = Node(1, "", content)
    generation = node["answer_generation"]
    functions = generation["function"].items()
    for function in functions[:MAX_FUNCTIONS]:
        function["name"].raw_text()
    if len(functions) > MAX_FUNCTIONS:
        raise generation["function"].bad(f"more than {MAX_FUNCTIONS:,} functions")
    lists = _read_lists(generation)
    kind, decisions, nodes = _read_nodes(node, lists)
    chosen_index = _find_chosen(decisions, generation, lists)
    bare = AnswerFile(
        storable_json(name),
        kind,
        generation["query"].raw_text(),
        [function.value for function in functions],
        decisions,
        chosen_index,
        read_wording(decisions, chosen_index, lists) if kind == TREE else read_wording(decisions[:1], 0, lists),
        _read_style(node, nodes),
        _object(node, "forward_args"),
        generation["total_tokens"].whole() if "total_tokens" in generation else 0,
        discarded_replies=max(0, _count_replies(generation) - len(decisions)),
    )
    return replace(bare, changes=find_changes(bare.content(), content))


def _read_nodes(
    node: Node, lists: Sequence[Sequence[Message]]
) -> tuple[str, list[RecordedDecision], list[Mapping[str, Any]]]:
    """Return kind, decisions, and the nodes of chains or the root of a tree. Raises BadRow if there is no decision."""
    decisions: list[RecordedDecision] = []
    if TREE in node:
        check_tree(root := node[TREE]["tree"])
        decisions = read_decisions(root.value)
        kind, nodes = TREE, [root.value]
    else:
        kind, chains = CHAINS, [attempt["chain"] for attempt in node[CHAINS].items()]
        for chain in chains:
            check_chain(chain)
        values = [chain.value for chain in chains]
        count, max_depth = _count_replies(node["answer_generation"]), _whole(_object(node, "forward_args"), MAX_STEP)
        lone_thoughts = find_lone_thoughts(values, lists[-1] if lists else (), count, max_depth)
        for chain, indexes in zip(values, lone_thoughts, strict=True):
            decisions += read_chain(chain, len(decisions), indexes)
        nodes = [step for chain in values for step in chain]
    if not decisions:
        raise node[kind].bad("has no decision")
    return kind, mark_pruned(decisions), nodes


def _read_lists(generation: Node) -> list[list[Message]]:
    nodes = generation["train_messages"].items() if "train_messages" in generation else []
    for node in nodes:
        for message in node.items():
            message["role"].raw_text()
    return [node.value for node in nodes]


def _find_chosen(
    decisions: Sequence[RecordedDecision], generation: Node, lists: Sequence[Sequence[Message]]
) -> int | None:
    """Return the index of the decision with the text of `final_answer`: an answer, else a giving up."""
    final = generation["final_answer"].value if "final_answer" in generation else ""
    ends = [
        number
        for number, decision in enumerate(decisions)
        if decision.name == FINISH and decision.code in (ANSWERED, GAVE_UP) and decision.arguments == final
    ]
    answers = [number for number in ends if decisions[number].code == ANSWERED]
    if answers or not ends:
        return answers[0] if answers else None
    replies = [message for message in lists[-1] if message.get("role") == "assistant"] if lists else []
    return next((number for number in ends if _replies_to(decisions, number) == replies), ends[0])


def _replies_to(decisions: Sequence[RecordedDecision], last: int) -> list[Message]:
    return [message for message in messages_of(decisions, last, Wording())[-1] if message["role"] == "assistant"]


def _count_replies(generation: Node) -> int:
    """Return the number of replies as the file states it; 0 if it does not."""
    return _whole(generation.value, "query_count")


def _whole(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _read_style(file: Node, nodes: Sequence[Mapping[str, Any]]) -> NodeStyle:
    elo = nodes[0].get("Elo", 1000.0)
    return NodeStyle(
        elo if isinstance(elo, float) else 1000.0,
        "matching_time" in nodes[0],
        False,
        any(node["expand_num"] for node in nodes),
        CHAINS in file and any(attempt.value.get("win") is True for attempt in file[CHAINS].items()),
    )


def _object(node: Node, name: str) -> Mapping[str, Any]:
    value = node[name].value if name in node else {}
    if not isinstance(value, dict):
        raise node[name].bad("expected an object")
    return value
