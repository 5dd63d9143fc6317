"""ToolBench's answer files, named `{query number}_{method}.json`: each has one search, or some chains, for one query.

A file is divided into its decisions, functions, wording, and a few further values. The file can be written again from
these parts and from `changes`, the values that do not follow from them. The six published files need no changes. They
have these quirks, which are written again too:

- `is_terminal` is false also for answers (in files of this project it is true: `NodeStyle.terminals`);
- `Elo` is 1000 or 0, and some nodes have a `matching_time`: two versions of a ranking that these searches do not make;
- `io_state` is empty, and only nodes of the kind Action Input have it;
- the name of an unknown function is in the tree as the model wrote it, but in the messages a sentinel replaces it;
- `finish_type` is 'give_up' if the search ends with giving up, else 'give_answer', even without an answer. One version
  of ToolBench never chose giving up as the end, so `final_answer` is then empty;
- `train_messages` is missing in a search without an end; `query_count` counts replies, but `size` and `depth` nodes;
- a search at its limit of calls counts its last reply, which has no nodes;
- chains that give up have no end: `valid_data` is false and `final_answer` empty; the `win` of a try is always false.

Characters that cannot be stored (NUL, lone surrogates) are replaced when a file is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lumos_queue.compat.toolbench.differences import Change, make_changes
from lumos_queue.compat.toolbench.messages import Message, Wording, alone, messages_of
from lumos_queue.compat.toolbench.tree_writing import (
    ANSWERED,
    NodeStyle,
    list_answered_attempts,
    list_answered_chains,
    write_chains,
    write_tree,
)
from lumos_queue.compat.toolbench.trees import RecordedDecision, path_to

TREE, CHAINS = "tree", "trys"  #: the field that holds the nodes
FINISH = "Finish"


@dataclass(frozen=True, slots=True)
class AnswerFile:
    """The parts of an answer file."""

    name: str  #: of the file, as in `57_ChatGPT_DFS_woFilter_w2.json`
    kind: str  #: TREE or CHAINS
    query: str
    functions: Sequence[Mapping[str, Any]]  #: their schemas, Finish the last
    decisions: Sequence[RecordedDecision]
    chosen: int | None = None  #: the decision that answers or gives up; None: the file names no end
    wording: Wording = field(default_factory=Wording)
    style: NodeStyle = field(default_factory=NodeStyle)
    forward_args: Mapping[str, Any] = field(default_factory=dict)  #: the limits of the search
    total_tokens: int = 0
    changes: Sequence[Change] = ()  #: values of the file that its parts do not give
    discarded_replies: int = 0  #: replies without nodes: a search at its limit of calls does not carry out the last
    #: The folder of the file, by which files of several groups of queries that have the same name differ; '' for none.
    group: str = ""

    @property
    def query_id(self) -> str:
        return self.name.removesuffix(".json").partition("_")[0]

    @property
    def path(self) -> str:
        """Return the file's name, behind that of its folder if it belongs to a group."""
        return f"{self.group}/{self.name}" if self.group else self.name

    @property
    def method(self) -> str:
        return self.name.removesuffix(".json").partition("_")[2]

    def content(self) -> dict[str, Any]:
        """Return the content of the file as a value of JSON."""
        return make_changes(_write(self), self.changes)

    def messages(self) -> list[list[Message]]:
        """Return the lists of messages for the field `train_messages`; an empty list if no decision is chosen."""
        if self.chosen is None:
            return []
        if self.kind == TREE:
            return messages_of(self.decisions, self.chosen, self.wording)
        path = alone(self.decisions, self.chosen)
        return messages_of(path, len(path) - 1, self.wording)


def _write(file: AnswerFile) -> dict[str, Any]:
    """Return the content of a file that follows from its parts, without its `changes`."""
    end = file.decisions[file.chosen] if file.chosen is not None else None
    is_answered = end is not None and end.code == ANSWERED
    generation: dict[str, Any] = {
        "valid_data": end is not None,
        "query_count": len(file.decisions) + file.discarded_replies,
        "total_tokens": file.total_tokens,
        "final_answer": end.arguments if end else "",
        "function": [dict(function) for function in file.functions],
        "chain": [],
        "query": file.query,
    }
    if file.kind == TREE:
        generation["finish_type"] = "give_up" if end and not is_answered else "give_answer"
    if end is not None or file.kind == CHAINS:
        generation["train_messages"] = file.messages()
    nodes: Any
    if file.kind == TREE:
        nodes, extra_fields = write_tree(file.decisions, file.style), {}
        candidates = list_answered_chains(nodes["tree"])
    else:
        nodes = write_chains(file.decisions, file.style)
        extra_fields = {"try_count": len(nodes)}
        candidates = list_answered_attempts(nodes)
    return {
        "win": is_answered,
        **extra_fields,
        file.kind: nodes,
        "forward_args": dict(file.forward_args),
        "compare_candidates": candidates,
        "answer_generation": generation,
    }


def header_of(file: AnswerFile) -> dict[str, Any]:
    """Return the file as a value of JSON, without its query and decisions, which `with_decisions` adds again."""
    return {
        "name": file.name,
        "kind": file.kind,
        "functions": [dict(function) for function in file.functions],
        "chosen": file.chosen,
        "system": file.wording.system,
        "user": file.wording.user,
        "told": [[number, text] for number, text in file.wording.messages.items()],
        "style": {name: getattr(file.style, name) for name in NodeStyle.__dataclass_fields__},
        "forward_args": dict(file.forward_args),
        "total_tokens": file.total_tokens,
        "changes": list(file.changes),
        "discarded_replies": file.discarded_replies,
        "group": file.group,
    }


def with_decisions(header: Mapping[str, Any], query: str, decisions: Iterable[RecordedDecision]) -> AnswerFile:
    """Return a file from a header, which `header_of` made, and from its query and decisions.

    Headers of earlier versions have fewer fields; tries that answered had `win` then.
    """
    return AnswerFile(
        header["name"],
        header["kind"],
        query,
        header["functions"],
        list(decisions),
        header["chosen"],
        Wording(header["system"], header["user"], {number: text for number, text in header["told"]}),
        NodeStyle(**{"wins": True, **header["style"]}),
        header["forward_args"],
        header["total_tokens"],
        header["changes"],
        header.get("discarded_replies", 0),
        header.get("group", ""),
    )


def final_path(file: AnswerFile) -> list[RecordedDecision]:
    """Return the decisions on the path to the chosen decision, or to the last decision if none is chosen."""
    last = file.chosen if file.chosen is not None else len(file.decisions) - 1
    return [file.decisions[number] for number in path_to(file.decisions, last)]
