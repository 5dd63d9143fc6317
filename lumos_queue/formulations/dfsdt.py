"""DFSDT: a depth-first search over decisions (ToolLLM, arXiv:2307.16789, as in its code without ranking).

At each node the model is asked up to `width` times. From the second time on, its prompt lists the earlier tries at the
node and asks for a different decision; later prompts do not repeat this text. A path ends with an answer, with giving
up, or at the limit of depth. Then the search goes back one decision, or two after giving up, and tries the next
sibling. At the limit of depth it goes back `back_off` decisions, because some recordings go back two there. The first
answer ends the search.
"""

from __future__ import annotations

from lumos_queue.actions.tools.protocols import PROTOCOL
from lumos_queue.commands import Commands
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.base import VERSION, Formulation, Setting
from lumos_queue.formulations.decision import Decision, describe_tries
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.formulations.policy import Policy, allows_more
from lumos_queue.formulations.react import CALLING, HISTORY, POLICY_SAMPLING, PROTOCOLS
from lumos_queue.formulations.settings import read_number
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.tool_agent import CALLS, POLICY, policy_prefixes
from lumos_queue.records import Ending, Outcome, Role, Task
from lumos_queue.text_calls.decision_form import DecisionForm

MAX_CALLS = 200  #: model calls of a search, as in ToolBench
MAX_TREE = 10_000  #: calls if no limit is set: the whole tree can have more nodes than fit in memory


class Search:
    """A search, with its answer and the reason for its end."""

    def __init__(self, policy: Policy, agent: Agent, width: int, back_off: int):
        self._policy, self._agent, self._width, self._back_off = policy, agent, width, back_off
        self.answer: Decision | None = None
        self.gave_up = False
        self.used_up = False  #: whether the limit of calls is reached

    def expand(self, node: Decision) -> Commands[int]:
        """Search below a node. Return how many levels to go back; `answer` or `used_up`, if set, ends the search."""
        if node.is_answer:
            self.answer = node
            return 0
        if node.gave_up:
            self.gave_up = True
            return 2
        if not allows_more(self._agent, node):
            return self._back_off
        for _ in range(self._width):
            completion, position = yield from self._policy.decide(node, describe_tries(node))
            if self._policy.calls >= (self._agent.limits.calls or MAX_TREE):
                self.used_up = True  # as in ToolBench, the reply to the last call is not carried out
                return 0
            child = yield from self._policy.act(node, completion, position)
            levels = yield from self.expand(child)
            if self.answer is not None or self.used_up:
                return 0
            if levels > 1:
                return levels - 1
        return 1


def dfsdt(task: Task, agent: Agent, version: int = VERSION) -> Commands[Outcome]:
    """Search the tree of decisions with at most `limits.calls` model calls, and return the outcome."""
    settings = FORMULATION.read_settings(agent)
    policy = Policy(task, agent, settings["history"], version=version)
    search = Search(policy, agent, settings["width"], settings["back_off"])
    yield from search.expand(Decision())
    if search.answer is not None:
        return Outcome(search.answer.answer, Ending.ANSWERED)
    if search.gave_up:
        return Outcome(None, Ending.GAVE_UP)
    reason = f"{agent.limits.calls or MAX_TREE} calls" if search.used_up else "the whole tree"
    return Outcome(None, Ending.LIMIT, f"no answer in {reason}")


FORMULATION = Formulation(
    "dfsdt",
    dfsdt,
    (Role.POLICY,),
    functions=True,
    versioned=True,
    settings={
        "width": Setting("2", "decisions that are tried at each node", read_number(1, 10)),
        "back_off": Setting("1", "levels to go back at full depth: 1, or 2 as in some recordings", read_number(1, 2)),
        "history": HISTORY,
        CALLS: CALLING,
        PROTOCOL: PROTOCOLS,
        DESCRIPTIONS: DESCRIBED,
    },
    answer_files=AnswerFiles(
        DecisionForm.SEARCH,
        POLICY,
        is_tree=True,
        method=lambda settings: f"DFS_woFilter_w{settings['width']}",
        limits=lambda settings, limits: {
            "single_chain_max_step": limits.depth,
            "tree_beam_size": settings["width"],
            "max_query_count": limits.calls,
            "answer": 1,
            "with_filter": False,
        },
        max_calls=MAX_TREE,
        describe_tries=describe_tries,
    ),
    limits=Limits(calls=MAX_CALLS, depth=12),
    samplings={"policy": POLICY_SAMPLING},
    prefixes=policy_prefixes,
    callers=("policy",),
)
