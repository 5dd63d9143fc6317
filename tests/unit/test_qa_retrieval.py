"""Retrieval on the real samples, through the code that KnowledgeQuery and ParagraphRetrieve use."""

from __future__ import annotations

import asyncio

import pytest

from lumos_queue.actions.qa.index import PAGES, Index
from lumos_queue.actions.qa.pages import MAX_PAGE, TextPage
from lumos_queue.actions.qa.retrieve import evidence
from lumos_queue.actions.ranking.base import join_title, split_title, top_positions
from lumos_queue.actions.ranking.lexical import Lexical
from lumos_queue.errors import ActionError
from performance.retrieval_recall import read, recall

PEOPLE = [
    TextPage("Ann Alder", ["Ann Alder painted bridges.", "She was born in Oslo in 1900."]),
    TextPage("Washington, D.C.", ["The capital of the United States lies on the Potomac."]),
    TextPage("Émile Zola", ["A French writer of novels."]),
    TextPage("Bridge", ["A bridge crosses a river.", "Painters of bridges are many."]),
]


def test_recall_at_five_of_real_questions_reaches_the_published_measurement(shared_data):
    rows = {(row["set"], row["unit"]): row for row in asyncio.run(recall(read(shared_data)))}
    hops = rows["musique", "hop"]
    assert (hops["n"], rows["musique", "all"]["n"], rows["hotpotqa", "all"]["n"]) == (287, 120, 178)
    assert hops["own"] >= 0.93
    assert hops["mixed"] >= 0.86
    assert hops["both"] >= 0.86
    assert rows["musique", "all"]["own"] >= 0.22
    assert rows["hotpotqa", "all"]["own"] >= 0.67


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("ann alder", ["Ann Alder"]),
        ("Emile_Zola", ["Émile Zola"]),
        ("https://en.wikipedia.org/wiki/Washington,_D.C.", ["Washington, D.C."]),
        ("Ann Alder, Washington, D.C., Bridge", ["Ann Alder", "Washington, D.C.", "Bridge"]),
        ("capital of the United States", ["Washington, D.C."]),
    ],
)
def test_a_query_names_pages_or_describes_them(query, titles):
    assert [page.title for page in Index.build(PEOPLE).pages(query)] == titles


def test_a_title_counts_more_than_the_text_and_the_best_page_comes_first():
    assert [page.title for page in Index.build(PEOPLE).pages("who painted a bridge?")] == ["Bridge", "Ann Alder"]


def test_a_query_without_a_known_word_finds_nothing():
    assert Index.build(PEOPLE).pages("zzz qqq") == []
    assert Index.build(PEOPLE).pages("the of and") == []
    assert Index.build([]).pages("anything") == []


def test_pages_of_one_title_are_one_page_and_an_index_in_a_folder_finds_the_same(tmp_path):
    pages = [*PEOPLE, TextPage("Bridge", ["Stone lasts longest."], "built: 1800")]
    built = Index.build(pages, tmp_path)
    loaded = Index.load(tmp_path)
    for query in ("Bridge", "stone", "born in Oslo", "nothing that stands there"):
        assert built.pages(query) == loaded.pages(query)
    assert loaded.pages("stone")[0].paragraphs[-1] == "Stone lasts longest."


def test_a_very_long_page_keeps_what_was_hit_and_stays_bounded():
    long = [f"Paragraph {number} says little. " + "filler " * 50 for number in range(500)]
    long[400] = "The treasure lies under the old oak."
    [page] = Index.build([TextPage("Long", long)]).pages("treasure oak", PAGES)
    assert "The treasure lies under the old oak." in page.paragraphs
    assert sum(map(len, page.paragraphs)) < MAX_PAGE + 1_000


def test_evidence_is_numbered_and_a_table_stands_before_it():
    value = asyncio.run(evidence([TextPage("Ann", ["a b", "Oslo is c"], "born: 1900")], "where is Oslo", Lexical()))
    assert value["text"] == "Reference Table: born: 1900\nEvidence 1: Ann: Oslo is c\nEvidence 2: Ann: a b"
    assert [one["text"] for one in value["evidence"]] == ["Oslo is c", "a b"]


def test_at_most_five_paragraphs_are_evidence():
    pages = [TextPage(str(number), [f"oak number {number}"]) for number in range(9)]
    assert len(asyncio.run(evidence(pages, "oak", Lexical()))["evidence"]) == 5


def test_pages_without_text_are_an_action_error():
    with pytest.raises(ActionError) as caught:
        asyncio.run(evidence([TextPage("Empty", [])], "q", Lexical()))
    assert caught.value.kind == "no_pages"


def test_rankers_are_given_titles_and_ties_keep_their_order():
    assert split_title(join_title("A\nB", "text\nmore")) == ("A B", "text\nmore")
    assert split_title(join_title("", "text")) == ("", "text")
    assert top_positions([1.0, 3.0, 3.0, 0.0], 3) == [1, 2, 0]
    assert asyncio.run(Lexical().scores("oak", [])) == []
    assert asyncio.run(Lexical().scores("the", ["the", "of"])) == [0.0, 0.0]
