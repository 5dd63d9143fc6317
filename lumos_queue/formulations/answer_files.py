"""How the episodes of a tool agent become answer files of ToolBench, and how its stored steps are read as decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.formulations.decision import Decision
from lumos_queue.limits import Limits
from lumos_queue.text_calls.decision_form import DecisionForm


def write_step_limit(settings: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    return {"max_step": limits.steps}


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """The facts that an export of episodes needs (searches/answer_export.py)."""

    form: DecisionForm
    system: str  #: the text for the model, before the list of functions
    is_tree: bool = False  #: whether decisions have several successors; otherwise the file has chains
    #: ToolBench's name of the method, from the values of the settings; None: the formulation's name and `CoT@1`.
    #: ToolBench's converter recognises trees by 'DFS' and chains by 'CoT'.
    method: Callable[[Mapping[str, Any]], str] | None = None
    #: The limits of the search by ToolBench's names, from the values of the settings and the agent's limits.
    #: A limit of 0 means that there is none.
    limits: Callable[[Mapping[str, Any], Limits], Mapping[str, Any]] = write_step_limit
    #: If the reply to the last model call of a search is not carried out: the number of calls without a limit.
    max_calls: int = 0
    describe_tries: Callable[[Decision], str] | None = None  #: the message at a node about its earlier decisions
    shows_finish: bool = True  #: whether the model is shown the function Finish
