"""The WebShop actions: what they give, what they forgive, and what they refuse."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from lumos_queue.actions.shop.interface import ShopActions
from lumos_queue.benchmarks.webshop.tasks import annotate, goals
from lumos_queue.commands import Ask, Do, Step
from lumos_queue.domains.webshop import DOMAIN
from lumos_queue.episode import Diverged, StepContext, run_episode
from lumos_queue.errors import InfrastructureError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.notation import read_actions
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Completion, Execution, Subgoal, Task
from tests.gold_shop import gold_says, play

TASK = Task("webshop", "", "1", "i want rechargeable wireless headphones, and price lower than 130.00 dollars")


class Shopper:
    """An episode's variables and actions, as the loop keeps them."""

    def __init__(self):
        self.session, self.variables, self.done = ShopActions().begin(TASK), {}, []

    def __call__(self, line: str) -> Execution:
        """Runs the line's actions and gives the last execution."""
        execution = Execution("none")
        for action in read_actions(line):
            execution = asyncio.run(self.session.execute(action, StepContext(0, 0, self.variables, self.done)))
            self.done.append((action, execution))
            if execution.ok:
                self.variables |= dict(zip(action.variables, execution.values, strict=True))
        return execution


@pytest.fixture
def shopper() -> Shopper:
    return Shopper()


@pytest.mark.parametrize("shown", DOMAIN.demonstrations, ids=lambda shown: shown.task[:30])
def test_the_demonstrations_are_what_the_shop_gives(shopper, shown):
    assert len(shown.steps) == 5
    for number, (subgoal, line, result) in enumerate(shown.steps, start=1):
        assert subgoal.startswith(f"Subgoal {number}: ")
        execution = shopper(line)
        assert execution.result == result
    assert execution.ends


def test_search_names_two_items_and_keeps_the_page(shopper):
    value = shopper("R1 = Search(rechargeable wireless headphones)").values[0]
    assert [item["asin"] for item in value["items"]] == ["b50115", "b59021"]
    assert value["clickables"][:4] == ["back to search", "next >", "b50115", "b59021"]
    assert value["observation"].startswith("Instruction: [SEP] i want rechargeable")


def test_click_lists_what_can_be_clicked(shopper):
    execution = shopper("R1 = Search(rechargeable wireless headphones); R2 = Click(b50115)")
    assert execution.result.startswith("back to search, < prev, description, features, reviews, buy now, ")
    assert execution.values[0]["options"] == execution.values[0]["clickables"][6:]


def test_a_variable_that_holds_a_list_is_clicked_by_what_is_there(shopper):
    shopper("R1 = Search(rechargeable wireless headphones)")
    assert shopper("R2 = Click(R1)").values[0]["asin"] == "b50115"
    shopper("R3 = FeatureRetrieve(R2, Query: blue)")
    assert shopper("R4 = Click(R3)").values[0]["chosen"] == {"color": "blue"}
    assert shopper("R5 = Click([R3])").values[0]["chosen"] == {"color": "blue"}


@pytest.mark.parametrize(
    "line",
    [
        "R7 = Pick(Item_names: R1, Item_features: [R3, R6], Query: headphones medium)",
        "R7 = Pick(Item_names: R1, Item_features: [R6, R3], QUERY: headphones medium).",
        "R7 = Pick(R1, [R3, R6], Query: headphones, medium)",
    ],
)
def test_pick_compares_the_items_by_their_features(shopper, line):
    shopper(
        "R1 = Search(rechargeable wireless headphones); R2 = Click(b50115); R3 = FeatureRetrieve(R2, Query: medium)"
    )
    shopper("R4 = Click(< prev); R5 = Click(b59021); R6 = FeatureRetrieve(R5, Query: medium)")
    assert shopper(line).result == "b59021"


def test_pick_without_features_takes_the_first_item(shopper):
    shopper("R1 = Search(rechargeable wireless headphones)")
    assert shopper("R2 = Pick(Item_names: R1, Item_features: [], Query: medium)").result == "b50115"


def test_a_purchase_says_what_was_bought(shopper):
    execution = shopper(
        "R1 = Search(rechargeable wireless headphones); R2 = Click(R1); R3 = Click(blue); R4 = Click(buy now)"
    )
    assert execution.ends
    value = execution.values[0]
    assert (value["text"], value["asin"], value["options"]) == ("Done", "b50115", {"color": "blue"})
    assert value["price"] > 0
    assert shopper("R5 = Click(< prev)").status == "ended"


def test_a_search_that_finds_nothing_says_so(shopper):
    execution = shopper("R1 = Search(zebra xylophone)")
    assert (execution.ok, execution.result) == (True, "no items were found")
    assert shopper("R2 = Pick(Item_names: R1, Item_features: [], Query: x)").status == "empty"


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("R2 = Click(b00000)", "no_such_choice", "there are: back to search, next >, b50115"),
        ("R2 = Click()", "no_such_choice", "there are: back to search"),
        ("R2 = Click(R9)", "no_such_choice", "'r9' is not on this page"),
        ("R2 = Search()", "syntax", "Search(red running shoes)"),
        (f"R2 = Search({'shoes ' * 1000})", "too_large", "2000 characters"),
        (f"R2 = Search({'x' * 1_000_000})", "too_large", "20000 characters"),
        ("R2 = FeatureRetrieve(R1, Query: blue)", "wrong_kind", "R1 holds 'items', expected 'page'"),
        ("R2 = FeatureRetrieve(R5, Query: blue)", "unknown_variable", "R5 is not set; set are: R1"),
        ("R2 = FeatureRetrieve(R1)", "syntax", "FeatureRetrieve needs a query"),
        ("R2 = FeatureRetrieve(blue, Query: blue)", "syntax", "the variable of a page"),
        ("R2 = Pick(Item_names: R1, Item_features: [R1], Query: x)", "wrong_kind", "expected 'features'"),
        ("R2 = Pick(Item_names: R3, Item_features: [], Query: x)", "unknown_variable", "R3 is not set"),
        ("R2 = Pick(R1)", "syntax", "Pick needs a query"),
        ("R2 = Buy(b50115)", "unknown_action", "there are Search, FeatureRetrieve, Pick, Click"),
        ("R2 = buy now", "unreadable", "neither an action nor a variable"),
    ],
)
def test_what_a_model_gets_wrong_is_in_the_execution(shopper, line, status, says):
    shopper("R1 = Search(rechargeable wireless headphones)")
    execution = shopper(line)
    assert execution.status == status
    assert says in execution.message
    assert len(execution.message) < 2_000
    assert shopper("R8 = Click(b50115)").ok


def test_fault_20_a_query_keeps_its_last_characters_and_a_tail_like_the_primer(shopper):
    """The original strips the characters of `R1 = ` at both ends, and cuts the query's last one."""
    dialogue = Agent(roles={}, domain="webshop", shots=2).dialogue(TASK)
    dialogue.to_planner()
    dialogue.add_plan("Subgoal 1: Search.", Subgoal(1, "Subgoal 1: Search."))
    assert dialogue.to_grounder().endswith("R1 = ")
    (action,) = dialogue.add_grounding("Search(headphones for model R = 1)")
    assert (action.variables, action.name, action.arguments) == (("R1",), "Search", "headphones for model R = 1")
    shopper("R1 = Search(rechargeable wireless headphones); R2 = Click(b59021)")
    asked: list[str] = []
    scores = shopper.session._ranker.scores

    async def noted(query, texts):
        asked.append(query)
        return await scores(query, texts)

    shopper.session._ranker.scores = noted
    shopper("R3 = FeatureRetrieve(R2, Query: blue, size R1 = 1)")
    assert asked == ["blue, size R1 = 1"]


def test_fault_33_each_action_is_carried_out_once():
    """The original replays every earlier action before each Click."""
    (task,) = goals("train", 1)
    actions = ShopActions()
    session = actions.begin(task.without_gold())
    moves: list[str] = []

    class Counting(type(session)):
        async def Search(self, text, place):
            moves.append("Search")
            return await super().Search(text, place)

        async def Click(self, text, place):
            moves.append("Click")
            return await super().Click(text, place)

    for name in ("Search", "Click"):
        getattr(Counting, name).signature = getattr(type(session), name).signature
    session.__class__ = Counting
    _, seen = asyncio.run(play(actions, task, gold_says(annotate(task)), session=session))
    assert len(moves) == sum(action.name in ("Search", "Click") for action, _ in seen) == 9


def interrupted(task: Task, after: int) -> MemoryJournal:
    """The journal of an episode whose worker died after so many actions, as a database gives it back."""
    replies = {role: iter(lines) for role, lines in gold_says(annotate(task)).items()}
    session, journal, acted = ShopActions().begin(task.without_gold()), MemoryJournal(), 0

    async def perform(command, place):
        nonlocal acted
        if isinstance(command, Ask):
            return Completion(next(replies[command.role]), "stop")
        if isinstance(command, Do):
            acted += 1
            if acted > after:
                raise InfrastructureError("the worker is gone")
            return await session.execute(command.action, place)
        return None

    with pytest.raises(InfrastructureError):
        asyncio.run(
            run_episode(FORMULATIONS.load("iterative"), task, Agent(roles={}, domain="webshop"), journal, perform)
        )
    return MemoryJournal(replace(step, result=stored(step.result)) for step in journal.steps)


def stored(result):
    if not isinstance(result, Execution):
        return result
    return replace(result, values=tuple(json.loads(json.dumps(list(result.values)))))


@pytest.mark.parametrize("after", range(1, 12))
def test_a_resumed_episode_walks_the_recorded_way_and_ends_the_same(after):
    (task,) = goals("train", 1)
    whole, whole_seen = asyncio.run(play(ShopActions(), task, gold_says(annotate(task))))
    journal = interrupted(task, after)
    done = sum(isinstance(step.command, Do) for step in journal.steps)
    asked = sum(isinstance(step.command, Ask) and step.command.role == "grounder" for step in journal.steps)
    planned = sum(isinstance(step.command, Ask) and step.command.role == "planner" for step in journal.steps)
    said = gold_says(annotate(task))
    rest = {"planner": said["planner"][planned:], "grounder": said["grounder"][asked:]}
    outcome, seen = asyncio.run(play(ShopActions(), task, rest, journal))
    assert done == after
    assert outcome == whole
    assert [replace(e, seconds=0) for _, e in seen] == [replace(e, seconds=0) for _, e in whole_seen[after:]]
    assert seen[-1][1].ends


def test_a_shop_that_changed_is_noticed_on_resume():
    (task,) = goals("train", 1)
    journal = interrupted(task, 3)
    changed = []
    for step in journal.steps:
        if isinstance(step.command, Do) and step.command.action.name == "Search":
            value = dict(step.result.values[0], text="b1 - Something else")
            step = Step(step.position, step.branch, step.command, replace(step.result, values=(value,)))
        changed.append(step)
    said = gold_says(annotate(task))
    with pytest.raises(Diverged, match="is the shop the same"):
        asyncio.run(
            play(
                ShopActions(),
                task,
                {"planner": said["planner"], "grounder": said["grounder"][2:]},
                MemoryJournal(changed),
            )
        )


def test_the_original_list_of_actions_can_be_rendered():
    from lumos_queue.actions.session import describe
    from lumos_queue.actions.shop.interface import ShopSession
    from lumos_queue.domains.registry import DOMAINS

    mine, published = describe(ShopSession), DOMAINS.load("webshop").ground_head
    for signature in ("Search(Query)", "Click(Item)", "Pick(Item_names, Item_features, Query)"):
        assert signature in mine and signature in published
