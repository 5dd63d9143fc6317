"""WebShop's reward: recorded rewards, and cases worked out by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lumos_queue.actions.shop.products import Product
from lumos_queue.actions.shop.reward import Goal, colour, options_found, r_type, reward, title_score, total
from lumos_queue.actions.shop.words import nouns

#: A title of four nouns.
BOOTS = "Alpine Leather Hiking Boots"
GOAL = Goal(
    "B1", "fashion", "hiking boots", BOOTS, "Clothing › Shoes › Boots", ("waterproof", "non slip"), ("brown", "9"), 80.0
)
RIGHT = Product(
    "B1",
    BOOTS,
    "fashion",
    "hiking boots",
    "Clothing › Shoes › Boots",
    ("rubber sole",),
    "made to last",
    (79.99,),
    {"color": ("brown", "dark brown", "red"), "size": ("9", "10")},
    ("waterproof", "non slip"),
)
WELL = {"color": "brown", "size": "9"}
#: Titles of 5, 8, 10 and 12 nouns, and one that shares `trail` alone with them.
FIVE = "Alpine Leather Hiking Boots Trail"
EIGHT = f"{FIVE} Rubber Sole Winter"
TEN = f"{EIGHT} Mountain Snow"
TWELVE = f"{TEN} Camping Forest"
SNACK = replace(RIGHT, title="Trail Mix Granola", query="snacks", product_category="Grocery › Snacks")


@pytest.mark.parametrize(
    ("goal", "bought", "price", "chosen", "kind", "expected"),
    [
        # r_type 1; two attributes, two options, price: five parts
        (GOAL, RIGHT, 79.99, WELL, 1, 1.0),
        (GOAL, RIGHT, 80.0, WELL, 1, 1.0),  # the limit itself is within
        (GOAL, RIGHT, 80.01, WELL, 1, 4 / 5),
        (GOAL, RIGHT, 79.99, {}, 1, 3 / 5),
        (GOAL, RIGHT, 79.99, {"color": "brown", "size": "10"}, 1, 4 / 5),  # 10 does not fit 9
        (GOAL, RIGHT, 79.99, {"color": "dark brown", "size": "9"}, 1, 1.0),  # counts as brown
        (GOAL, RIGHT, 79.99, {"color": "red", "size": "9"}, 1, 4 / 5),
        (GOAL, replace(RIGHT, attributes=("waterproof",)), 79.99, WELL, 1, 4 / 5),
        (GOAL, replace(RIGHT, attributes=("Non-Slip", "waterproof")), 79.99, WELL, 1, 1.0),  # fuzzy
        (GOAL, replace(RIGHT, attributes=(), bullets=("Waterproof and non slip",)), 79.99, WELL, 1, 1.0),
        (GOAL, replace(RIGHT, attributes=(), description="a non slip sole"), 79.99, WELL, 1, 4 / 5),
        # a choice that the title or the texts name, but the goal does not, is no option found
        (GOAL, replace(RIGHT, title=f"Red {BOOTS}"), 79.99, {"color": "red", "size": "9"}, 1, 4 / 5),
        (GOAL, replace(RIGHT, bullets=("red",), description="red"), 79.99, {"color": "red"}, 1, 3 / 5),
        (GOAL, RIGHT, 79.99, {"style": "brown", "width": "9"}, 1, 1.0),  # the groups do not count
        # token set ratios: 'pack' and 'pack 6' 8/10; 'pack 2' and 'pack 12' 12/13, a match as in the original
        (replace(GOAL, options=("2 pack",)), RIGHT, 79.99, {"style": "6 pack"}, 1, 3 / 4),
        (replace(GOAL, options=("2 pack",)), RIGHT, 79.99, {"style": "12 pack"}, 1, 1.0),
        (replace(GOAL, options=("2 pack",)), RIGHT, 79.99, {"size": "12 pack"}, 1, 1.0),  # sizes too
        # options of the goal are counted, each once, not the choices
        (replace(GOAL, options=("pack of 2", "red", "red stripes")), RIGHT, 79.99, {"color": "red"}, 1, 5 / 6),
        (replace(GOAL, options=("red",)), RIGHT, 79.99, {"color": "red", "trim": "dark red", "sole": "red"}, 1, 1.0),
        (replace(GOAL, options=()), RIGHT, 79.99, {}, 1, 1.0),  # (2 + 1) / 3
        (replace(GOAL, options=()), RIGHT, 79.99, WELL, 1, 1.0),  # what nobody wanted adds nothing
        (replace(GOAL, options=()), replace(RIGHT, title=f"Brown {BOOTS}", attributes=()), 79.99, WELL, 1, 1 / 3),
        (replace(GOAL, options=()), RIGHT, 99.0, {}, 1, 2 / 3),
        # r_type 1 by the query, or by two shared categories, at a title score of 1/8
        (replace(GOAL, name=EIGHT), replace(SNACK, query="hiking boots"), 79.99, WELL, 1, 1.0),
        (replace(GOAL, name=EIGHT), replace(SNACK, product_category="Boots › Shoes › Men"), 79.99, WELL, 1, 1.0),
        # r_type 0.5: neither, and a title score of at most 0.2
        (replace(GOAL, name=EIGHT), SNACK, 79.99, WELL, 0.5, 0.5),
        (replace(GOAL, name=EIGHT), replace(SNACK, attributes=()), 79.99, {}, 0.5, 0.5 * 1 / 5),
        (replace(GOAL, name=EIGHT), replace(SNACK, product_category="Shoes › Shoes"), 79.99, WELL, 0.5, 0.5),
        (replace(GOAL, name=FIVE), SNACK, 79.99, WELL, 0.5, 0.5),  # 1/5 is not above 0.2
        (replace(GOAL, name=TEN), SNACK, 79.99, WELL, 0.5, 0.5),  # 1/10 is not below 0.1
        (replace(GOAL, name="3/4 of the 100%"), SNACK, 79.99, WELL, 0.5, 0.5),  # no nouns: 0.2
        # r_type 0.1: a title score below 0.1, whatever else agrees
        (replace(GOAL, name=TWELVE), SNACK, 79.99, WELL, 0.1, 0.1),
        (replace(GOAL, name=TWELVE), replace(SNACK, query="hiking boots", attributes=()), 99.0, WELL, 0.1, 0.1 * 2 / 5),
        # r_type 0: no noun in common
        (GOAL, SNACK, 79.99, WELL, 0, 0.0),
        (GOAL, replace(RIGHT, title="Cheese Knife"), 79.99, WELL, 0, 0.0),
    ],
)
def test_the_reward_is_the_one_worked_out_by_hand(goal, bought, price, chosen, kind, expected):
    found = reward(goal, bought, price, chosen)
    assert found.r_type == kind
    assert found.value == pytest.approx(expected)


def recorded(shared_data: Path) -> list[dict]:
    """The last page of each recorded visit: the purchase."""
    files = sorted((shared_data / "webshop" / "all_trajs").glob("*.jsonl"))
    ends = [json.loads(file.read_text(encoding="utf-8").splitlines()[-1]) for file in files]
    assert [end["page"] for end in ends] == ["done"] * 6
    return ends


def test_recorded_rewards_follow_from_their_parts(shared_data):
    for end in recorded(shared_data):
        goal, info = end["goal"], end["reward_info"]
        attributes = round(info["r_att"] * len(goal["attributes"]))
        options = round(info.get("r_option", 0) * len(goal["goal_options"]))
        kind = r_type(info["title_score"], info["query_match"], info["category_match"])
        assert kind == info["r_type"]
        fits = end["content"]["price"] <= goal["price_upper"]
        assert fits == info["r_price"]
        found = total(kind, attributes, options, fits, len(goal["attributes"]), len(goal["goal_options"]))
        assert found == pytest.approx(end["reward"])


def test_recorded_title_scores_are_fractions_of_the_nouns_found(shared_data):
    """The bought products' titles were not recorded; the goals' were: the score is shared nouns over their nouns."""
    counts = []
    for end in recorded(shared_data):
        found = len(nouns(end["goal"]["name"]))
        shared = end["reward_info"]["title_score"] * found
        assert shared == pytest.approx(round(shared)), end["goal"]["name"]
        counts.append(found)
    assert counts == [24, 17, 11, 17, 7, 23]


def test_recorded_options_count_as_they_did(shared_data):
    """Of six visits four had options to find, and three found all of them, by the colour in the choice (`z2-pink` for
    `pink`), by the same size, or beside a size that nobody wanted. None chose in vain what the goal did not name, so
    other rules for that would give these six too."""
    wanted, found, chosen = [], [], []
    for end in recorded(shared_data):
        goal = Goal("", "", "", "", "", (), tuple(end["goal"]["goal_options"]), 0.0)
        wanted.append(len(goal.options))
        found.append(options_found(goal, end["content"]["options"]))
        chosen.append(len(end["content"]["options"]))
        assert found[-1] == round(end["reward_info"].get("r_option", 0) * wanted[-1])
    assert (wanted, found, chosen) == ([1, 0, 2, 1, 0, 1], [0, 0, 2, 1, 0, 1], [0, 0, 2, 2, 0, 1])


WORDS = st.lists(st.sampled_from(("red", "navy blue", "9", "10", "pack of", "sole", "boots", "trail")), max_size=4).map(
    " ".join
)
MANY = st.lists(WORDS, max_size=4).map(tuple)
CHOICES = st.dictionaries(st.sampled_from(("color", "size", "style", "pack")), WORDS)


@settings(max_examples=100, deadline=None)
@given(MANY, MANY, MANY, WORDS, WORDS, WORDS, st.floats(0, 200), CHOICES)
@example(
    (), ("cotton",), ("cotton",), "Blue Cotton Shirt", "Blue Cotton Shirt", "A blue shirt", 20.0, {"color": "blue"}
)
def test_the_reward_is_never_above_1_nor_below_0(options, attributes, has, name, title, says, price, chosen):
    goal = replace(GOAL, name=name, options=options, attributes=attributes)
    bought = replace(RIGHT, title=title, attributes=has, bullets=(says,), description=says)
    found = reward(goal, bought, price, chosen)
    assert 0 <= found.value <= 1
    assert 0 <= found.options <= len(options) and 0 <= found.attributes <= len(attributes)


def test_colours_are_found_inside_words():
    assert [colour(text) for text in ("z2-pink", "navy blue", "12 pack", "darkgreen")] == [
        "pink",
        "blue",
        "12 pack",
        "green",
    ]


def test_nouns_of_a_title():
    assert nouns("Slip on Shoes for Men, 3 Pack") == ["shoes", "men", "pack"]
    assert nouns("Folding Chair 250ml 4K") == ["chair", "250ml"]
    assert nouns("") == []
    assert title_score("", "anything") == 0.2
