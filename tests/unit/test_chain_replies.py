"""Where the replies of ToolBench's chains end: read from the messages of the answer and the number of replies."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lumos_queue.compat.toolbench.answer_file import AnswerFile
from lumos_queue.compat.toolbench.answer_reading import answer_file_of
from lumos_queue.compat.toolbench.tooleval import tooleval_of
from tests.answer_files import ANSWER, GIVE_UP
from tests.chain_files import LOOK, Reply, make_file, random_tries

CALL: Reply = (None, *LOOK)
THOUGHT: Reply = ("so", "", "")
FINISH: Reply = (None, "Finish", ANSWER)
TOGETHER: Reply = ("so", "Finish", ANSWER)


def read(content: dict[str, Any]) -> AnswerFile:
    file = answer_file_of("7_CoT@1.json", content)
    assert file.content() == content
    return file


def replies_of(file: AnswerFile) -> list[Reply]:
    return [(decision.thought or None, decision.name, decision.arguments) for decision in file.decisions]


def test_three_files_as_stabletoolbench_publishes_them_have_fourteen_replies():
    """In two of them the thought before Finish is a reply of its own: 12 replies were read."""
    tries = [[CALL] * 6, [CALL, CALL, THOUGHT, FINISH], [CALL, CALL, THOUGHT, FINISH]]
    files = [read(make_file([replies])) for replies in tries]
    assert [replies_of(file) for file in files] == tries and not any(file.discarded_replies for file in files)
    assert sum(len(file.decisions) for file in files) == 14
    assert [file.chosen is None for file in files] == [True, False, False]


@pytest.mark.parametrize("reply", [[THOUGHT, FINISH], [TOGETHER]])
def test_the_messages_show_whether_a_thought_is_a_reply_of_its_own(reply):
    file = read(make_file([[CALL, *reply]], writes_null=True))
    assert replies_of(file) == [CALL, *reply] and not file.changes


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_replies_of_random_answers_are_read_as_they_were(count):
    """Those of the chain that answers; of the others the number."""
    random = Random(49)
    answered = several = 0
    for _ in range(300):
        tries = random_tries(random, max(1, count))
        file = read(make_file(tries, writes_null=bool(count)))
        assert len(file.decisions) == sum(map(len, tries)) and not file.discarded_replies
        if tries[-1][-1] in (FINISH, (tries[-1][-1][0], "Finish", ANSWER)):
            answered += 1
            several += len(tries) > 1
            assert replies_of(file)[-len(tries[-1]) :] == tries[-1]
            assert file.decisions[file.chosen or 0].arguments == ANSWER
        else:
            assert file.chosen is None
    assert answered > 30 and (several > 10 or count < 3)


def test_without_messages_the_first_thoughts_are_replies_of_their_own():
    give_up: Reply = (None, "Finish", GIVE_UP)
    content = make_file([[("a", *LOOK), ("b", *LOOK), ("c", "Finish", GIVE_UP)], [("d", "", ""), give_up]])
    assert content["answer_generation"]["query_count"] == 5
    assert replies_of(read(content))[:2] == [("a", "", ""), CALL] and len(read(content).decisions) == 5


def test_no_reply_follows_at_the_limit_of_depth():
    """The thought is the twelfth node: the reply that begins with it has the call, too."""
    content = make_file([[THOUGHT] * 11 + [("last", *LOOK)]])
    content["answer_generation"]["query_count"] += 1
    file = read(content)
    assert replies_of(file)[-1] == ("last", *LOOK) and file.discarded_replies == 1


def test_numbered_nodes_show_where_a_reply_ends():
    """As in exported files: the first thought has the call, the second has none."""
    content = make_file([[("a", *LOOK), ("b", "", ""), (None, "Finish", GIVE_UP)]])
    for number, index in enumerate((2, 3, 5), start=1):
        content["trys"][0]["chain"][index]["expand_num"] = number
    assert replies_of(read(content)) == [("a", *LOOK), ("b", "", ""), (None, "Finish", GIVE_UP)]


@pytest.mark.parametrize(
    ("count", "discarded"), [(None, 0), ("14", 0), (True, 0), (-3, 0), (2.5, 0), (10**30, 10**30 - 3)]
)
def test_any_number_of_replies_is_read_and_written_again(count, discarded):
    content = make_file([[CALL, THOUGHT, FINISH]])
    content["answer_generation"]["query_count"] = count
    file = read(content)
    assert (len(file.decisions), file.discarded_replies) == (3, discarded)
    del content["answer_generation"]["query_count"]
    assert len(read(content).decisions) == 3


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant"},
        {"role": "assistant", "content": 3},
        {"role": "assistant", "content": "so", "tool_calls": [0] * 1000},
        {"role": "assistant", "content": "so", "function_call": "f"},
        {"role": "assistant", "content": "another"},
    ],
)
def test_messages_of_another_chain_are_not_used(message):
    content = make_file([[CALL, THOUGHT, FINISH]])
    content["answer_generation"]["train_messages"][-1][-1] = message
    content["answer_generation"]["query_count"] = 2
    assert len(read(content).decisions) == 2


def test_calls_in_stabletoolbenchs_later_messages_are_counted():
    """A reply may have several calls there; each is a decision."""
    content = make_file([[("so", *LOOK), CALL, FINISH]])
    messages = content["answer_generation"]["train_messages"][-1][:2]
    calls = {"role": "assistant", "content": "so", "tool_calls": [{"id": "1"}, {"id": "2"}]}
    content["answer_generation"]["train_messages"][-1] = [*messages, calls, {"role": "assistant", "tool_calls": [{}]}]
    content["answer_generation"]["query_count"] = 4
    assert replies_of(read(content)) == [("so", *LOOK), CALL, FINISH]


def test_a_chain_that_gave_up_is_judged_without_an_answer():
    answer = tooleval_of(read(make_file([[CALL, ("so", "Finish", GIVE_UP)]])))["answer"]
    roles, node = [], answer["answer_details"]
    while node:
        roles.append((node[0]["role"], node[0]["message"] if node[0]["role"] == "user" else None))
        node = node[0]["next"]
    assert answer["final_answer"] == "" and answer["total_steps"] == 5
    assert roles == [("system", None), ("user", ""), ("tool", None), ("assistant", None), ("tool", None)]
