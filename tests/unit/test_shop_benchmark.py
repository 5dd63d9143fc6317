"""The WebShop benchmark: the generated shop and its goals, goals from files, gold and wrong agents."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lumos_queue.actions.shop import catalogue as generated
from lumos_queue.actions.shop.interface import ShopActions
from lumos_queue.actions.shop.lexicon import OPTIONS
from lumos_queue.actions.shop.products import Product, read_attributes, read_products
from lumos_queue.actions.shop.stock import open_stock
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.benchmarks.webshop.baselines import options_in_text
from lumos_queue.benchmarks.webshop.benchmark import benchmark
from lumos_queue.benchmarks.webshop.goals import split_of
from lumos_queue.benchmarks.webshop.tasks import annotate, goal_of, goals
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.conversations import gold_conversations
from lumos_queue.records import Action, Execution, Task
from tests.gold_shop import gold_says, judge, play, window_shopper_says


@pytest.fixture(scope="module")
def hundred() -> list[Task]:
    return list(goals("test", 100))


def test_gold_earns_everything_on_100_goals_and_who_never_buys_nothing(hundred):
    assert len(hundred) == 100
    actions = ShopActions()
    for task in hundred:
        said = annotate(task)
        outcome, seen = asyncio.run(play(actions, task, gold_says(said)))
        assert (outcome.answer, outcome.ending) == ("Done", "answered")
        assert judge(task, outcome, seen) == {"reward": 1.0, "success_rate": 1.0}
        outcome, seen = asyncio.run(play(actions, task, window_shopper_says(said)))
        assert outcome.ending == "limit"
        assert judge(task, outcome, seen) == {"reward": 0.0, "success_rate": 0.0}


def test_training_text_is_inference_text(hundred):
    """The results in a gold annotation are those that the shop gives to the same words."""
    task = hundred[0]
    _, seen = asyncio.run(play(ShopActions(), task, gold_says(annotate(task))))
    steps = annotate(task).steps
    assert [result for step in steps for result in step.results] == [execution.result for _, execution in seen]
    assert [action for step in steps for action in step.actions] == [action for action, _ in seen]


def test_conversations_are_short_enough_to_learn_from(hundred):
    agent = Agent(roles={}, domain="webshop")
    for task in hundred:
        for one in gold_conversations(task, benchmark.gold(task), FORMULATIONS.load("iterative"), agent):
            assert len(one.text()) < 2_200
    assert max(len(product.title) for product in open_stock({}).products.values()) <= 60


def test_the_same_goals_come_again_and_other_seeds_give_others():
    first = [task.question for task in goals("train", 20)]
    assert first == [task.question for task in goals("train", 20)]
    assert first == [task.question for task in goals("train", 5)] + first[5:]
    assert first != [task.question for task in goals("train", 20, seed=1)]
    assert [task.row for task in goals("dev", 2)] == ["dev-1", "dev-2"]


def test_splits_share_neither_products_nor_goals():
    wanted, asked = {}, {}
    for split in benchmark.splits:
        tasks = list(goals(split, 80))
        wanted[split] = {task.gold["goal"]["asin"] for task in tasks}
        asked[split] = {" ".join(sorted(task.gold["words"].split())) for task in tasks}
        assert all(split_of(open_stock({}).products[asin]) == split for asin in wanted[split])
    for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
        assert not wanted[one] & wanted[other]
        assert not asked[one] & asked[other]


def test_every_split_has_the_goals_it_promises():
    for split, size in (("dev", 200), ("test", 500)):
        assert sum(isinstance(task, Task) for task in benchmark.read(None, split)) == size


def test_the_catalogue_has_products_that_are_nearly_the_same():
    products = list(open_stock({}).products.values())
    assert len(products) == 2_880
    lines = Counter((product.query, product.title.split()[0]) for product in products)
    assert set(lines.values()) == {generated.SIBLINGS}
    titles = Counter(product.title for product in products)
    assert sum(count for count in titles.values() if count > 1) > 1_400  # the same but for options and price


def test_no_option_is_named_in_a_products_texts():
    """The reward counts a chosen option that stands in them: choosing would not matter."""
    values = {value for group in OPTIONS.values() for value in group}
    for product in open_stock({}).products.values():
        text = " ".join((product.title, product.description, *product.bullets)).lower()
        offered = {value for group in product.options.values() for value in group}
        assert not [value for value in values & offered if value in text], product


def test_choosing_matters_and_words_are_not_enough(hundred):
    first = Counter()
    for task in hundred:
        items = annotate(task).steps[0].results[0]
        first[items.startswith(task.gold["goal"]["asin"].lower())] += 1
    assert first[False] >= 30  # the first of the two items is not the one
    rewards = {rule: sum(earned) / 100 for rule, earned in benchmark.baselines(hundred).items()}
    assert rewards["never buys"] == 0
    assert 0.3 < rewards["buys the first result"] < 0.5
    assert rewards["buys the first result"] < rewards["buys the first result with its options"] < 0.7


def test_options_are_matched_by_whole_words():
    product = replace(next(generated.products()), options={"color": ("red", "blue"), "size": ("large", "x-large", "9")})
    assert options_in_text(product, "a bordered bag, size x-large, in blue below 9.99") == {
        "color": "blue",
        "size": "x-large",
    }


def test_the_generated_files_are_read_like_any_other(tmp_path):
    catalogue, attributes = tmp_path / "items.json", tmp_path / "ins.json"
    catalogue.write_text(json.dumps(generated.rows()), encoding="utf-8")
    attributes.write_text(json.dumps(generated.attributes()), encoding="utf-8")
    assert list(read_products(catalogue, read_attributes(attributes))) == list(open_stock({}).products.values())
    tools = ShopActions.prepare({"catalogue": str(catalogue), "attributes": str(attributes)})
    (task,) = goals("test", 1)
    outcome, seen = asyncio.run(play(ShopActions(tools), task, gold_says(annotate(task))))
    assert judge(task, outcome, seen, tools) == {"reward": 1.0, "success_rate": 1.0}


def bought(**changes) -> EpisodeResult:
    value = {"kind": "purchase", "text": "Done", "asin": "b50115", "options": {}, "price": 1.0, "ends": True} | changes
    return EpisodeResult("Done", "answered", [(Action(("R1",), "Click", "buy now"), Execution("ok", "Done", (value,)))])


def test_fault_19_every_task_counts_and_goals_are_the_named_ones(hundred):
    """The original averages over finished episodes, takes synthetic goals by accident, and draws limits unseeded."""
    for ending in ("limit", "action_error", "unreadable", "no_answer", "cancelled", "infra_error"):
        assert [score.value for score in benchmark.score(hundred[0], EpisodeResult(None, ending))] == [0.0, 0.0]
    random.seed(1)
    first = [task.gold for task in goals("dev", 5)]
    random.seed(2)
    assert first == [task.gold for task in goals("dev", 5)]


def test_a_product_that_is_not_in_the_catalogue_cannot_be_judged(hundred):
    with pytest.raises(SpecError, match="'b1' is not in the catalogue"):
        benchmark.score(hundred[0], bought(asin="b1"))


def test_the_price_is_the_catalogues(hundred):
    """What is said about the price in an episode does not count."""
    task = hundred[0]
    product = open_stock({}).products[task.gold["goal"]["asin"]]
    goal = {**task.gold["goal"], "price_upper": product.price - 0.01}
    score = benchmark.score(replace(task, gold={"goal": goal}), bought(asin=product.asin.lower(), price=0.0))[0]
    assert "price above the limit" in score.detail


# --- goals from files -------------------------------------------------------------------------------------------------


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_recorded_goals_are_read(shared_data, tmp_path):
    files = sorted((shared_data / "webshop" / "all_trajs").glob("*.jsonl"))
    recorded = [json.loads(file.read_text(encoding="utf-8").splitlines()[0])["goal"] for file in files]
    for content in (write(tmp_path, "goals.json", recorded), tmp_path / "goals.jsonl"):
        if content.suffix == ".jsonl":
            content.write_text("\n".join(map(json.dumps, recorded)), encoding="utf-8")
        tasks = list(benchmark.read(content, "test"))
        assert [task.question for task in tasks] == [" ".join(goal["instruction_text"].split()) for goal in recorded]
        for task, goal in zip(tasks, recorded, strict=True):
            assert goal_of(task).attributes == tuple(goal["attributes"])
            assert goal_of(task).options == tuple(goal["goal_options"])
            assert goal_of(task).price_upper == goal["price_upper"]
    with pytest.raises(SpecError, match="no gold words"):
        benchmark.gold(tasks[0])
    assert benchmark.baselines(tasks) == {"never buys": [0.0] * 6}


def test_a_list_of_instructions_alone_is_no_goal(shared_data):
    with pytest.raises(SpecError, match="expected a JSON object, found 'i need a long clip-in"):
        list(benchmark.read(shared_data / "webshop" / "human_goals.json", "test"))


def test_broken_goals_are_named(tmp_path):
    (task,) = goals("test", 1)
    good = task.gold["goal"]
    broken = [
        (good | {"attributes": []}, "attributes"),
        (good | {"price_upper": -1}, "price_upper"),
        (good | {"price_upper": "cheap"}, "price_upper"),
        (good | {"instruction_text": ""}, "instruction_text"),
        (good | {"goal_options": [True]}, "goal_options[0]"),
        ({"instruction_text": "x"}, "price_upper"),
    ]
    rows = list(benchmark.read(write(tmp_path, "goals.json", [good, *(row for row, _ in broken)]), "test"))
    assert isinstance(rows[0], Task)
    assert [(row.row, row.field) for row in rows[1:] if isinstance(row, BadRow)] == [
        (place, field) for place, (_, field) in enumerate(broken, start=2)
    ]
    pairs = good | {"goal_options": {"color": "red", "size": "9"}}
    (task,) = benchmark.read(write(tmp_path, "goals.json", [pairs]), "test")
    assert isinstance(task, Task)
    assert goal_of(task).options == ("red", "9")


def human(product: Product, number: int) -> dict[str, object]:
    return {
        "instruction": f"Buy {product.title} number {number}.",
        "instruction_attributes": list(product.attributes),
        "instruction_options": [values[0] for values in product.options.values()],
    }


def test_goals_are_made_from_instructions_by_people_and_split_as_the_original_does(tmp_path):
    rows = generated.rows()[:900]
    catalogue = write(tmp_path, "items.json", rows)
    products = [row for row in read_products(catalogue) if isinstance(row, Product)]
    entries: dict[str, object] = {one.asin: [human(one, 1), human(one, 2)] for one in products}
    entries["B_OTHER"] = [human(products[0], 3)]
    attributed = read_attributes(write(tmp_path, "ins.json", generated.attributes()))
    entries = {
        asin: [one | {"instruction_attributes": list(attributed.get(asin, ()))} for one in found]  # type: ignore[union-attr]
        for asin, found in entries.items()
    }
    data = write(tmp_path, "human.json", entries)
    options = {"goals": "human", "catalogue": str(catalogue)}
    found = {split: list(benchmark.read(data, split, **options)) for split in benchmark.splits}
    assert {split: len(tasks) for split, tasks in found.items()} == {"test": 500, "dev": 1_000, "train": 300}
    order = [f"{one.title} number {number}" for one in products for number in (1, 2)]
    random.Random(233).shuffle(order)
    task = found["test"][0]
    assert isinstance(task, Task)
    assert task.question.startswith(f"Buy {order[0]}, and price lower than ")
    assert task.gold["goal"]["price_upper"] > 0
    again = list(benchmark.read(data, "test", **options))
    assert again == found["test"]


def test_synthetic_goals_are_made_only_when_asked_for(tmp_path):
    row = next(row for row in generated.rows() if len(row["customization_options"]) == 2)
    catalogue = write(tmp_path, "items.json", [row])
    entry = {"attributes": ["soft"], "instruction": "Find me a thing", "instruction_attributes": ["soft"]}
    data = write(tmp_path, "ins.json", {row["asin"]: entry, "B9": 3})
    tasks = list(benchmark.read(data, "test", goals="synthetic", catalogue=str(catalogue)))
    sizes = [len(values) for values in row["customization_options"].values()]
    assert len(tasks) == sizes[0] * sizes[1]
    assert all(task.question.startswith("Find me a thing with ") for task in tasks if isinstance(task, Task))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"goals": "human"}, "needs --option catalogue=FILE"),
        ({"goals": "robot", "catalogue": "x"}, "No form of goals called 'robot'. Choose one of: human, synthetic"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, says):
    with pytest.raises(SpecError, match=says):
        benchmark.read(write(tmp_path, "x.json", {}), "test", **options)
    with pytest.raises(SpecError, match="is for goals from a file"):
        benchmark.read(None, "test", **options)
    with pytest.raises(SpecError, match="No split of webshop called 'best'"):
        benchmark.read(None, "best")


def test_the_benchmark_is_registered():
    assert open_benchmark("webshop") is benchmark
