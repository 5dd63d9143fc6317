"""Read the steps of a Mind2Web row: the part of each page that an agent may see, and the gold. Rows are hostile."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lumos_queue.actions.web.candidates import describe, document_order
from lumos_queue.actions.web.page import NODE, SHOWN, HtmlPage
from lumos_queue.readers.fields import RowNode
from lumos_queue.util.sanitize import storable
from lumos_queue.util.untrusted_json import read_json

MAX_CANDIDATES = 20_000  #: of one page
MAX_STEPS = 1_000
#: Operation to the data set's own `operation`, which is CLICK for HOVER and ENTER.
OPERATIONS = {"CLICK": "CLICK", "TYPE": "TYPE", "SELECT": "SELECT", "HOVER": "CLICK", "ENTER": "CLICK"}
_NUMBER = re.compile(r"[0-9]{1,18}")
_TAG = re.compile(r"[A-Za-z][\w:.-]{0,99}")


@dataclass(frozen=True, slots=True)
class CandidateElement:
    """A candidate of an action, as the row describes it."""

    node: str
    tag: str
    attributes: Mapping[str, str]  #: only the attributes in page.SHOWN: others may mark the right element
    rank: int | None  #: by MindAct's model, from 0; None if the row has no rank


@dataclass(slots=True)
class CandidateCounts:
    """The number of candidates that were read, and the number of these that are in the readable part of their page."""

    candidates: int = 0
    on_page: int = 0


def read_steps(
    record: RowNode, counts: CandidateCounts
) -> tuple[list[int], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return three lists over the steps: indices in the trajectory, pages, and gold. Raises BadRow.

    The candidates are added to `counts`.
    """
    actions = record["actions"]
    steps = actions.items()
    if not 0 < len(steps) <= MAX_STEPS:
        raise actions.bad(f"expected 1 to {MAX_STEPS} steps")
    numbers, pages, gold = [], [], []
    for index, step in enumerate(steps):
        number = step["_step_index"].whole() if "_step_index" in step else index
        if number <= (numbers[-1] if numbers else -1):
            raise actions.bad("the steps are not in order")
        positives, negatives = _candidates(step, "pos_candidates"), _candidates(step, "neg_candidates")
        if len(positives) + len(negatives) > MAX_CANDIDATES:
            raise step["neg_candidates"].bad(f"more than {MAX_CANDIDATES} candidates")
        numbers.append(number)
        page = _page(step["cleaned_html"])
        pages.append({"step": number, "candidates": _describe_candidates(page, [*positives, *negatives])})
        nodes = [candidate["node"] for candidate in pages[-1]["candidates"]]
        counts.candidates += len(nodes)
        counts.on_page += sum(page.element(node) is not None for node in nodes)
        gold.append(_operation(step["operation"]) | _right(positives, negatives))
    return numbers, pages, gold


def _candidates(step: RowNode, name: str) -> list[CandidateElement]:
    return [_candidate(item) for item in step[name].items()]


def _candidate(node: RowNode) -> CandidateElement:
    attributes = node["attributes"].value if "attributes" in node else {}
    if isinstance(attributes, str):
        try:
            attributes = read_json(attributes)
        except ValueError:
            raise node["attributes"].bad("not JSON") from None
    if not isinstance(attributes, Mapping):
        raise node["attributes"].bad("expected an object, or a text that holds one")
    number = node[NODE].value if NODE in node else attributes.get(NODE)
    if not isinstance(number, (str, int)) or not _NUMBER.fullmatch(str(number)):
        raise node.bad(f"expected a node number in '{NODE}'")
    tag, rank = node["tag"].text(), node["rank"].whole() if "rank" in node else None
    if not _TAG.fullmatch(tag):
        raise node["tag"].bad("expected the name of a tag")
    visible_attributes = {
        name: storable(attributes[name])[0] for name in SHOWN if isinstance(attributes.get(name), str)
    }
    return CandidateElement(str(int(number)), tag, visible_attributes, rank)


def _page(html: RowNode) -> HtmlPage:
    if not isinstance(html.value, str):
        raise html.bad("expected text")
    try:
        return HtmlPage(html.value)
    except ValueError as error:
        raise html.bad(str(error)) from None


def _describe_candidates(page: HtmlPage, candidates: list[CandidateElement]) -> list[dict[str, Any]]:
    """Return the candidates for an agent, in document order. Their form does not reveal which of them are right."""
    by_node = {
        candidate.node: candidate
        for candidate in sorted(candidates, key=lambda candidate: (candidate.tag, sorted(candidate.attributes.items())))
    }
    ordered_candidates = (by_node[node] for node in document_order(page, by_node))
    return [
        {
            "node": candidate.node,
            "tag": candidate.tag,
            "text": describe(page, candidate.node, candidate.tag, candidate.attributes),
        }
        for candidate in ordered_candidates
    ]


def _operation(operation: RowNode) -> dict[str, str]:
    op = operation["op"].text()
    if op not in OPERATIONS:
        raise operation["op"].bad(f"expected one of {', '.join(OPERATIONS)}")
    has_value = "value" in operation or OPERATIONS[op] != "CLICK"
    value = operation["value"].value if has_value else ""
    if not isinstance(value, str):
        raise operation["value"].bad("expected text")
    return {"op": OPERATIONS[op], "value": storable(value)[0]}


def _right(positives: list[CandidateElement], negatives: list[CandidateElement]) -> dict[str, Any]:
    """Return the right elements in the order of the row. Without right elements, every action is wrong.

    `ranks` is included if the right elements have ranks, or, without right elements, if the other candidates have them.
    """
    nodes = list(dict.fromkeys(candidate.node for candidate in positives))
    has_ranks = all(candidate.rank is not None for candidate in positives or negatives)
    return {"positives": nodes} | (
        {"ranks": {candidate.node: candidate.rank for candidate in positives}} if has_ranks else {}
    )
