"""Which calls of a run a judge is shown: of trees the path to the end, of failed searches a defined one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.journal.step_records import RecordedStep
from lumos_queue.commands import ROOT, Do
from lumos_queue.compat.toolbench.trees import read_decisions
from lumos_queue.limits import Limits
from lumos_queue.records import Action, Completion, Ending, Execution, FinishReason
from lumos_queue.rollouts.final_path import final_path
from tests.integration.test_recorded_searches import search
from tests.recorded_search import BACK_OFF, answer_files
from tests.tool_scripts import Scripted, call, finish, give_up, run

STATUSES = {
    "ok": Execution("ok", "there"),
    "no": Execution("give_up"),
    "end": Execution("ok", values=({"text": "yes", "ends": True},)),
}


def did(position: int, parent: int | None, status: str = "ok") -> RecordedStep:
    return RecordedStep(position, 0, "", STATUSES[status], Action((), f"call {position}", "{}"), parent=parent)


def asked(position: int, parent: int | None) -> RecordedStep:
    return RecordedStep(position, 0, "", Completion("so", FinishReason.STOP), role="policy", parent=parent)


def names(steps: list[RecordedStep], ending: str = "limit") -> list[int]:
    return [int(action.name.split()[1]) for action, _ in final_path(steps, ending)]


def test_of_a_run_without_a_tree_all_calls():
    assert names([asked(0, None), did(1, None), asked(2, None), did(3, None)]) == [1, 3]
    assert names([]) == names([asked(0, ROOT)]) == []


def test_of_an_answer_the_path_to_it():
    steps = [did(1, ROOT), did(2, 1), did(3, 2), did(4, ROOT), did(5, 4, "end")]
    assert names(steps, "answered") == [4, 5]


def test_of_a_search_that_failed_the_deepest_and_of_those_the_last():
    assert names([did(1, ROOT), did(2, 1), did(3, ROOT)]) == [1, 2]
    assert names([did(1, ROOT), did(2, 1), did(3, 1), did(4, ROOT)]) == [1, 3]


def test_of_a_search_that_gave_up_a_path_that_did():
    steps = [did(1, ROOT, "no"), did(2, ROOT), did(3, 2), did(4, ROOT, "no")]
    assert names(steps, "gave_up") == [4] and names(steps, "limit") == [2, 3]


def test_thoughts_lie_on_the_path_and_do_not_make_it_deeper():
    steps = [asked(0, ROOT), did(1, 0), asked(2, 1), asked(3, 2), asked(4, ROOT), did(5, 4), did(6, 5)]
    assert names(steps) == [5, 6]


@given(st.lists(st.tuples(st.integers(-2, 30), st.sampled_from([*STATUSES])), max_size=20), st.sampled_from(Ending))
def test_every_tree_has_a_path_whatever_its_parents_say(drawn, ending):
    steps = [did(place, parent, status) for place, (parent, status) in enumerate(drawn)]
    path = names(steps, ending)
    assert path == sorted(set(path)) and bool(path) == bool(steps)
    assert path == names(steps, ending)


def recorded(script: Scripted) -> list[RecordedStep]:
    """What a scripted episode would have stored."""
    steps = []
    for context, command in zip(script.contexts, script.commands, strict=True):
        if isinstance(command, Do):
            done = STATUSES["no"] if "give_up" in command.action.arguments else Execution("ok", "there")
            done = STATUSES["end"] if "give_answer" in command.action.arguments else done
            steps.append(RecordedStep(context.position, 0, "", done, command.action, parent=command.parent))
        else:
            steps.append(asked(context.position, command.parent))
    return steps


@pytest.mark.parametrize(("last", "ending"), [(finish("yes"), "answered"), (give_up(), "gave_up")])
@pytest.mark.parametrize(("name", "shown"), [("react", [3, None]), ("dfsdt", [1, None])])
def test_of_tries_and_searches_the_path_that_ended_so(name, shown, last, ending):
    """Two calls deep: ReAct's second try is the third call and the end, DFSDT's second path the first and the end."""
    replies = [call("state", number=1), call("state", number=2), *[call("state", number=3)] * (name == "react"), last]
    script = Scripted({"policy": replies}, {"state": lambda number: number})
    settings = {"tries": "2"} if name == "react" else {}
    made = run(name, script, Limits(depth=2, unit="calls", calls=9), **settings)
    assert made.outcome.ending == ending
    path = [json.loads(action.arguments) for action, _ in final_path(recorded(script), ending)]
    assert [one.get("number") for one in path] == shown


def test_recorded_searches(shared_data):
    """Of each search the longest path that ended as the search did."""
    for query, content in answer_files(shared_data):
        script, made = search(content, BACK_OFF[query])
        steps = [
            RecordedStep(
                position, 0, "", result, command.action if isinstance(command, Do) else None, parent=command.parent
            )
            for position, command, result in script.made
        ]
        path = final_path(steps, made.outcome.ending)
        decisions = read_decisions(content["tree"]["tree"])
        assert path and len(path) == deepest(decisions, made.outcome.ending)
        assert path[-1][1].ends == (made.outcome.ending == Ending.ANSWERED)
        assert (path[-1][1].status == "give_up") == (made.outcome.ending == Ending.GAVE_UP)


def deepest(decisions, ending: str) -> int:
    """Calls on the longest path to a decision that ends so, counted in ToolBench's own tree."""

    def calls(index: int) -> int:
        return 0 if index < 0 else bool(decisions[index].name) + calls(decisions[index].before)

    wanted = {Ending.ANSWERED: 3, Ending.GAVE_UP: 4}.get(Ending(ending))
    ends = [place for place, one in enumerate(decisions) if one.name and (wanted is None or one.code == wanted)]
    return max(map(calls, ends))
