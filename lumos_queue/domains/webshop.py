"""A text shop. Models were not trained on it: prompts contain two solved purchases (spec/lumos.md 1.9).

The results in them are those of the generated shop. Their requests are in no split.
"""

from __future__ import annotations

from lumos_queue.domains.base import Demonstration, Domain


def _purchase(
    task: str,
    search: str,
    words: str,
    items: tuple[str, str],
    features: tuple[str, str],
    choice: int,
    options: list[str],
) -> Demonstration:
    """Return the demonstration of a purchase: search, look at two items, pick one of them, choose its options and buy.

    `items`: texts `asin - title`; `choice`: the index of the picked item, 0 or 1.
    """
    first, second = (item.partition(" - ")[0] for item in items)
    clicks = ["< prev", "R7", *options, "buy now"]
    steps = (
        ("Subgoal 1: Search for two items that fit the request.", f"R1 = Search({search})", " ** ".join(items)),
        (
            f"Subgoal 2: Look at the features of item {first} that fit best.",
            f"R2 = Click({first}); R3 = FeatureRetrieve(R2, Query: {words})",
            features[0],
        ),
        (
            f"Subgoal 3: Look at the features of item {second} that fit best.",
            f"R4 = Click(< prev); R5 = Click({second}); R6 = FeatureRetrieve(R5, Query: {words})",
            features[1],
        ),
        (
            "Subgoal 4: Pick the item that fits best by its name and features.",
            f"R7 = Pick(Item_names: R1, Item_features: [R3, R6], Query: {words})",
            (first, second)[choice],
        ),
        (
            "Subgoal 5: Choose the options of this item and buy it.",
            "; ".join(f"R{number} = Click({click})" for number, click in enumerate(clicks, start=8)),
            "Done",
        ),
    )
    return Demonstration(task, steps)


_DEMONSTRATIONS = (
    _purchase(
        "Please order rechargeable wireless headphones for my desk with color: blue, and size: medium, "
        "and price lower than 130.00 dollars",
        "rechargeable wireless headphones",
        "rechargeable wireless headphones blue medium",
        ("b50115 - Quendal Rechargeable Wireless Headphones", "b59021 - Ostrava Rechargeable Wireless Headphones"),
        ("blue, green, pink", "blue, medium, white"),
        1,
        ["blue", "medium"],
    ),
    _purchase(
        "Our new flat needs a foldable coffee table of solid wood with size: large, and color: black, "
        "and price lower than 240.00 dollars",
        "foldable solid wood coffee table",
        "foldable solid wood coffee table large black",
        ("b97640 - Tindrel Solid Wood Foldable Coffee Table", "b48971 - Brackit Solid Wood Foldable Coffee Table"),
        ("black, large, white", "blue, yellow, grey"),
        0,
        ["large", "black"],
    ),
)

DOMAIN = Domain(
    name="webshop",
    interface="lumos_queue.actions.shop.interface:ShopActions",
    session="lumos_queue.actions.shop.interface:ShopSession",
    action_names=("Search", "FeatureRetrieve", "Pick", "Click"),
    # spec/lumos.md 1.9, verbatim
    published_actions=(
        "The available action list is 'Search', 'FeatureRetrieve', 'Pick' and 'Click'.\n"
        "Search(Query): Search related items according to the Query; "
        "FeatureRetrieve(Feature_list, Query): Select the most relevant features from Feature_list according to Query; "
        "Pick(Item_names, Item_features, Query): Pick the most relevant item from Item_names according to Query, "
        "Item_names and Item_features; Click(Item): Click the Item to check more information.\n\n"
    ),
    demonstrations=_DEMONSTRATIONS,
    default_shots=len(_DEMONSTRATIONS),
    reply_prefix="R1 = ",
    max_subgoals=6,
    ends_by_action=True,  # buying
)
