"""ReAct: think, call a function, read its result, and repeat. With several tries it is ToolBench's CoT@n.

A try ends with an answer, with giving up, or at the limit of depth. Unless it answered, the next try begins anew, up to
`tries` (1 in ToolBench's reported baseline). As in ToolBench, a path has at most 12 nodes, which are 4 to 6 calls.
"""

from __future__ import annotations

from lumos_queue.actions.tools.protocols import PROTOCOL, TOLERANT, TOOLBENCH
from lumos_queue.commands import Commands
from lumos_queue.endpoints.base import Sampling
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.base import VERSION, Formulation, Setting
from lumos_queue.formulations.decision import Decision
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.formulations.policy import Policy, allows_more
from lumos_queue.formulations.settings import read_choice, read_number
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.tool_agent import CALLS, NATIVE, POLICY, TEXT, policy_prefixes
from lumos_queue.prompts.transcript import read_history
from lumos_queue.records import Ending, Outcome, Role, Task
from lumos_queue.text_calls.decision_form import DecisionForm
from lumos_queue.text_calls.three_lines import STOP

POLICY_SAMPLING = Sampling(max_tokens=1024, stop=(STOP,))  #: the default stop, a line break, would leave only a thought
HISTORY = Setting("whole", "the steps in a policy's prompt: whole, cut:N or drop:N characters", read_history)

CALLING = Setting(
    TEXT,
    "how functions are called: text, as three lines, or native, by the interface of a chat:// server",
    read_choice(TEXT, NATIVE),
)
PROTOCOLS = Setting(
    TOLERANT,
    "tolerant, or toolbench: Finish is read, replies are answered and results are shown as in ToolBench",
    read_choice(TOOLBENCH, TOLERANT),
)


def react(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Make a model call for each step of each try, and return the outcome."""
    settings = FORMULATION.read_settings(agent)
    policy, node = Policy(task, agent, settings["history"], version=version), Decision()
    for _ in range(settings["tries"]):
        node = Decision()
        while allows_more(agent, node) and not node.gave_up:
            completion, position = yield from policy.decide(node)
            node = yield from policy.act(node, completion, position)
            if node.is_answer:
                return Outcome(node.answer, Ending.ANSWERED)
    if node.gave_up:
        return Outcome(None, Ending.GAVE_UP)
    return Outcome(None, Ending.LIMIT, "the last try reached the limit of depth without an answer")


FORMULATION = Formulation(
    "react",
    react,
    (Role.POLICY,),
    functions=True,
    versioned=True,
    settings={
        "tries": Setting("1", "chains that are tried, until one has an answer", read_number(1, 100)),
        "history": HISTORY,
        CALLS: CALLING,
        PROTOCOL: PROTOCOLS,
        DESCRIPTIONS: DESCRIBED,
    },
    answer_files=AnswerFiles(
        DecisionForm.SEARCH,
        POLICY,
        method=lambda settings: f"CoT@{settings['tries']}",
        limits=lambda settings, limits: {
            "single_chain_max_step": limits.depth,
            "pass_at": settings["tries"],
            "answer": 1,
        },
    ),
    limits=Limits(depth=12),
    samplings={"policy": POLICY_SAMPLING},
    prefixes=policy_prefixes,
    callers=("policy",),
)
