"""Files as ToolBench's program for chains (CoT@n) writes them: nodes that do not show where a reply ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.answer_files import ANSWER, FUNCTIONS, GIVE_UP, SEEN, UNKNOWN, node, observe

Reply = tuple[str | None, str, str]  #: thought or None, name ('': no call), arguments
MAX_STEP = 12
LOOK = ("look_for_shop", '{"thing": "pen"}')
OBSERVATIONS = {
    LOOK: (SEEN, 0),
    ("nosuch", "{}"): (UNKNOWN, 1),
    ("Finish", GIVE_UP): ("given up", 4),
    ("Finish", ANSWER): ("given", 3),
}
SENTINEL = "invalid_hallucination_function_name"


def make_file(tries: Sequence[Sequence[Reply]], writes_null: bool = False) -> dict[str, Any]:
    """Return the content of a file. `writes_null`: whether a message without text has `content`, as null."""
    chains: list[list[dict[str, Any]]] = []
    lists: list[list[dict[str, Any]]] = []
    for replies in tries:
        chain, lists, messages = [], [], [{"role": "system", "content": "Call."}, {"role": "user", "content": "Pens?"}]
        for thought, name, arguments in replies:
            message: dict[str, Any] = {"role": "assistant", "content": thought}
            if thought is None and not writes_null:
                del message["content"]
            if thought is not None:
                chain.append(node("Thought", thought, len(chain) + 1))
                if messages[-1]["role"] == "assistant" and name:
                    lists.append([*messages])
            if name:
                text, code = OBSERVATIONS[name, arguments]
                chain.append(node("Action", name, len(chain) + 1))
                chain.append(node("Action Input", arguments, len(chain) + 1, **observe(text, code)))
                message["function_call"] = {"name": SENTINEL if code == 1 else name, "arguments": arguments}
            messages.append(message)
            lists.append([*messages])
            if name:
                messages.append({"role": "function", "name": message["function_call"]["name"], "content": text})
        for index, step in enumerate(chain):
            del step["children"]
            step["child_count"] = int(index + 1 < len(chain))
        is_answered = chain[-1].get("observation_code") == 3
        chain[-1]["pruned"] = not is_answered
        chains.append(chain)
    answer = chains[-1][-1]["description"] if is_answered else ""
    generation = {"valid_data": is_answered, "final_answer": answer, "function": json.loads(json.dumps(FUNCTIONS))}
    counts = {"query_count": sum(map(len, tries)), "total_tokens": 900}
    return {
        "win": is_answered,
        "try_count": len(tries),
        "trys": [{"chain": chain, "win": False} for chain in chains],
        "compare_candidates": [chains[-1]] if is_answered else [],
        "forward_args": {"single_chain_max_step": MAX_STEP, "pass_at": len(tries), "answer": 1},
        "answer_generation": generation
        | counts
        | {"train_messages": lists if is_answered else [], "chain": [], "query": "Pens?"},
    }


def random_tries(random: Random, count: int) -> list[list[Reply]]:
    """Return at most `count` tries, of which the last may answer."""
    tries: list[list[Reply]] = []
    for _ in range(count):
        replies: list[Reply] = []
        nodes = 0
        while nodes < MAX_STEP:
            thought = random.choice([None, f"thought {random.randrange(100)}"])
            calls = [("", ""), LOOK, LOOK, ("nosuch", "{}"), ("Finish", GIVE_UP), ("Finish", ANSWER)]
            name, arguments = random.choice(calls)
            thought = thought or ("so" if not name else None)
            replies.append((thought, name, arguments))
            nodes += (thought is not None) + 2 * bool(name)
            if name == "Finish":
                break
        tries.append(replies)
        if replies[-1][2] == ANSWER:
            break
    return tries
