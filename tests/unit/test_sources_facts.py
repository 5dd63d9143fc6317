"""Which fact answers a question, with which words, and whether the last step follows from them: invented facts."""

from __future__ import annotations

import pytest

from lumos_queue.rationales.questions.facts import find_answer
from lumos_queue.rationales.questions.last_step import answer_follows
from lumos_queue.rationales.questions.spans import compare_spans, dates, names, quantities
from lumos_queue.rationales.questions.word_matches import find, occurs, same_word
from tests.cpu_limit import cpu_limit

FACTS = [
    "Ann Berg was born in 1845.",
    "Ann Berg died on May 3, 1901 in Ahrstadt.",
    "Acme was founded by the chemist Ann Berg.",
    "Acme made more than 40 million bottles of ink.",
    "A crate of quills weighs about 3.5 pounds.",
    "The Ahr Tower is 210 feet tall.",
    "The oakling is an evergreen tree that bears nuts in autumn.",
    "Paint is made of soot, gum, and water.",
    "The museum of ink is located in Belburg, Ahrland.",
    "The Ink War lasted from 1861 to 1865.",
    "Bel Ltd is owned by Cal Corporation, which sells hats.",
    "The colours of the Ahr flag are: red, black, and gold.",
    "Quill makers suffered from weak eyes.",
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was Ann Berg born?", "1845"),
        ("When did Ann Berg die?", "May 3, 1901"),
        ("Who founded Acme?", "Ann Berg"),
        ("Who was the founder of Acme?", "Ann Berg"),
        ("How many bottles of ink did Acme make?", "more than 40 million"),
        ("How much does a crate of quills weigh?", "about 3.5 pounds"),
        ("How tall is the Ahr Tower?", "210 feet"),
        ("What is the height of the Ahr Tower?", "210 feet"),
        ("What kind of tree is an oakling?", "an evergreen tree"),
        ("What is paint made of?", "soot, gum, and water"),
        ("Where is the museum of ink?", "Belburg, Ahrland"),
        ("When did the Ink War take place?", "1861 to 1865"),
        ("Which corporation owned Bel Ltd?", "Cal Corporation"),
        ("What are the colours of the Ahr flag?", "red, black, and gold"),
        ("What did quill makers suffer from?", "weak eyes"),
        ("What is paint made from?", "soot, gum, and water"),
    ],
)
def test_the_words_that_answer(question, answer):
    assert find_answer(question, FACTS) == answer


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("When did Ann die?", ["Ann was born in 1845.", "Ann lived in Ahr."]),  # nothing says it
        ("When did Ann die?", ["Ann died in 1901.", "Ann died in 1902."]),  # two facts say it
        ("Which states are on the west coast?", ["Ahrland is a state on the east coast.", "Belland is a state."]),
        ("How tall is the tower?", ["Without its mast the tower is 210 feet tall."]),
        ("How tall is the tower?", ["The tower of the castle next to the market is 210 feet tall."]),
        ("How tall is the tower?", ["The tower is not 210 feet tall."]),
        ("How tall is the tower?", ["The new tower ship is 210 feet tall.", "A tower is tall."]),
        ("How tall is the Ahr cruise ship?", ["The Ahr cruise boat is 210 feet tall."]),
        ("How wide is the tower?", ["The tower is 210 feet tall."]),
        ("How many sons did Ann have?", ["Ann had 3 sons and 2 more sons later."]),
        ("How many sons did Ann have?", ["Ann had 3 sons or 4 sons."]),
        ("Who founded Acme?", ["Acme was founded by Ahrish monks."]),
        ("When was the film shown?", ["The 1980 film was shown in Ahr."]),  # which film, not when
        ("When was the war?", ["The war ended in 1865."]),
        ("When did Ann live in Ahr?", ["Ann lived in Ahr until 1880."]),
        ("Who is the leader?", ["The leader is the head of Ahrland."]),
        ("What country is Ann a citizen of?", ["Ann is an Ahrish citizen."]),
        ("Which part of the body are snowshoes worn on?", ["Snowshoes are worn by tying them to the feet."]),
        ("What are boats used on?", ["Boats are used to carry ink."]),
        ("What are boats built by?", ["Boats are built by joining planks."]),
        ("What is paint made of?", ["The lid of old paint is made of tin."]),
        ("What kind of feeling is ink thirst?", ["Feeling ink thirst is induced by paper."]),
        ("What kind of feeling is fear?", ["Fear is induced by danger."]),
        ("What do ink makers do?", ["Ink makers are a guild."]),
        ("What channel did the show air on?", ["The show was a hit."]),
        ("What is ink?", ["Ink is ink."]),
        ("Is ink black?", ["Ink is black."]),
        ("When did Ann die?", []),
        ("", ["Ann died in 1901."]),
    ],
)
def test_there_is_no_answer_where_one_is_not_clear(question, facts):
    assert find_answer(question, facts) is None


def test_a_date_or_number_is_told_roughly_only_where_that_is_asked():
    facts = ["The estimated population of Ahrland as of July 2019 was 200,874.", "Acme employs 12 people."]
    assert find_answer("How many people live in Ahrland?", facts, roughly=True) is None  # most words are others
    assert find_answer("What is the population of Ahrland?", facts) is None
    assert find_answer("What is the population of Ahrland?", facts, roughly=True) == "200,874"
    assert (
        find_answer("How tall is the Ahr cruise ship?", ["The Ahr cruise boat is 210 feet tall."], roughly=True)
        == "210 feet"
    )
    assert find_answer("Who was the first smith of Acme?", ["Ann Berg was a smith of Acme."], roughly=True) is None


@pytest.mark.parametrize(
    ("question", "results", "yes"),
    [
        ("Is #1 greater than #2?", ["210 feet", "50 metres"], True),
        ("Is #1 less than #2?", ["7 to 11 feet", "12 feet"], True),
        ("Is #1 less than #2?", ["7 to 11 feet", "10 feet"], None),
        ("Is #1 greater than or equal to #2?", ["five", "5"], True),
        ("Is #1 before #2?", ["May 3, 1901", "1900"], False),
        ("Did #2 occur before #1?", ["1901", "the 1920s"], False),
        ("Is #1 greater than 12?", ["40 million"], True),
        ("Is #1 the same as #2?", ["Ahrland", "Belland"], False),
        ("Are #1 and #2 the same?", ["Ahrland", "ahrland"], True),
        ("Is #1 different from #2?", ["Ahrland", "Belland"], True),
        ("Is #1 the same as #2?", ["the east of Ahrland", "Ahrland"], None),  # who knows
        ("Is #1 greater than #2?", ["tall", "50 metres"], None),
        ("Is soot included in #1?", ["soot, gum, and water"], True),
        ("Does #1 include tar?", ["soot, gum, and water"], False),
    ],
)
def test_the_last_step_is_worked_out(question, results, yes):
    found = [answer_follows(question, results, answer) for answer in ("Yes", "No")]
    assert found == ([False, False] if yes is None else [yes, not yes])


@pytest.mark.parametrize(
    "question",
    ["Could #1 have met #2?", "Is #1 not greater than #2?", "Is #1 times 3 greater than #2?", "Is #1 an ink?"],
)
def test_of_other_questions_nothing_is_known(question):
    assert answer_follows(question, ["7", "5"], "Yes") is None and answer_follows(question, ["7", "5"], "No") is None


def test_dates_and_numbers_are_found_with_their_ends():
    text = "From 44 BC to 12 AD, on 3 May 1901 and in the 1920s, 7 to 11 feet, $5 million, three of 53 in all"
    assert [span.text for span in dates(text)] == ["44 BC to 12 AD", "3 May 1901", "1920s"]
    assert [(span.text, span.kind) for span in quantities(text)] == [
        ("7 to 11 feet", "length"),
        ("$5 million", "money"),
        ("three", "number"),
        ("53", "number"),
    ]
    assert [span.text for span in names("In Ahr, Ann B. von Berg met J. R. of the Bel Guild.")] == [
        "In Ahr",
        "Ann B. von Berg",
        "J. R. of the Bel Guild",
    ]


@pytest.mark.parametrize(
    ("one", "other", "sign"),
    [
        ("1901", "1920s", "<"),
        ("1925", "1920s", ""),
        ("2 m", "7 feet", "<"),
        ("5 kg", "3 feet", ""),
        ("12", "twelve", "="),
    ],
)
def test_values_are_ordered_where_that_can_be_known(one, other, sign):
    first, second = ((dates(text) + quantities(text))[0] for text in (one, other))
    assert compare_spans(first, second) == sign
    assert compare_spans(second, first) == {"<": ">", ">": "<"}.get(sign, sign)


def test_forms_of_one_word():
    for first, second in [
        ("tall", "taller"),
        ("creator", "created"),
        ("die", "death"),
        ("country", "countries"),
        ("x", "x"),
    ]:
        assert same_word(first, second) and same_word(second, first)
    for first, second in [("car", "cartoon"), ("1901", "1902"), ("born", "died"), ("general", "gentle")]:
        assert not same_word(first, second) and not same_word(second, first)


def test_phrases_are_whole_words_in_any_case():
    assert find("ann", "Joann met ANN") == (10, 13) and not occurs("Ann", "Annie") and not occurs("", "Ann")
    assert occurs("Bel (firm)", "the Bel (firm) sells") and find("ink", "ink, ink", 1) == (5, 8)


def test_hostile_texts_take_no_time():
    with cpu_limit(20):
        for part in ["1", "1, ", "A. ", "a ", "(", "What is ", "one hundred ", "1 to ", "-"]:
            text = part * 10**5
            assert find_answer(text, [text]) is None and find_answer("What is ink made of?", [text, "Ink."]) is None
            dates(text), quantities(text), names(text)
            assert answer_follows(text, [text], "Yes") in (None, False)
