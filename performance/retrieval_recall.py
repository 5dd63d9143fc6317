"""How often the paragraphs that are needed are among the five that retrieval gives: a measurement, not a goal.

    python -m performance.retrieval_recall --data ../shared/data

- hop: MuSiQue's single questions, `#n` replaced by the gold answer of hop n; is the hop's paragraph among the five?
- all: whole questions; are all of their supporting paragraphs (or pages) among the five?

`own` ranks the 10 to 20 paragraphs of a question as ParagraphRetrieve does; `mixed` searches those of all questions of
both sets as KnowledgeQuery does; `both` asks KnowledgeQuery for pages among the mixed ones and then ParagraphRetrieve.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lumos_queue.actions.qa.index import Index
from lumos_queue.actions.qa.pages import TextPage, tidy
from lumos_queue.actions.qa.retrieve import EVIDENCES, evidence
from lumos_queue.actions.ranking import lexical
from lumos_queue.rationales.questions.hops import REFERENCE
from lumos_queue.rationales.questions.relations import relation_question

Passage = tuple[str, str]  #: title and text


@dataclass(frozen=True, slots=True)
class Question:
    """A text to retrieve for, what there is to choose from, and which of it is needed."""

    set: str
    unit: str  #: 'hop' or 'all'
    query: str
    own_passages: Sequence[Passage]
    needed: frozenset[Passage]


def musique(path: Path) -> list[Question]:
    """The hops and the questions of a MuSiQue file."""
    cases = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        own_passages = {
            paragraph["idx"]: _passage(paragraph["title"], paragraph["paragraph_text"])
            for paragraph in row["paragraphs"]
        }
        choice, hops = [*own_passages.values()], row["question_decomposition"]
        support = [own_passages[hop["paragraph_support_idx"]] for hop in hops]
        for hop, passage in zip(hops, support, strict=True):
            query = _fill(relation_question(hop["question"]), hops)
            cases.append(Question("musique", "hop", query, choice, frozenset({passage})))
        cases.append(Question("musique", "all", row["question"], choice, frozenset(support)))
    return cases


def _fill(question: str, hops: Sequence[Mapping[str, Any]]) -> str:
    return REFERENCE.sub(lambda number: hops[int(number[1]) - 1]["answer"], question)


def hotpotqa(paths: Iterable[Path]) -> list[Question]:
    """The questions of HotpotQA files, native or in columns. A page is one paragraph there."""
    cases = []
    for path in paths:
        for row in json.loads(path.read_text(encoding="utf-8")):
            pages, facts = row["context"], row["supporting_facts"]
            columns = isinstance(pages, dict)
            pairs = zip(pages["title"], pages["sentences"], strict=True) if columns else pages
            titles = set(facts["title"]) if columns else {title for title, _ in facts}
            own_passages = [_passage(title, "".join(sentences)) for title, sentences in pairs]
            needed_passages = frozenset(passage for passage in own_passages if passage[0] in titles)
            cases.append(Question("hotpotqa", "all", row["question"], own_passages, needed_passages))
    return cases


def read(data: Path) -> list[Question]:
    """Everything that can be asked of the samples."""
    folder = data / "hotpotqa"
    names = ("hotpot_dev_distractor_sample.json", "hotpot_dev_distractor_hf_columns.json")
    return musique(data / "musique" / "musique_ans_dev_sample.jsonl") + hotpotqa(folder / name for name in names)


async def recall(cases: Sequence[Question]) -> list[dict[str, Any]]:
    """One row for each set and unit: how many there are, and the share found, own, mixed and both."""
    paragraphs = dict.fromkeys(passage for case in cases for passage in case.own_passages)
    index = Index.build(TextPage(title, [text]) for title, text in paragraphs)
    rows_by_unit: dict[tuple[str, str], list[dict[str, bool]]] = {}
    for case in cases:
        pages = index.pages(case.query)
        hits = {
            "own": await _retrieve([TextPage(title, [text]) for title, text in case.own_passages], case.query),
            "mixed": index.paragraphs(case.query, EVIDENCES),
            "both": await _retrieve(pages, case.query),
        }
        row = {name: case.needed <= set(passages) for name, passages in hits.items()}
        rows_by_unit.setdefault((case.set, case.unit), []).append(row)
    return [_row(*key, rows) for key, rows in rows_by_unit.items()]


def _row(name: str, unit: str, rows: Sequence[Mapping[str, bool]]) -> dict[str, Any]:
    shares = {way: sum(row[way] for row in rows) / len(rows) for way in ("own", "mixed", "both")}
    return {"set": name, "unit": unit, "n": len(rows), **shares}


async def _retrieve(pages: Sequence[TextPage], query: str) -> list[Passage]:
    value = await evidence(pages, query, lexical.Lexical())
    return [(paragraph["title"], paragraph["text"]) for paragraph in value["evidence"]]


def _passage(title: str, text: str) -> Passage:
    return tidy(title), tidy(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall at five of KnowledgeQuery and ParagraphRetrieve.")
    parser.add_argument("--data", type=Path, required=True, help="folder with musique/ and hotpotqa/")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--title-weight", type=int, default=lexical.TITLE_WEIGHT, help="how often titles count")
    options = parser.parse_args()
    lexical.TITLE_WEIGHT = options.title_weight
    rows = asyncio.run(recall(read(options.data)))
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'set':10}{'unit':6}{'n':>5}{'own':>8}{'mixed':>8}{'both':>8}")
    for row in rows:
        shares = "".join(f"{100 * row[way]:7.1f}%" for way in ("own", "mixed", "both"))
        print(f"{row['set']:10}{row['unit']:6}{row['n']:5}{shares}")


if __name__ == "__main__":
    main()
