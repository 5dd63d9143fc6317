"""Which choice an answer means, the score it gets, and the one text of a question with choices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.benchmarks.choices import choice_baselines, choice_scores
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.prompts.choice_text import task_text
from lumos_queue.records import Task
from lumos_queue.scoring.letters import LETTERS, read_choice
from tests.cpu_limit import cpu_limit

ANIMALS = ("dog", "hot dog", "cat", "a dog house")
FIVE = ("red", "blue", "green", "dark blue", "grey")


@pytest.mark.parametrize(
    ("answer", "place"),
    [
        # a letter alone, or marked
        ("B", 1),
        ("b", 1),
        ("(C)", 2),
        ("'D'", 3),
        ("**B**", 1),
        ("B.", 1),
        (" c) ", 2),
        ("[B]", 1),
        ("B!", 1),
        ("B. hot dog", 1),
        ("B: a dog", 1),
        ("(b) dog", 1),
        ("B) cat", 1),
        ("B, the cat", 1),
        ("A - dog", 0),
        ("**C**: dog", 2),
        ("D.dog", 3),
        ("a. cat", 0),
        # after the last `=` or `Answer:`
        ("R3 = B", 1),
        ("VQA([IMG], Question: Which of A, B?) = C", 2),
        ("Question: Is it A?; Answer: D", 3),
        # a letter in a sentence
        ("The answer is B.", 1),
        ("I choose option C because of its ears", 2),
        ("It must be 'D'", 3),
        ("Answer: B", 1),
        ("A is right", 0),
        ("A because it barks", 0),
        ("Option A", 0),
        ("option b", 1),
        ("The answer is c.", 2),
        ("answer is c", 2),
        ("The answer is a dog", 0),
        ("the answer is a.", 0),
        ("The correct choice is b, since A and C are small", 1),
        ("I choose B because option A is blurry", 1),
        ("The answer is A. Wait, no, the answer is C.", 2),
        ("Between A and B, I pick B.", 1),
        # several letters
        ("A, B, C, D", None),
        ("A,B,C,D", None),
        ("A. B. C. D.", None),
        ("A: B", None),
        ("A/B", None),
        ("B or C", None),
        ("Either A or C", None),
        ("(a) or (b)", None),
        ("**A** or **B**", None),
        ("A or B or C or D? B.", None),
        ("The answer is A or B", None),
        ("the answer is b or c", None),
        ("A. dog, B. hot dog, C. cat", None),
        ("A. dog, B. hot dog, C. cat. I choose C", 2),
        ("B, A cat", 1),
        ("B, because of the ears", 1),
        # what is denied
        ("The answer isn't A, it's D", 3),
        ("A and B are wrong. C is right.", 2),
        ("B, not A", 1),
        ("not B", None),
        ("Option A is not correct. Option B is not correct. Option C is correct.", 2),
        ("A is wrong, so B.", 1),
        ("I would eliminate A, B and C, leaving D.", 3),
        ("eliminating A leaves D", 3),
        ("It can't be A.", None),
        ("Neither A nor B; the answer is C.", 2),
        ("(A) is wrong. It is (B).", 1),
        ("all except B", None),
        ("Option A and option B are wrong, so C", 2),
        ("the answer is not b", None),
        ("Not A. B.", 1),
        ("C is the answer. A would be wrong.", 2),
        ("I'm not sure, but B", 1),
        ("I'm not sure but I think B", 1),
        ("The image does not show a cat.", None),
        ("It is not a cat; it is a hot dog.", 1),
        ("a cat, not a dog", 2),
        ("It is neither a cat nor a hot dog", None),
        ("It does not look like a cat", None),
        ("not a cat, so B", 1),
        # `A` is the article
        ("A cat", 2),
        ("A hot dog", 1),
        ("A big cat (C)", 2),
        ("A lion", None),
        ("A tiger, so B", 1),
        ("a dog", 0),
        # initials and parts of words are no letters
        ("Washington D.C. cat", 2),
        ("It is B's", None),
        ("a B-24", None),
        ("C's", None),
        ("AC/DC", None),
        ("vitamin C", 2),
        # the choice, in words
        ("dog", 0),
        ("Dog.", 0),
        ("HOT DOG", 1),
        ("the cat", 2),
        ("It is a hot dog", 1),
        ("a dog house", 3),
        ("There is a cat on the mat", 2),
        ("a part of a dog house", 3),
        # a part of one choice; of several: nothing
        ("hot", 1),
        ("house", 3),
        ("do", None),
        ("a", 0),
        ("cat and dog", None),
        ("dogs", None),
        # neither
        ("", None),
        ("   ", None),
        ("No answer", None),
        ("none of the above", None),
        ("I do not know", None),
        ("E", None),
        ("E. dog", None),
        ("Z", None),
        ("42", None),
        ("=", None),
        ("a = ", None),
    ],
)
def test_an_answer_means_a_choice_or_none(answer, place):
    assert read_choice(answer, ANIMALS) == place


@pytest.mark.parametrize(
    ("answer", "choices", "place"),
    [
        ("E", FIVE, 4),
        ("e) grey", FIVE, 4),
        ("blue", FIVE, 1),
        ("dark blue", FIVE, 3),
        ("It is dark blue", FIVE, 3),
        ("E", FIVE[:4], None),
        ("dark", FIVE, 3),
        # a choice that is a letter, or holds one
        ("c", ("l", "z", "j", "c"), 3),
        ("It is c", ("l", "z", "j", "c"), 3),
        ("C", ("l", "z", "j", "c"), 2),
        ("It is vitamin C", ("vitamin C", "vitamin D", "iron"), 0),
        ("vitamin D", ("vitamin C", "vitamin D"), 1),
        ("There are 3.", ("2", "3", "4"), 1),
        ("13", ("1", "3"), None),
        ("B", ("C", "A"), 1),
        ("ff", ("Ff", "ff"), 1),
        # a choice with an `=` in it
        ("x = 5", ("x = 4", "x = 5"), 1),
        ("R1 = x = 5", ("4", "5"), 1),
        # choices that differ in nothing but their case
        ("It is Bananas in Pajamas.", ("Bananas in pajamas", "Bananas in Pajamas"), 1),
        ("bananas in pajamas", ("Bananas in pajamas", "Bananas in Pajamas"), None),
        # yes and no
        ("No answer", ("yes", "no"), None),
        ("No.", ("yes", "no"), 1),
        ("No, it is not", ("yes", "no"), 1),
        ("Yes and no", ("yes", "no"), None),
        ("No, A is wrong; B", ("yes", "no"), 1),
        ("not yes", ("yes", "no"), None),
        ("None", ("yes", "no"), None),
        ("noon", ("yes", "no"), None),
        # equal choices are one choice
        ("cat", ("cat", "dog", "cat"), 0),
        ("C", ("cat", "dog", "cat"), 2),
        ("a cat there", ("cat", "dog", "cat"), 0),
    ],
)
def test_choices_that_are_easily_taken_for_others(answer, choices, place):
    assert read_choice(answer, choices) == place


WORD = st.text("bcdefghijklmnopqrstuvwxyz", min_size=2, max_size=6)
CHOICES = st.lists(st.lists(WORD, min_size=1, max_size=3).map(" ".join), min_size=2, max_size=5)


@given(CHOICES, st.data())
def test_every_way_of_writing_a_letter_means_its_choice(choices, data):
    place = data.draw(st.integers(0, len(choices) - 1))
    letter, other = LETTERS[place], data.draw(st.sampled_from(choices))
    for answer in (
        letter,
        letter.lower(),
        f"{letter}.",
        f"({letter})",
        f" {letter}\n",
        f"'{letter}'",
        f"R7 = {letter}",
        f"{letter}. {other}",
        f"{letter}: {other}",
        f"({letter.lower()}) {other}",
        f"Answer: {letter}",
    ):
        assert read_choice(answer, choices) == place, answer


@given(CHOICES, st.data())
def test_a_choice_in_words_means_that_choice(choices, data):
    choice = data.draw(st.sampled_from(choices))
    for answer in (choice, f"{choice}.", f"a {choice}", f"A {choice}", choice.upper(), f"R1 = {choice}"):
        place = read_choice(answer, choices)
        assert place is not None and choices[place] == choice, answer


@pytest.mark.parametrize(
    "form", ["not {}", "It isn't {}.", "Neither {} nor {}", "{} is wrong", "{} and {} are not right"]
)
@pytest.mark.parametrize("answer", ["{} No.", "{} So {other}."])
@given(st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_what_is_denied_is_never_meant(form, answer, place, other, words):
    choices = ("tall red", "big blue", "old green", "new grey")
    names = choices if words else tuple(LETTERS[:4])
    found = read_choice(answer.format(form.format(names[place], names[place]), other=names[other]), choices)
    assert found == (other if "{other}" in answer else None)


@pytest.mark.parametrize("between", [", ", " or ", "/", " and ", ", or ", " ", ") or (", "** or **"])
@given(st.lists(st.sampled_from("ABCD"), min_size=2, max_size=4, unique=True))
def test_several_letters_mean_none(between, letters):
    for form in ("{}", "Either {}", "The answer is {}.", "It is ({})", "Answer: {}"):
        assert read_choice(form.format(between.join(letters)), ANIMALS) is None


@given(st.text(), st.lists(st.text(), min_size=0, max_size=8))
def test_any_text_means_a_choice_or_none(answer, choices):
    place = read_choice(answer, choices)
    assert place is None or 0 <= place < len(choices)


@given(CHOICES, st.data())
def test_the_order_of_choices_does_not_matter_to_an_answer_in_words(choices, data):
    words = data.draw(st.lists(WORD | st.sampled_from(choices), max_size=4).map(" ".join))
    other = data.draw(st.permutations(choices))
    first, second = read_choice(words, choices), read_choice(words, other)
    assert (first is None) == (second is None)
    assert first is None or choices[first] == other[second]


def test_a_long_answer_is_read_quickly():
    with cpu_limit(5):
        for answer in ("dog " * 100_000, "A " * 100_000, "(" * 100_000, " " * 100_000, "a=" * 100_000):
            read_choice(answer, ("dog", "cat", "1", "do g"))


def task(choices, answer, question="What is it?", caption=""):
    return Task("aokvqa", "", "1", task_text(question, choices, caption), {}, {"choices": choices, "answer": answer})


def test_the_text_is_that_of_the_paper():
    assert task_text("What is it?", ["a", "b c"]) == "What is it? There're some choices: A. a, B. b c."
    assert task_text("What is it?", ["a", "b"], "A mat.") == (
        "What is it? There're some choices: A. a, B. b. The image shows the following contents: A mat."
    )


def test_the_text_of_a_choice_is_judged_not_its_letter():
    twice = task(["cat", "dog", "cat"], "cat")
    assert [choice_scores(twice, answer)[0].value for answer in ("A", "C", "cat", "B", "dog")] == [1, 1, 1, 0, 0]


def test_an_answer_that_means_nothing_is_wrong_and_counted():
    one = task(["cat", "dog"], "cat")
    assert [(score.metric, score.value) for score in choice_scores(one, "no idea")] == [
        ("accuracy", 0),
        ("unparsed", 1),
    ]
    assert [(score.metric, score.value) for score in choice_scores(one, None)] == [("accuracy", 0), ("unparsed", 0)]
    right, parsed = choice_scores(one, "A. cat")
    assert (right.value, right.detail, parsed.value) == (1, "A. cat", 0)


def test_rules_without_a_model():
    tasks = [
        task(["cat", "long dog"], "long dog", caption="A cat sits."),
        task(["mat", "roof"], "roof", caption="A roof with a cat."),
        task(["two cats", "hat", "sun", "moon", "star"], "star"),
    ]
    assert choice_baselines(tasks) == {
        "most common letter": [True, True, False],
        "longest choice": [True, True, False],
        "most like the text": [False, True, False],
    }
    assert all(not any(verdicts) for verdicts in choice_baselines([]).values())


def test_every_real_choice_is_found_by_letter_and_in_words(shared_data):
    aokvqa = list(open_benchmark("aokvqa").read(shared_data / "aokvqa" / "aokvqa_v1p0_val.json", "val"))
    scienceqa = open_benchmark("scienceqa")
    science = [
        one
        for split in ("train", "val", "test")
        for one in scienceqa.read(shared_data / "scienceqa", split, subset="all")
    ]
    assert (len(aokvqa), len(science)) == (845, 560)
    for row in (*aokvqa, *science):
        choices = row.gold["choices"]
        for place, choice in enumerate(choices):
            assert read_choice(LETTERS[place], choices) == place
            assert read_choice(f"{LETTERS[place]}. {choice}", choices) == place
            for answer in (choice, f"{choice}.", f"The answer is {choice}."):
                found = read_choice(answer, choices)
                assert found is not None and choices[found] == choice, (row.row, answer)
