"""Which results of earlier subgoals the grounder is told: those that stand, and of each subgoal its last."""

from __future__ import annotations

import pytest

from lumos_queue.prompts.dialogue import Dialogue
from lumos_queue.records import Action, Execution, Subgoal, Task

TASK = Task("strategyqa", "d", "1", "Could an ostrich outrun a cyclist?")
LOOK_UP = Action(("R1",), "KnowledgeQuery", "ostrich", "R1 = KnowledgeQuery(ostrich)")
REFUSED = Execution("tool_failed", message="nobody answers")


def told(*results: Execution) -> str:
    """What the second subgoal's grounder is told when the first one's actions gave these."""
    dialogue = Dialogue(TASK, "complex_qa")
    for number in (1, 2):
        subgoal = Subgoal(number, f"Subgoal {number}: Find out.")
        dialogue.to_planner()
        dialogue.add_plan(subgoal.text, subgoal)
        dialogue.to_grounder()
        if number == 1:
            dialogue.add_grounding("R1 = KnowledgeQuery(ostrich)")
            for result in results:
                dialogue.observe(LOOK_UP, result)
    return dialogue.grounder_turns[-1].content.partition("following results:")[2].strip()


def found(text: str) -> Execution:
    return Execution("ok", text, ({"kind": "text", "text": text},))


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ((found("70 km/h"),), "The execution result for Subgoal 1 is 70 km/h."),
        ((found("a page"), found("70 km/h")), "The execution result for Subgoal 1 is 70 km/h."),
        ((REFUSED, found("70 km/h")), "The execution result for Subgoal 1 is 70 km/h."),
        ((found("a page"), REFUSED), ""),
        ((found("a page"), found("70 km/h"), REFUSED), ""),
        ((REFUSED,), ""),
        ((), ""),
    ],
)
def test_a_subgoal_whose_last_action_failed_has_no_result_and_no_earlier_one_either(results, expected):
    assert told(*results) == expected
