"""Questions over two pages, parted into what is described and what is asked, or into one of either: invented pages."""

from __future__ import annotations

import pytest

from lumos_queue.rationales.questions.bridges import TitledPage, find_bridge
from lumos_queue.rationales.questions.comparisons import find_sides
from lumos_queue.rationales.questions.relations import is_person
from tests.cpu_limit import cpu_limit

INK = TitledPage("The Ink Song", "The Ink Song is a 1901 song by the singer Ann Berg, recorded in Ahr for Acme.")
ANN = TitledPage(
    "Ann Berg",
    "Ann Berg (born 3 May 1870) was an Ahrish singer, nicknamed The Quill. She ran a hat shop, and led Hut Ltd.",
)
HUT = TitledPage("Hut Ltd", "Hut Ltd is a firm led by Ann Berg that sells felt hats in Belburg.")
ACME = TitledPage("Acme", "Acme, known as Bel Records from 1890 to 1899, is a record label in Belburg.")


@pytest.mark.parametrize(
    ("question", "pages", "answer", "first", "second", "found"),
    [
        (
            "What nickname had the singer who recorded The Ink Song?",
            (INK, ANN),
            "The Quill",
            "Which singer recorded The Ink Song?",
            "What nickname had #1?",
            None,
        ),  # `nickname` is all that is left
        (
            "When was the singer who recorded The Ink Song born?",
            (ANN, INK),
            "3 May 1870",
            "Which singer recorded The Ink Song?",
            "When was #1 born?",
            "Ann Berg",
        ),
        (
            "The singer known for The Ink Song ran which shop?",
            (INK, ANN),
            "hat shop",
            "Which singer was known for The Ink Song?",
            "#1 ran which shop?",
            "Ann Berg",
        ),
        (
            "What is sold by the firm that Ann Berg led?",
            (HUT, ANN),
            "felt hats",
            "Ann Berg led which firm?",
            "What is sold by #1?",
            "Hut Ltd",
        ),
        (
            "The Ink Song was recorded for a label that was known as what from 1890 to 1899?",
            (INK, ACME),
            "Bel Records",
            "The Ink Song was recorded for which label?",
            "#1 was known as what from 1890 to 1899?",
            "Acme",
        ),
        (
            "When was the singer of The Ink Song born?",
            (INK, ANN),
            "3 May 1870",
            "Who is the singer of The Ink Song?",
            "When was #1 born?",
            "Ann Berg",
        ),
    ],
)
def test_a_description_becomes_a_question_in_its_own_words(question, pages, answer, first, second, found):
    parted = find_bridge(question, pages, answer)
    if found is None:
        assert parted is None or (parted.first, parted.second) == (first, second)
        return
    assert parted is not None
    assert (parted.first, parted.second, parted.answer) == (first, second, found)
    assert parted.answer in (pages[parted.pages[0]].title, pages[parted.pages[1]].title)
    assert answer in pages[parted.pages[1]].text


@pytest.mark.parametrize(
    ("question", "pages", "answer"),
    [
        ("When was the singer who recorded The Ink Song born?", (INK, ANN), "4 May 1870"),  # no page says it
        ("When was the singer who recorded The Ink Song born?", (INK, ACME), "1890"),  # nobody is found
        (
            "Which singer who was born in 1870 recorded The Ink Song?",
            (INK, ANN),
            "Ann Berg",
        ),  # asks for the page itself
        ("Ann Berg was a singer who had what nickname?", (INK, ANN), "The Quill"),  # she herself is described
        ("What is sold by the firm that somebody led?", (HUT, ANN), "felt hats"),  # nothing is named
        ("What is sold by the firm that Ann Berg led and that is in Belburg?", (HUT, ANN), "felt hats"),
        (
            "What was the nickname of the singer who recorded The Ink Song and who sang for Acme?",
            (INK, ANN),
            "The Quill",
        ),
        ("Who recorded The Ink Song as the singer who led Hut Ltd?", (INK, ANN), "Ann Berg"),  # the page itself
        ("Felt hats are sold by Ann Berg?", (HUT, ANN), "felt hats"),
        ("", (HUT, ANN), "felt hats"),
    ],
)
def test_what_cannot_be_parted_is_not(question, pages, answer):
    assert find_bridge(question, pages, answer) is None


@pytest.mark.parametrize(
    ("question", "texts", "answer", "asked", "results"),
    [
        (
            "Who was born earlier, Ann or Bob?",
            ["Ann (1 May 1870 – 1900) sang.", "Bob (born 1869) is old."],
            "Bob",
            "When was {} born?",
            ["1 May 1870", "1869"],
        ),
        (
            "Who is younger Ann or Bob ?",
            ["Ann (1 May 1870 – 1900) sang.", "Bob (born 1869) is old."],
            "Ann",
            "When was {} born?",
            ["1 May 1870", "1869"],
        ),
        (
            "Which paper was founded first, Ann or Bob?",
            ["Ann was founded in 1870.", "It was founded in 1999."],
            "Ann",
            "When was {} founded?",
            ["1870", "1999"],
        ),
        (
            "Which peak is higher, Ann or Bob?",
            ["It is 900 m high.", "At 3,200 feet it is high."],
            "Bob",
            "How high is {}?",
            ["900 m", "3,200 feet"],
        ),
        (
            "Which genus has more species, Ann or Bob?",
            ["It has 7 known species.", "There are three species."],
            "Ann",
            "How many species does {} have?",
            ["7", "three"],
        ),
        (
            "Which is a comic opera, Ann or Bob?",
            ["Ann is a comic opera.", "Bob is a novel."],
            "Ann",
            "Is {} a comic opera?",
            ["yes", "no"],
        ),
        (
            "Is Ann or Bob public?",
            ["Ann is a private school.", "Bob is a public school."],
            "Bob",
            "Is {} public?",
            ["no", "yes"],
        ),
        ("Are Ann and Bob both opera singers?", ["", ""], "yes", "Is {} an opera singer?", ["yes", "yes"]),
        (
            "Were both Ann and Bob from Ahrland?",
            ["Ann came from Ahrland.", "Bob is a cook."],
            "no",
            "Was {} from Ahrland?",
            ["yes", "no"],
        ),
        (
            "Were Ann and Bob of the same nationality?",
            ["Ann was an Ahrish cook.", "Bob is a Belish cook."],
            "no",
            "What is the nationality of {}?",
            ["Ahrish", "Belish"],
        ),
    ],
)
def test_two_things_are_asked_the_same(question, texts, answer, asked, results):
    found = find_sides(question, ["Ann", "Bob"], texts, answer)
    assert found is not None
    assert [side.question for side in found] == [asked.format(name) for name in ("Ann", "Bob")]
    assert [side.result for side in found] == results


@pytest.mark.parametrize(
    ("question", "texts", "answer"),
    [
        ("Who was born earlier, Ann or Bob?", ["Ann (born 1870) sang.", "Bob (born 1869) is old."], "Ann"),  # it is Bob
        ("Who was born earlier, Ann or Bob?", ["Ann sang in 1870.", "Bob (born 1869) is old."], "Bob"),
        ("Who was born earlier, Ann or Bob?", ["Ann (born 1870) sang.", "Bob (born 1869) is old."], "Eva"),
        ("Which peak is higher, Ann or Bob?", ["It is 900 m high and 20 m wide.", "It is 1,200 m high."], "Bob"),
        ("Which is the better opera, Ann or Bob?", ["Ann is the better opera.", "Bob is a novel."], "Ann"),
        ("Which is the most famous opera, Ann or Bob?", ["Ann is the most famous opera.", "A novel."], "Ann"),
        ("Which is a comic opera, Ann or Bob?", ["Ann is a comic opera.", "Bob is a comic opera, too."], "Ann"),
        ("Are Ann and Bob both Ahrish writers?", ["Ann is an Ahrish writer.", "Bob is an Ahrish poet."], "no"),
        ("Are Ann and Bob both opera singers?", ["Ann is an opera singer.", "Bob is an opera singer."], "no"),
        ("Were Ann and Bob of the same nationality?", ["Ann was an Ahrish cook.", "Bob is a Belish cook."], "yes"),
        ("Could Ann have met Bob?", ["Ann sang.", "Bob danced."], "yes"),
        ("Who was born earlier, Ann or Eva?", ["Ann (born 1870) sang.", "Bob (born 1869) is old."], "Ann"),
    ],
)
def test_where_the_pages_do_not_lead_to_the_answer_nothing_is_asked(question, texts, answer):
    found = find_sides(question, ["Ann", "Bob"], texts, answer)
    assert found is None


def test_an_article_stays_with_its_name():
    found = find_sides(
        "Which is a comic opera, the Ahr or The Bel?", ["Ahr", "Bel"], ["A comic opera.", "A novel."], "Ahr"
    )
    assert found is not None and [side.question for side in found] == [
        "Is the Ahr a comic opera?",
        "Is the Bel a comic opera?",
    ]


def test_roles_are_somebodys():
    assert all(map(is_person, ("author", "singer", "president", "founder", "Queen")))
    assert not any(map(is_person, ("river", "capital", "newspaper", "number", "country")))


def test_hostile_questions_take_no_time():
    with cpu_limit(30):
        for part in ("the a ", "the singer who ", "of The ", "x", "Ann or Bob ", "which ", "(", "Ann Berg "):
            question = (part * 600)[:600]
            find_bridge(question, (INK, ANN), "The Quill")
            find_bridge(part * 10**5, (INK, ANN), "The Quill")
            find_sides(question, ["Ann", "Bob"], [part * 10**4] * 2, "Ann")
            find_sides(part * 10**5, ["Ann", "Bob"], [part * 10**4] * 2, "Ann")
