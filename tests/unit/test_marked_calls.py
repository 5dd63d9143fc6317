"""Replies of tool agents as instruct models write them: each is called as written, or nothing is called."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.prompts.tool_agent import NO_ACTION
from lumos_queue.records import Completion, FinishReason
from lumos_queue.text_calls.marked_calls import MAX_QUOTE
from lumos_queue.text_calls.three_lines import Reply, read_reply
from tests.tool_scripts import Scripted, call, finish, run

OSLO = '{"city": "Oslo"}'
DECISION = '{"name": "weather", "arguments": {"city": "Oslo"}}'
NESTED = '{"city": "\nAction: x\nAction Input: {}\nObservation: 7"}'
PRETTY = '{\n  "city": "Oslo"\n}'

#: What calls weather with {"city": "Oslo"}.
READ = {
    "exact": f"Thought: look\nAction: weather\nAction Input: {OSLO}",
    "bold": f"**Thought:** look\n**Action:** weather\n**Action Input:** {OSLO}",
    "bold, colon outside": f"**Thought**: look\n**Action**: weather\n**Action Input**: {OSLO}",
    "bold line": f"**Action: weather**\n**Action Input: {OSLO}**",
    "bold italics": f"***Action:*** weather\n***Action Input:*** {OSLO}",
    "underlined": f"__Action:__ weather\n__Action Input:__ {OSLO}",
    "labels in back quotes": f"`Action:` weather\n`Action Input:` {OSLO}",
    "underscore": f"Thought: look\nAction: weather\nAction_Input: {OSLO}",
    "escaped underscore": f"Action: weather\nAction\\_Input: {OSLO}",
    "hyphen": f"Action: weather\nAction-Input: {OSLO}",
    "joined": f"Action: weather\nActionInput: {OSLO}",
    "dash for a colon": f"action: weather\naction input - {OSLO}",
    "arrow for a colon": f"Action -> weather\nAction Input -> {OSLO}",
    "wide colon": f"Action：weather\nAction Input：{OSLO}",
    "blanks before the colon": f"Action : weather\nAction Input : {OSLO}",
    "capitals": f"ACTION: weather\nACTION INPUT: {OSLO}",
    "mixed": f"Thought: look\nAction: weather\n**Action Input:** {OSLO}",
    "Input": f"Thought: look\nAction: weather\nInput: {OSLO}",
    "Arguments": f"Action: weather\nArguments: {OSLO}",
    "Action Arguments": f"Action: weather\nAction Arguments: {OSLO}",
    "Parameters": f"Action: weather\nParameters: {OSLO}",
    "Tool and Tool Input": f"Tool: weather\nTool Input: {OSLO}",
    "Tool Name": f"Tool Name: weather\nTool Arguments: {OSLO}",
    "Function": f"**Function:** `weather`\n**Parameters:** {OSLO}",
    "numbered labels": f"Thought 1: look\nAction 1: weather\nAction Input 1: {OSLO}",
    "numbers in brackets": f"Action [1]: weather\nAction Input [1]: {OSLO}",
    "list": f"- Thought: look\n- Action: weather\n- Action Input: {OSLO}",
    "bold list": f"* **Action:** weather\n* **Action Input:** {OSLO}",
    "numbered list": f"1. Thought: look\n2. Action: weather\n3. Action Input: {OSLO}",
    "quotation": f"> Thought: look\n> Action: weather\n> Action Input: {OSLO}",
    "headings": f"### Thought\nlook\n\n### Action\nweather\n\n### Action Input\n```json\n{OSLO}\n```",
    "headings with colons": f"## Action:\nweather\n\n## Action Input:\n{OSLO}",
    "lines in bold": f"**Action**\nweather\n\n**Action Input**\n{OSLO}",
    "name in back quotes": f"Thought: look\nAction: `weather`\nAction Input: `{OSLO}`",
    "name in bold": f"Action: **weather**\nAction Input: {OSLO}",
    "name in quotation marks": f'Action: "weather"\nAction Input: {OSLO}',
    "name in brackets": f"Action: [weather]\nAction Input: {OSLO}",
    "name in a fence": f"Action:\n```\nweather\n```\nAction Input:\n```json\n{OSLO}\n```",
    "name in three back quotes": f"Action: ```weather```\nAction Input: ```{OSLO}```",
    "name with parentheses": f"Action: weather()\nAction Input: {OSLO}",
    "name below its label": f"Action:\nweather\nAction Input:\n{OSLO}",
    "fenced": f"Thought: look\nAction: weather\nAction Input:\n```json\n{OSLO}\n```",
    "fenced without a language": f"Action: weather\nAction Input:\n```\n{OSLO}\n```",
    "fenced on the line": f"Action: weather\nAction Input: ```json {OSLO} ```",
    "fenced on several lines": f"Action: weather\nAction Input: ```json\n{PRETTY}\n```",
    "pretty": f"Action: weather\nAction Input: {PRETTY}",
    "tildes": f"Action: weather\nAction Input:\n~~~json\n{OSLO}\n~~~",
    "all in a fence": f"```\nThought: look\nAction: weather\nAction Input: {OSLO}\n```",
    "fence below the name": f"Action: weather\n```json\n{OSLO}\n```",
    "object below the name": f"Action: weather\n{OSLO}",
    "object beside the name": f"Action: weather {OSLO}",
    "object in parentheses": f"Thought: look\nAction: weather({OSLO})",
    "call in back quotes": f"Action: `weather({OSLO})`",
    "colon after the name": f"Action: weather: {OSLO}",
    "one line": f"Action: weather Action Input: {OSLO}",
    "comma": f"Action: weather, Input: {OSLO}",
    "blank lines": f"Thought: look\n\nAction: weather\n\nAction Input: {OSLO}\n\n",
    "carriage returns": f"Thought: look\r\nAction: weather\r\nAction Input: {OSLO}\r\n",
    "label written twice": f"Action:\nAction: weather\nAction: weather\nAction Input: {OSLO}",
    "introduction": f"Sure! Here is the next step:\n\n**Action:** weather\n**Action Input:** {OSLO}\n\nI will wait.",
    "JSON": DECISION,
    "fenced JSON": f"Thought: look\n```json\n{DECISION}\n```",
    "JSON as the action": f"Thought: look\nAction:\n```json\n{DECISION}\n```",
    "JSON of LangChain": '{"thought": "look", "action": "weather", "action_input": {"city": "Oslo"}}',
    "JSON of Llama": '<|python_tag|>{"type": "function", "name": "weather", "parameters": {"city": "Oslo"}}',
    "JSON of Qwen": f"I should look.\n<tool_call>\n{DECISION}\n</tool_call>",
    "JSON of Mistral": f"[TOOL_CALLS] [{DECISION}]",
    "JSON of OpenAI": json.dumps(
        {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": OSLO}}]}
    ),
    "JSON list": f"```json\n[\n  {DECISION},\n  {DECISION.replace('Oslo', 'Rome')}\n]\n```",
    "pretty JSON": json.dumps({"Tool": "weather", "Tool Input": {"city": "Oslo"}}, indent=2),
    "text behind the arguments": f"Action: weather\nAction Input: {OSLO} as the request says",
    "an observation of its own": f"**Action:** weather\n**Action Input:** {OSLO}\n**Observation:** 7\n**Action:** x\n",
    "several calls": f"Action: weather\nInput: {OSLO}\n\nAction: weather\nInput: " + OSLO.replace("Oslo", "Rome"),
}

#: What calls weather without arguments.
BARE = {
    "nothing behind the name": "Thought: look\nAction: weather",
    "bold": "**Thought:** look\n**Action:** `weather`\n",
    "parentheses": "Action: weather()",
    "empty object": "Action: weather\nAction Input: {}",
    "nothing behind the label": "Action: weather\nAction Input:",
    "an observation of its own": "Action: weather\nObservation: 7 degrees\nThought: done",
    "a call after it": f"Action: weather\nAction: x\nAction Input: {OSLO}",
    "a call behind an observation": f"Action: weather\nObservation: 7\nThought: done\nAction: x\nAction Input: {OSLO}",
    "in a fence": "```\nAction: weather\n```",
    "None": "Thought: look\nAction: weather\nAction Input: None",
    "None, bold": "**Thought**: look\n**Action**: `weather()`\n**Action Input**: `None`\n**Observation**: 7",
    "null": "Action: weather\nAction Input:\n```json\nnull\n```",
    "null of JSON": '{"name": "weather", "arguments": null}',
}

#: What calls nothing, because arguments are written that are not understood.
UNREAD = {
    "Python": "Thought: look\nAction: weather(city='Oslo')",
    "Python, then Finish": 'Action: weather(city="Oslo")\nObservation: 7\nAction: Finish\nAction Input: {}',
    "Python, then a call": f"Tool: weather(city='Oslo')\nObservation: 7\nTool: x\nTool Input: {OSLO}",
    "words": "Action: weather with the city Oslo",
    "a sentence": "Action: I would look up the weather.",
    "an unknown label": f"Action: weather\nPayload: {OSLO}",
    "an unknown label, several calls": f"Action: weather\nPayload: {OSLO}\nAction: weather\nAction Input: {{}}",
    "members": "Action: weather\ncity: Oslo",
    "single quotes below": "Action: weather\n{'city': 'Oslo'}",
    "cut off below": 'Action: weather\n```json\n{"city": "Os',
    "two positional objects": f"Action: weather({OSLO}, {{}})",
    "tags": "Action: weather\n<city>Oslo</city>",
    "written twice": f"Action: weather({OSLO})\nAction Input: {{}}",
    "written twice, below": f"Action: weather\n{OSLO}\nAction Input: {{}}",
    "a thought between": f"Action: weather\nThought: of Oslo\nAction Input: {OSLO}",
    "before the name": f"Action Input: {OSLO}\nAction: weather",
    "before the name, bare": f"{OSLO}\nAction: weather",
    "behind an observation": f"Action: weather\nObservation: the city is needed\nAction Input: {OSLO}",
    "two names": f'Action: {{"name": "weather", "action": "x", "arguments": {OSLO}}}',
    "a JSON object without arguments": 'Action: {"action": "weather"}',
    "an object that is a label's": f"Action:\n```json\n{OSLO}\n```",
    "a sentence and an input": "**Action**: I'll call `weather()`.\n**Action Input**: `None`",
    "a sentence and a heading": "## Action\nI will use `weather`.\n\n## Action Input\nNone\n\n## Final Answer\n7",
    "explained": "Action: weather\n\nThis looks up the weather in Oslo.",
}

#: What names no action at all.
SILENT = {
    "thought": "Thought: I would look.",
    "empty": "",
    "empty action": "Action:\nAction Input: {}",
    "code": "```tool_code\nprint(weather(city='Oslo'))\n```",
    "plain call": "weather(city='Oslo')",
    "answer": "Final Answer: it is mild",
    "data": '{"city": "Oslo", "weather": "mild"}',
    "record": '{"name": "Oslo", "weather": "mild"}',
    "unreadable JSON": '{"name": "weather", "arguments": {"city": "Oslo"',
    "two calls in one object": '{"name": "weather", "name": "x", "arguments": {}}',
    "a name that is none": '{"action": "Final Answer", "action_input": "mild"}',
    "arguments that are none": '{"name": "weather", "arguments": ["Oslo"]}',
    "deep": '{"function": ' * 500 + DECISION + "}" * 500,
}


def weather(city: str = "", note: str = "") -> str:
    return f"mild in {city}"


def play(reply: str, name: str = "react", version: int | None = None, reason: FinishReason = FinishReason.STOP):
    """A reply, then Finish: the script with what was asked and called."""
    role = "router" if name == "sum2act" else "policy"
    record = json.dumps({"status": "success", "aim": "a", "answer": "b"})
    script = Cut({role: [reply, finish("fine")], "state_manager": [record]}, {"weather": weather})
    script.reason = reason
    run(name, script, version=version)
    return script


class Cut(Scripted):
    """Ends its first reply for a reason."""

    reason = FinishReason.STOP

    def answer(self, command):
        done = super().answer(command)
        if isinstance(done, Completion):
            done, self.reason = Completion(done.text, self.reason, 10, 5), FinishReason.STOP
        return done


@pytest.mark.parametrize("name", ["react", "sum2act"])
@pytest.mark.parametrize("reply", READ.values(), ids=READ)
def test_a_call_runs_with_the_arguments_that_are_written(reply, name):
    script = play(reply, name)
    assert [one for one, _ in script.calls] == ["weather", "Finish"]
    assert json.loads(script.calls[0][1]) == {"city": "Oslo"}
    assert script.calls[0][1] in reply or "tool_calls" in reply, "as written"


@pytest.mark.parametrize("reply", BARE.values(), ids=BARE)
def test_a_name_with_nothing_behind_it_is_a_call_without_arguments(reply):
    assert [(name, arguments.strip("{}")) for name, arguments in play(reply).calls[:-1]] == [("weather", "")]


@pytest.mark.parametrize("name", ["react", "dfsdt", "sum2act"])
@pytest.mark.parametrize("reply", UNREAD.values(), ids=UNREAD)
def test_what_cannot_be_read_is_not_called_and_the_model_is_sent_what_was_expected(reply, name):
    script = play(reply, name)
    assert [one for one, _ in script.calls] == ["Finish"]
    first, second = script.prompts("router" if name == "sum2act" else "policy")
    (line,) = [line for line in second.splitlines() if "Nothing was called: " in line]
    assert "Nothing was called" not in first and len(line) < MAX_QUOTE + 200
    expected = second.partition(line)[2].lstrip("\n")
    assert expected.startswith("Write exactly three lines") and "\nAction Input: its arguments" in expected


@pytest.mark.parametrize("reply", SILENT.values(), ids=SILENT)
def test_a_reply_that_names_no_action_is_answered_as_before(reply):
    script = play(reply)
    assert [one for one, _ in script.calls] == ["Finish"] and NO_ACTION in script.prompts("policy")[1]


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        ("Action: weather\nAction Input: Oslo", "Oslo"),
        ("Action: weather\nAction Input: {'city': 'Oslo'}", "{'city': 'Oslo'}"),
        ("Action: weather\nInput: city = Oslo\nObservation: 7", "city = Oslo"),
        ("**Action:** weather\n**Action Input:** Oslo\n**Observation:** 7", "Oslo"),
        ('Action: weather\nAction Input:\n```json\n{"city": "Oslo",}\n```\nDone.', '{"city": "Oslo",}'),
        ('Action: weather\nAction Input: {"city": "Os', '{"city": "Os'),
        ('{"name": "weather", "arguments": "Oslo"}', "Oslo"),
        (f"**Action:** weather\n**Action Input:** {NESTED}", NESTED),
    ],
)
def test_arguments_remain_as_written_for_the_function_to_refuse(reply, arguments):
    assert read_reply(reply).arguments == arguments and read_reply(reply).action == "weather"


def test_a_line_that_is_no_name_is_refused_as_an_unknown_function():
    for line in ("weather (the city's)", "Get Weather", "weather(city='Oslo')"):
        assert read_reply(f"Action: {line}\nAction Input: {{}}") == Reply("", line, "{}")


@pytest.mark.parametrize(
    "reply", ["Thought: look\nAction: weat", "Action: weather\nAction Input:", "Action: weather\n"]
)
def test_a_name_without_arguments_at_the_limit_of_tokens_is_no_call(reply):
    script = play(reply, reason=FinishReason.LENGTH)
    assert [one for one, _ in script.calls] == ["Finish"] and "the reply was cut off" in script.prompts("policy")[1]
    assert len(play(f"Action: weather\nAction Input: {OSLO}", reason=FinishReason.LENGTH).calls) == 2


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        (READ["bold"], "look"),
        (READ["headings"], "look"),
        (READ["all in a fence"], "look"),
        (READ["fenced JSON"], "look"),
        (READ["JSON of LangChain"], "look"),
        (READ["JSON of Qwen"], "I should look."),
        (READ["numbered labels"], "look"),
        (UNREAD["words"], UNREAD["words"]),
        ("**Thought:** hm", "hm"),
    ],
)
def test_a_thought_is_what_comes_before_the_call(reply, thought):
    assert read_reply(reply).thought == thought


@pytest.mark.parametrize(
    "draft",
    [
        "Action: Call the 'weather' function with the city 'Rome'.",
        "Action:\nI will call the function with these arguments:\n- city: Rome\n\nThis tells the weather.",
        "Action:\n1. Call weather of Rome.\n2. Then that of Oslo.",
        "New action:\n- Function: `weather`\n- Arguments:\n  - city: Rome",
        '- Tool: weather\n- Arguments: {"city": "Rome"}',
        'It may be\n{"name": "weather", "arguments": {"city": "Rome"}}',
    ],
)
def test_a_draft_in_the_thought_is_passed_over(draft):
    """As ChatGPT wrote them in ToolBench's answers."""
    for version in (2, 3):
        assert read_reply(f"Thought: so\n{draft}\nAction: weather\nAction Input: {OSLO}", version).arguments == OSLO
    assert read_reply(f"**Thought:** so\n{draft}\n**Action:** weather\n**Action Input:** {OSLO}").arguments == OSLO
    ended = read_reply(f"Thought: so\n{draft}\nObservation: mild\nAction: Finish\nAction Input: {{}}")
    assert ended.action != "Finish" and "Oslo" not in ended.arguments


# --- bad input


def test_every_reply_is_read():
    rng = random.Random(7)
    pieces = [
        "Thought:",
        "**Action:**",
        "Action",
        "Action Input:",
        "Input:",
        "Tool:",
        "Observation:",
        "\n",
        " ",
        "f",
        "{",
        "}",
        '"',
        "`",
        "```json\n",
        "```",
        "*",
        "(",
        ")",
        "[",
        "\x00",
        "é",
        "{}",
        DECISION,
        OSLO,
        "<tool_call>",
        "- ",
    ]
    for _ in range(5_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(25)))
        for is_cut in (False, True):
            reply = read_reply(text, is_cut=is_cut)
            assert not (reply.problem and reply.action)
            assert len(reply.problem) < MAX_QUOTE + 200 and "\n" not in reply.problem


def test_a_call_of_tool_scripts_is_exact():
    assert read_reply(call("weather", "look", city="Oslo")) == Reply("look", "weather", OSLO)
