"""Checks of questions over two pages, from version 2 of the rules on: relations, types and rivals. Invented pages."""

from __future__ import annotations

import pytest

from lumos_queue.rationales.questions.bridge_checks import has_rivals, has_type, is_named_beside, is_relation
from lumos_queue.rationales.questions.bridges import TitledPage, find_bridge
from lumos_queue.rationales.questions.comparisons import find_sides
from lumos_queue.rationales.reasons import NotConvertible
from tests.cpu_limit import cpu_limit
from tests.source_rows import folder, one

__all__ = ["folder"]  # pytest finds the fixture here

ANN = TitledPage(
    "Ann Berg", "Ann Berg (born 3 May 1870) was an Ahrish singer, nicknamed The Quill. She ran a hat shop."
)
BEL = TitledPage("Bel", "Bel is an island in the Ahr Sea that is known for felt hats. It lies near Ahr.")
FERRY = TitledPage("Bel Ferry", "The Bel Ferry crosses the sound to the island of Bel.")
INK = TitledPage("The Ink Song", "The Ink Song is a 1901 song by the singer Ann Berg, recorded in Ahr for Acme.")
FILM = TitledPage("Salt (film)", "Salt is a 1931 film directed by Cal Dorn and shot in Belburg.")

#: question, pages, answer, the right answer of the first question or '' if the bridge must be rejected
CASES = {
    "island is no relation": ("What is the island of Bel known for?", (FERRY, BEL), "felt hats", ""),
    "singer is a relation": ("What nickname had the singer of The Ink Song?", (INK, ANN), "The Quill", "Ann Berg"),
    "a person is no single": (
        "When was the single which was produced by Ann Berg released?",
        (
            TitledPage("Cal Dorn", "Cal Dorn is a singer whose single was released in 1999."),
            TitledPage("Ann Berg", "Ann Berg produced a single by Cal Dorn."),
        ),
        "1999",
        "",
    ),
    "a town is no film": (
        "When was the film that Ann Berg visited opened?",
        (
            TitledPage("Bel", "Bel is a town that was opened in 1999."),
            TitledPage("Ann Berg", "Ann Berg visited Bel for a film."),
        ),
        "1999",
        "",
    ),
    "a single is a single": (
        "In which town was pressed the single that Ann Berg recorded?",
        (
            TitledPage("Ann Berg", "Ann Berg was a singer who recorded Ink for Acme."),
            TitledPage("Ink", "Ink is a single that was pressed in the town of Belburg."),
        ),
        "Belburg",
        "Ink",
    ),
    "several films": (
        "Who directed the film that featured Ann Berg?",
        (TitledPage("Ann Berg", 'Ann Berg was featured in films such as "Ink", "Salt", and "Quill".'), FILM),
        "Cal Dorn",
        "",
    ),
    "two labels": (
        "In which town is the label that recorded The Ink Song?",
        (
            TitledPage("The Ink Song", "The Ink Song was recorded by the labels Hut Records and Acme."),
            TitledPage("Acme", "Acme is a label in the town of Belburg."),
        ),
        "Belburg",
        "",
    ),
    "two films in two sentences": (
        "Who directed the film that featured Ann Berg?",
        (
            TitledPage("Ann Berg", 'The film "Salt" featured Ann Berg. The film "Quill" featured Ann Berg.'),
            FILM,
        ),
        "Cal Dorn",
        "",
    ),
    "only one film": (
        "Who directed the film that featured Ann Berg?",
        (TitledPage("Ann Berg", 'The film "Salt" featured Ann Berg. She wrote "Quill", a book.'), FILM),
        "Cal Dorn",
        "Salt",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_bridge_needs_a_relation_the_requested_type_and_a_single_answer(name):
    question, pages, answer, first_answer = CASES[name]
    pages = tuple(TitledPage(page.title.removesuffix(" (film)"), page.text) for page in pages)
    bridge = find_bridge(question, pages, answer, strict=True)
    assert (bridge.answer if bridge else "") == first_answer


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case[3]])
def test_version_1_of_the_rules_stays(name):
    question, pages, answer, _ = CASES[name]
    pages = tuple(TitledPage(page.title.removesuffix(" (film)"), page.text) for page in pages)
    assert find_bridge(question, pages, answer) is not None


@pytest.mark.parametrize(
    ("noun", "expected"),
    [
        ("author", True),
        ("lead singer", True),
        ("capital", True),
        ("parent company", True),
        ("island", False),
        ("city", False),
        ("battle", False),
        ("university", False),
        ("company", False),
    ],
)
def test_relations(noun, expected):
    assert is_relation(noun) == expected


def test_a_page_without_a_persons_school_does_not_refute_it():
    texts = ["Ann was a writer educated in Ahr.", "Bob is a Belish writer."]
    asked = ("Which writer was educated in Ahr, Ann or Bob?", ["Ann", "Bob"], texts, "Ann")
    assert find_sides(*asked) is not None
    assert find_sides(*asked, strict=True) is None


@pytest.mark.parametrize(
    ("question", "texts"),
    [
        ("Which film is from Ahr, Ann or Bob?", ["Ann is a film from Ahr.", "Bob is a Belish film."]),
        ("Which is considered a large dog, Ann or Bob?", ["Ann is a large dog.", "Bob is a small dog."]),
        ("Is Ann or Bob public?", ["Ann is a public school.", "Bob is a private school."]),
    ],
)
def test_what_a_thing_is_refutes_what_it_is_not(question, texts):
    sides = find_sides(question, ["Ann", "Bob"], texts, "Ann", strict=True)
    assert sides is not None and [side.result for side in sides] == ["yes", "no"]


@pytest.mark.parametrize(
    ("plural", "question"),
    [
        ("comic movies", "Is Ann a comic movie?"),
        ("churches", "Is Ann a church?"),
        ("cities in Ahrland", "Is Ann a city in Ahrland?"),
        ("race horses", "Is Ann a race horse?"),
        ("opera singers", "Is Ann an opera singer?"),
        ("species", None),
        ("buses", None),
        ("genuses", None),
        ("wolves", None),
    ],
)
def test_one_of_two_things_is_named_by_a_word(plural, question):
    sides = find_sides(f"Are Ann and Bob both {plural}?", ["Ann", "Bob"], ["", ""], "yes", strict=True)
    assert (sides[0].question if sides else None) == question


def test_version_1_of_hotpotqas_rules_stays(folder):
    context = [["Ann Berg", ["Ann Berg ran Acme and Bel."]], ["Acme", ["Acme sells ink."]]]
    facts = [["Ann Berg", 0], ["Acme", 0]]
    row = {"question": "Ann Berg ran a firm that sells what?", "answer": "ink"}
    source, task = one(folder, "hotpotqa", **row, context=context, supporting_facts=facts)
    assert source.at_rules(1).gold(task).steps[0].results[-1] == "Acme"
    with pytest.raises(NotConvertible, match="unnamed_step"):
        source.gold(task)


def test_singular_forms_of_version_1_stay():
    sides = find_sides("Are Ann and Bob both comic movies?", ["Ann", "Bob"], ["", ""], "yes")
    assert sides is not None and sides[0].question == "Is Ann a comic movy?"


def test_hostile_pages_take_no_time():
    with cpu_limit(20):
        for part in ('"Ann", ', "Ann and Bob, ", "was a the ", "Ann. ", "(born ", "Ann Berg film "):
            has_rivals("Ann", "film", "Which film was Ann in?", part * 2_000)
            has_type("film", "Ann", part * 10_000, part * 10_000)
            is_named_beside("author", part * 10_000, part * 10_000)
