"""Invented answer files of ToolBench, written down by hand, for a search and for chains."""

from __future__ import annotations

import json
from typing import Any

FUNCTIONS = [
    {
        "name": "look_for_shop",
        "description": 'A sub-function of "shop". The description of this function is: "Looks things up"',
        "parameters": {
            "type": "object",
            "properties": {"thing": {"type": "string", "description": "what", "example_value": "pen"}},
            "required": ["thing"],
            "optional": [],
        },
    },
    {"name": "Finish", "description": "Ends.", "parameters": {"type": "object", "properties": {}}},
]
ANSWER = json.dumps({"return_type": "give_answer", "final_answer": "a pen"})
GIVE_UP = json.dumps({"return_type": "give_up_and_restart"})
SEEN = '{"error": "", "response": "two pens"}'
UNKNOWN = '{"error": "No such function name: nosuch", "response": ""}'


def node(kind: str, description: str, depth: int, expanded: int = 0, *children: Any, **fields: Any) -> dict[str, Any]:
    content = {
        "is_terminal": False,
        "pruned": False,
        "finished": False,
        "depth": depth,
        "node_type": kind,
        "description": description,
        "Elo": 1000.0,
        "child_count": len(children),
        "expand_num": expanded,
        "children": list(children),
    }
    if kind == "Action Input":
        content["io_state"] = {}
    return {**content, **fields}


def observe(text: str, code: int) -> dict[str, Any]:
    return {"observation": text, "observation_code": code}


def tree_file() -> dict[str, Any]:
    """look; a thought alone; give up; and beside the thought an unknown function, and the answer."""
    gave_up = node("Action Input", GIVE_UP, 5, 3, pruned=True, **observe("given up", 4))
    thought = node("Thought", "hm", 3, 2, node("Action", "Finish", 4, 0, gave_up))
    end = node("Action Input", ANSWER, 7, 5, finished=True, **observe("given", 3))
    finish = node("Thought", "done", 5, 0, node("Action", "Finish", 6, 0, end, finished=True), finished=True)
    unknown_input = node("Action Input", "{}", 4, 4, finish, finished=True, **observe(UNKNOWN, 1))
    lookup = node(
        "Action Input",
        '{"thing": "pen"}',
        2,
        1,
        thought,
        node("Action", "nosuch", 3, 0, unknown_input, finished=True),
        finished=True,
        **observe(SEEN, 0),
    )
    root = node("Action Input", "", 0, 0, node("Action", "look_for_shop", 1, 0, lookup))
    path = [root["children"][0], lookup, lookup["children"][1], unknown_input, finish, finish["children"][0], end]
    first = [
        {"role": "system", "content": "Call functions."},
        {"role": "user", "content": "Which pens?"},
        {
            "role": "assistant",
            "content": None,
            "function_call": {"name": "look_for_shop", "arguments": '{"thing": "pen"}'},
        },
    ]
    sentinel = "invalid_hallucination_function_name"
    second = [
        *first,
        {"role": "function", "name": "look_for_shop", "content": SEEN},
        {"role": "user", "content": "You tried Finish.", "valid": False},
        {"role": "assistant", "content": None, "function_call": {"name": sentinel, "arguments": "{}"}},
    ]
    third = [
        *second,
        {"role": "function", "name": sentinel, "content": UNKNOWN},
        {"role": "assistant", "content": "done", "function_call": {"name": "Finish", "arguments": ANSWER}},
    ]
    return {
        "win": True,
        "tree": {"size": 11, "max_length": 8, "tree": root},
        "forward_args": {"single_chain_max_step": 12, "tree_beam_size": 2},
        "compare_candidates": [[{name: step[name] for name in step if name != "children"} for step in path]],
        "answer_generation": {
            "valid_data": True,
            "query_count": 5,
            "total_tokens": 900,
            "final_answer": ANSWER,
            "function": json.loads(json.dumps(FUNCTIONS)),
            "chain": [],
            "train_messages": [first, second, third],
            "query": "Which pens?",
            "finish_type": "give_answer",
        },
    }


def chain_file() -> dict[str, Any]:
    """A try that gives up after a thought alone, and one that answers."""

    def chain(*nodes: dict[str, Any]) -> list[dict[str, Any]]:
        for number, step in enumerate(nodes, start=1):
            del step["children"]
            step |= {"depth": number, "child_count": int(number < len(nodes))}
        return list(nodes)

    first = chain(
        node("Action", "look_for_shop", 0),
        node("Action Input", '{"thing": "pen"}', 0, **observe(SEEN, 0)),
        node("Thought", "hm", 0),
        node("Thought", "enough", 0),
        node("Action", "Finish", 0),
        node("Action Input", GIVE_UP, 0, pruned=True, **observe("given up", 4)),
    )
    second = chain(
        node("Action", "nosuch", 0),
        node("Action Input", "{}", 0, **observe(UNKNOWN, 1)),
        node("Action", "Finish", 0),
        node("Action Input", ANSWER, 0, **observe("given", 3)),
    )
    content = tree_file()
    answer = content["answer_generation"]
    del content["tree"], answer["finish_type"]
    messages = answer["train_messages"][0][:2]
    sentinel = "invalid_hallucination_function_name"
    dialogue = [
        *messages,
        {"role": "assistant", "content": None, "function_call": {"name": sentinel, "arguments": "{}"}},
    ]
    two = [
        *dialogue,
        {"role": "function", "name": sentinel, "content": UNKNOWN},
        {"role": "assistant", "content": None, "function_call": {"name": "Finish", "arguments": ANSWER}},
    ]
    return content | {
        "try_count": 2,
        "trys": [{"chain": first, "win": False}, {"chain": second, "win": True}],
        "compare_candidates": [second],
        "answer_generation": answer | {"train_messages": [dialogue, two]},
    }
