"""Read goals from files in WebShop's forms.

- A list of goals, as JSON or JSON lines: `{"asin", "category", "query", "name", "product_category",
  "instruction_text", "attributes", "price_upper", "goal_options"[, "weight"]}`. All rows are read, in order.
- `--option goals=human`: items_human_ins.json, asin to `[{"instruction", "instruction_attributes",
  "instruction_options"}]`. `--option goals=synthetic`: items_ins*.json, asin to `{"instruction",
  "instruction_attributes"}`, one goal for each combination of options. Both forms need `--option catalogue=FILE`. The
  goals are put into the order of its products, then shuffled with WebShop's seed and split as in WebShop:
  test is the first 500, dev the next 1,000, train the rest.

In WebShop, a price limit depends on earlier random numbers; in this module, only on the goal (spec/lumos.md 8.1, 19).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.actions.shop.products import Product, json_object, read_products
from lumos_queue.benchmarks.webshop.goals import price_limit
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.readers.fields import RowNode
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Task

GOALS = "goals in WebShop's form: objects with 'instruction_text', 'attributes', 'goal_options' and 'price_upper'"
FIELDS = ("instruction_text", "attributes", "price_upper")
INSTRUCTIONS = {
    "human": "WebShop's instructions by people (items_human_ins.json): an object, asin to a list of instructions",
    "synthetic": "WebShop's generated instructions (items_ins*.json): an object, asin to its instruction",
}
OPTIONS = {
    "goals": "the form of the data: 'human' (items_human_ins.json) or 'synthetic' (items_ins*.json); else a goal list",
    "catalogue": "the product file that human or synthetic goals are made from (items_shuffle*.json)",
}
SEED = 233  #: the original's, of the shuffle
SPLIT_AT = {"test": (0, 500), "dev": (500, 1_500), "train": (1_500, None)}
NO_LIMIT = 1e6  #: dollars: the original's limit for a goal without a limit

Row = tuple[int, Mapping[str, Any]]


def read_goals(path: Path, split: str, options: Mapping[str, str]) -> Iterator[Task | BadRow]:
    """Yield the goals of a file as tasks. Raises SpecError if the file as a whole cannot be read."""
    form = options.get("goals")
    if form is None:
        return tasks(read_records(path, GOALS, FIELDS), lambda row, record: _task(RowNode(row, "", record), str(row)))
    if form not in INSTRUCTIONS:
        raise unknown("form of goals", form, INSTRUCTIONS)
    if "catalogue" not in options:
        raise SpecError(f"--option goals={form} needs --option catalogue=FILE: the products that the goals are about.")
    if split not in SPLIT_AT:
        raise unknown("split of webshop", split, SPLIT_AT)
    entries = json_object(path, INSTRUCTIONS[form])
    records = list((_human if form == "human" else _synthetic)(entries, _valid_products(Path(options["catalogue"]))))
    random.Random(SEED).shuffle(records)
    numbered_records = list(enumerate(records))[slice(*SPLIT_AT[split])]
    return _read(numbered_records)


def _read(numbered_records: Sequence[tuple[int, Mapping[str, Any]]]) -> Iterator[Task | BadRow]:
    for number, record in numbered_records:
        try:
            yield _task(RowNode(number + 1, "", record), f"goal-{number}")
        except BadRow as bad:
            yield bad


def _valid_products(catalogue: Path) -> Iterator[Product]:
    return (row for row in read_products(catalogue) if isinstance(row, Product))


def _human(entries: Mapping[str, Any], products: Iterator[Product]) -> Iterator[dict[str, Any]]:
    """Yield a goal for each instruction by people. Instructions without attributes are excluded, as in WebShop."""
    for product in products:
        instructions = entries.get(product.asin)
        for entry in instructions if isinstance(instructions, list) else ():
            if isinstance(entry, Mapping) and entry.get("instruction_attributes"):
                yield _goal(product, entry, entry.get("instruction_options", []), "")


def _synthetic(entries: Mapping[str, Any], products: Iterator[Product]) -> Iterator[dict[str, Any]]:
    for product in products:
        entry = entries.get(product.asin)
        if not isinstance(entry, Mapping) or not entry.get("instruction") or not entry.get("instruction_attributes"):
            continue
        groups = sorted(product.options)
        for values in itertools.product(*(product.options[group] for group in groups)):
            options = dict(zip(groups, values, strict=True))
            options_text = ", and ".join(f"{group}: {value}" for group, value in options.items())
            yield _goal(product, entry, options, f" with {options_text}" if options_text else "")


def _goal(product: Product, entry: Mapping[str, Any], options: Any, options_text: str) -> dict[str, Any]:
    """Return the goal of an entry about a product. If the entry is damaged, `_task` raises BadRow for the goal."""
    instruction = entry.get("instruction")
    stem = instruction.strip(".") if isinstance(instruction, str) else ""
    limit = price_limit(product.price, random.Random(f"limit {product.asin} {stem}{options_text}"))
    text = f", and price lower than {limit:.2f} dollars" if limit else ""
    return {
        "asin": product.asin,
        "category": product.category,
        "query": product.query,
        "name": product.title,
        "product_category": product.product_category,
        "instruction_text": f"{stem}{options_text}{text}" if stem else "",
        "attributes": entry.get("instruction_attributes"),
        "price_upper": float(limit or NO_LIMIT),
        "goal_options": options,
        "weight": 1,
    }


def _task(row: RowNode, name: str) -> Task:
    """Return a goal as a task. Raises BadRow for an invalid field."""
    options = row["goal_options"] if "goal_options" in row else RowNode(row.row, "goal_options", [])
    values = (
        options.labels() if options.is_list() else [options[key].label() for key in options.fields() if key in options]
    )
    limit = _read_dollars(row["price_upper"])
    attributes = row["attributes"].texts()
    if not attributes:
        raise row["attributes"].bad("expected at least one")
    texts = {name: row[name].text() for name in ("asin", "name", "instruction_text")}
    optional_texts = {
        name: row[name].text() if name in row else "" for name in ("category", "query", "product_category")
    }
    optional_texts["query"] = optional_texts["query"].lower()
    lists = {"attributes": attributes, "goal_options": values}
    goal = {**texts, **optional_texts, **lists, "price_upper": limit, "weight": 1}
    return Task("webshop", "", name, row["instruction_text"].raw_text(), {}, {"goal": goal})


def _read_dollars(node: RowNode) -> float:
    """Return a price in dollars, from a number or a text. Raises BadRow."""
    try:
        dollars = float(node.value) if isinstance(node.value, (int, float, str)) else 0.0
    except (ValueError, OverflowError):
        dollars = 0.0
    if isinstance(node.value, bool) or not dollars > 0:
        raise node.bad("expected dollars above 0")
    return dollars
