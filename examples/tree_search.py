"""A search agent of a plug-in, in one file: it searches the tree of a model's decisions level by level.

    PYTHONPATH=. lumos evaluate toolworld --split I1-inst --formulation examples.tree_search:tree_search \\
        --role policy=URL --limit 20
    lumos data export-toolbench JOB --out FOLDER

docs/plugins.md explains it. At each node the model is asked `width` times, each time with the earlier decisions there.
The first answer ends the search, and so it is an answer with the fewest calls.
"""

from __future__ import annotations

import lumos_queue as lq
from lumos_queue.actions.tools.protocols import PROTOCOL
from lumos_queue.commands import Commands
from lumos_queue.formulations.answer_files import AnswerFiles
from lumos_queue.formulations.base import VERSION, Setting
from lumos_queue.formulations.decision import Decision, describe_tries
from lumos_queue.formulations.descriptions import DESCRIBED
from lumos_queue.formulations.policy import Policy, allows_more
from lumos_queue.formulations.react import CALLING, HISTORY, POLICY_SAMPLING, PROTOCOLS
from lumos_queue.formulations.settings import read_number
from lumos_queue.limits import Limits
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import DESCRIPTIONS
from lumos_queue.prompts.tool_agent import CALLS, POLICY, policy_prefixes
from lumos_queue.records import Task
from lumos_queue.text_calls.decision_form import DecisionForm

MAX_CALLS = 60  #: model calls of a search


@lq.formulation(
    "tree-search",
    roles=("policy",),
    functions=True,
    versioned=True,
    settings={
        "width": Setting("2", "decisions that are tried at each node", read_number(1, 10)),
        "history": HISTORY,
        CALLS: CALLING,
        PROTOCOL: PROTOCOLS,
        DESCRIPTIONS: DESCRIBED,
    },
    limits=Limits(calls=MAX_CALLS, depth=12),
    samplings={"policy": POLICY_SAMPLING},
    prefixes=policy_prefixes,
    callers=("policy",),
    answer_files=AnswerFiles(
        DecisionForm.SEARCH,
        POLICY,
        is_tree=True,
        method=lambda settings: f"DFS_by_level_w{settings['width']}",
        limits=lambda settings, limits: {"tree_beam_size": settings["width"], "max_query_count": limits.calls},
        max_calls=MAX_CALLS,
        describe_tries=describe_tries,
    ),
)
def tree_search(task: Task, agent: Agent, version: int = VERSION) -> Commands[lq.Outcome]:
    """Search for an answer with at most `limits.calls` model calls."""
    settings = tree_search.read_settings(agent)
    policy = Policy(task, agent, settings["history"], version=version)
    level, has_given_up = [Decision()], False
    while level:
        next_level: list[Decision] = []
        for node in level:
            for _ in range(settings["width"]):
                completion, position = yield from policy.decide(node, describe_tries(node))
                if policy.calls >= (agent.limits.calls or MAX_CALLS):
                    return lq.Outcome(None, lq.Ending.LIMIT, f"no answer in {policy.calls} calls")
                child = yield from policy.act(node, completion, position)
                if child.is_answer:
                    return lq.Outcome(child.answer, lq.Ending.ANSWERED)
                has_given_up |= child.gave_up
                if not child.gave_up and allows_more(agent, child):
                    next_level.append(child)
        level = next_level
    if has_given_up:
        return lq.Outcome(None, lq.Ending.GAVE_UP)
    return lq.Outcome(None, lq.Ending.LIMIT, "no answer in the whole tree")
