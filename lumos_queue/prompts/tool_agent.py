"""Prompts for the models of tool agents: policies, planners, solvers, routers and state managers.

The wording is this project's own, but the requests are those of ToolBench's prompt for chains and trees, of ReWOO's
plan, and of Sum2Act's router and state manager (arXiv:2402.18157). A chat server's model gets the same text as
messages. The head, which is the same for all tasks, comes first, so that it is stored once for a job.

With `--setting calls=native`, a model calls functions by its server's own interface, and gets the functions beside the
prompt. The heads then do not ask for the three lines thought, action and input, and the requests list no functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lumos_queue.actions.tools.functions import FINISH, Function
from lumos_queue.actions.tools.task_functions import functions_of_task
from lumos_queue.commands import FunctionSchema
from lumos_queue.notation import without_roles
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.dialogue import USER, Turn, get_framing
from lumos_queue.prompts.function_list import FunctionList, shows_descriptions
from lumos_queue.records import Task
from lumos_queue.text_calls.three_lines import Reply

SYSTEM = "<|system|>\n"
CALLS = "calls"  #: the setting that says how functions are called
TEXT, NATIVE = "text", "native"  #: its values: as three lines of text, or by the server's own interface
_FORMAT = """\
Write exactly three lines, and nothing after them:
Thought: what is known, and what to do next, in at most three sentences
Action: the name of one function, exactly as listed
Action Input: its arguments, as one JSON object
"""
_FINISHING = """\
End with the function Finish: give_answer with a final answer that is complete by itself, or give_up_and_restart when \
the functions cannot answer the request.
"""
_CALLING = """\
Write what is known, and what to do next, in at most three sentences, and call one function in the same reply.
"""
_POLICY = f"""\
You answer a person's request by calling functions, one at a time. After each call you are told what it returned, and \
decide what to do next. A call cannot be undone. When a call fails, correct its arguments or try another function.
{_FINISHING}"""
POLICY, NATIVE_POLICY = f"{_POLICY}{_FORMAT}", f"{_POLICY}{_CALLING}"
PLANNER = """\
You plan how to answer a person's request by calling functions. Write the whole plan at once: for each call two lines,
Plan: what the call is for
#E1 = function_name {"argument": "value"}
The calls are numbered #E1, #E2 and so on. What an earlier call returned may be used as a value by its number, as in \
{"order": "#E1"}, and a part of it by its name or place, as in {"id": "#E1.orders[0].id"}. Use only the functions \
listed, with JSON objects as arguments, and write nothing else.
"""
SOLVER = """\
You answer a person's request from a plan and from what each of its calls returned. Some of the calls may have failed. \
Write only the answer, complete by itself.
"""
_ROUTER = f"""\
You answer a person's request by calling functions, one at a time. You are shown what has been found so far, and which \
calls have failed, and choose the next call. Call a function only for what is still missing. Do not repeat a call \
that succeeded, nor one that failed with the same arguments: correct the arguments, use another function, or leave \
that part out. Finish as soon as everything is found, nothing more can be found, or the rest keeps failing; the final \
answer is based on the results.
{_FINISHING}"""
ROUTER, NATIVE_ROUTER = f"{_ROUTER}{_FORMAT}", f"{_ROUTER}{_CALLING}"
STATE_MANAGER = """\
You record what a call contributed to a person's request. You are shown the request, the call, what it returned and \
what the function is for. If the returned text answers what the call was for, keep every relevant detail of it, with \
numbers, names and quotations unchanged. If it is empty, an error, or about something else, say briefly why, and which \
arguments would be right when the description tells.
Write one JSON object and nothing else, either
{"status": "success", "aim": "what the call was for", "answer": "what it found"}
or
{"status": "failure", "aim": "what the call was for", "reason": "why it failed, and what to do instead"}
"""
STATE_REWRITER = """\
You keep the state of a person's request: which calls were made, and what they found. You are shown the request, the \
state so far with its calls numbered, and the newest call with its number and what it returned. Write the whole state \
anew: correct and complete what is said of a call where the newest one shows more, and keep every relevant detail, \
with numbers, names and quotations unchanged. A call whose returned text is empty, an error, or about something else \
has failed: say briefly why, and which arguments would be right when the description tells. Name every call once.
Write one JSON object and nothing else:
{"results": [{"call": 1, "aim": "what the call was for", "answer": "what it found"}],
 "failures": [{"call": 2, "aim": "what the call was for", "reason": "why it failed, and what to do instead"}]}
"""
DECOMPOSER = """\
You divide a person's request into the parts that can be solved one after the other with the functions listed. Write \
the parts as a numbered list, one line each, and nothing else.
"""
#: What the prompts of a role begin with, the same for all tasks.
HEADS = (POLICY, PLANNER, SOLVER, ROUTER, STATE_MANAGER, STATE_REWRITER, DECOMPOSER)
NO_ACTION = "No action was named. Name one function as the Action, and give its Action Input."
_CALL_EXPECTED = "Call one of the functions, with its arguments as one JSON object."
NO_CALL = f"No function was called. {_CALL_EXPECTED}"
_REQUEST = "Request: "


@dataclass(frozen=True, slots=True)
class CallStyle:
    """The prompts for models that call functions as text, or those for models that use their server's interface."""

    policy: str  #: the head of its prompts
    router: str
    no_call: str  #: what it is sent after a reply that names no function
    native: bool = False

    def describe_unread(self, reply: Reply) -> str:
        """Return the message to a model after a reply without a call: the reason, and the expected form."""
        if not reply.problem:
            return self.no_call
        return f"Nothing was called: {reply.problem}.\n{_CALL_EXPECTED if self.native else _FORMAT}".strip()

    def request(self, task: Task, functions: FunctionList) -> str:
        """Return the person's request. The list of functions precedes it.

        If functions are sent beside the prompt, only the list of their tools precedes it.
        """
        return (
            f"{functions.write_tools()}{_REQUEST}{task.question.strip()}" if self.native else request(task, functions)
        )

    def schemas(self, functions: FunctionList) -> tuple[FunctionSchema, ...]:
        """Return the schemas of the functions that are sent beside the prompt; () if calls are text."""
        return functions.schemas() if self.native else ()


_STYLES = {
    TEXT: CallStyle(POLICY, ROUTER, NO_ACTION),
    NATIVE: CallStyle(NATIVE_POLICY, NATIVE_ROUTER, NO_CALL, native=True),
}


def call_style(agent: Agent) -> CallStyle:
    """Return the prompts for the way in which the agent's policy or router calls functions."""
    return _STYLES[agent.settings.get(CALLS, TEXT)]


def policy_prefixes(agent: Agent) -> Mapping[str, str]:
    return {"policy": SYSTEM + call_style(agent).policy}


def open_functions(task: Task) -> tuple[Function, ...]:
    """Return the functions that an agent may call for a task; the last is Finish."""
    return (*functions_of_task(task).values(), FINISH)


def list_functions(task: Task, agent: Agent, version: int) -> FunctionList:
    """Return the functions that an agent may call for a task, as it is shown them; the last is Finish."""
    return FunctionList(open_functions(task), shows_descriptions(agent.settings, version))


def request(task: Task, functions: FunctionList) -> str:
    """Return the list of functions, and the person's request."""
    return f"{functions.write()}{_REQUEST}{task.question.strip()}"


def first_prompt(head: str, request: str, agent: Agent) -> str:
    """Return a prompt in which `head` is the system's turn and `request` the user's turn."""
    return f"{SYSTEM}{head}{get_framing(agent.framing).write(Turn('user', without_roles(request)))}"


def format_observation(result: str) -> str:
    return f"Observation: {result}"


def describe_unmade_calls(count: int) -> str:
    """Return the message to a model after a reply with several calls, `count` of which were not made."""
    count_text = "other call was" if count == 1 else f"{count} other calls were"
    return (
        f"Only the first call of your reply was made. The {count_text} not: repeat what is still needed, one at a time."
    )


def as_text_calls(prompt: str, task: Task, is_described: bool = False) -> str:
    """Convert a prompt for native calls to one for text calls with the list of functions. Other prompts do not change.

    Training needs this, because the models that are trained here get nothing beside their prompt. `is_described`:
    whether the agent was shown descriptions (function_list.py).
    """
    functions = FunctionList(open_functions(task), is_described)
    tools = without_roles(functions.write_tools())
    for native, text in ((NATIVE_POLICY, POLICY), (NATIVE_ROUTER, ROUTER)):
        begin = f"{SYSTEM}{native}{USER}{tools}{_REQUEST}"
        if prompt.startswith(begin):
            function_list = without_roles(functions.write())
            return f"{SYSTEM}{text}{USER}{function_list}{_REQUEST}{_expect_text_calls(prompt[len(begin) :])}"
    return prompt


def _expect_text_calls(steps: str) -> str:
    """Replace the messages about replies without a native call by those about replies without a text call.

    In a router's state such a message is on one line.
    """
    steps = steps.replace(NO_CALL, NO_ACTION)
    steps = steps.replace(f"\n{_CALL_EXPECTED}", f"\n{_FORMAT.strip()}")
    return steps.replace(f" {_CALL_EXPECTED}", f" {' '.join(_FORMAT.split())}")
