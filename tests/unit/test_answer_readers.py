"""Answers as models write them, read by both readers: numbers, choices, yes or no, texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.endpoints.base import Sampling
from lumos_queue.papers.evaluation_options import find_row, make_request
from lumos_queue.papers.protocol import departures
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.answer_reading import conclude, find_stored_reader, read_answer, reader_of
from lumos_queue.prompts.choice_text import split_choices
from lumos_queue.prompts.single_model import read_cot_answer
from lumos_queue.records import Completion, Ending, FinishReason, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.answer_readers import AnswerReader, Expected, read_flexible
from lumos_queue.scoring.numeric import read_number

NUMBER, YES_NO, TEXT = (Expected(kind) for kind in (AnswerKind.NUMBER, AnswerKind.YES_NO, AnswerKind.TEXT))
CHOICE = Expected(AnswerKind.CHOICE, ("river", "lake", "open sea"))


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        # Markers.
        ("We add both. The answer is 17.", "17"),
        ("the final answer is therefore: 17", "17"),
        ("Answer: 17", "17"),
        ("ANSWER = 17", "17"),
        ("Answer (in litres): 17", "17"),
        ("The answer to the second question is 17 litres.", "17"),
        ('So the answer to the question "How many of the 9 pens are red?" is 17.', "17"),
        ("Final result: 17", "17"),
        ("3 + 14\n#### 17", "17"),
        ("#### Step 1\nAdd 3 and 14.\n#### 17", "17"),
        ("## Answer\n\n17 litres", "17"),
        ("Therefore \\boxed{17} litres remain.", "17"),
        ("\\[\n\\boxed{17}\n\\]", "17"),
        ("\\boxed{\\boxed{17}}", "17"),
        ("<think></think><answer> 17 </answer>", "17"),
        ('{"steps": ["3 + 14"], "answer": 17}', "17"),
        ('{"answer": "There are 3 tanks. Each has 14 litres. They hold 17 litres."}', "17"),
        ("The answer is 16. No, wait. The answer is 17.", "17"),
        ("The answer is not 16. It is 17.", "17"),
        # Mark-up.
        ("The answer is **17**.", "17"),
        ("**Answer:** 17", "17"),
        ("**Answer**: `17`", "17"),
        ("**Final Answer: 17 litres**", "17"),
        ("The answer is *17*", "17"),
        ("The answer is __17__.", "17"),
        ("The answer is <b>17</b>.", "17"),
        ("The answer is $17$.", "17"),
        ("The answer is \\(17\\).", "17"),
        ("The answer is $\\text{17 litres}$.", "17"),
        ("\\boxed{\\mathrm{17}\\ \\text{litres}}", "17"),
        ("The answer is [17].", "17"),
        ("The answer is (17)", "17"),
        ('The answer is "17".', "17"),
        ("The answer is \u200b17\u200b!", "17"),
        ("The ans\u200bwer is 1\ufeff7.", "17"),
        ("The answer is １７。", "17"),
        ("The answer is \u0661\u0667.", "17"),
        # Numbers.
        ("The answer is 8,400.", "8400"),
        ("The answer is $8{,}400.", "8400"),
        ("The answer is 8\\,400.", "8400"),
        ("The answer is 8\u202f400.", "8400"),
        ("The answer is \\$17.50.", "17.5"),
        ("The answer is −17.", "-17"),
        ("The answer is -$17", "-17"),
        ("The answer is 17.0 %", "17"),
        ("The answer is 3/8.", "0.375"),
        ("The answer is \\frac{1}{3}", "1/3"),
        ("The answer is 2\\dfrac{1}{2} cups.", "2.5"),
        ("The answer is 2½ cups.", "2.5"),
        ("The answer is 17 cm^2.", "17"),
        ("The answer is 17 m\u00b2.", "17"),
        ("The answer is approximately 17.", "17"),
        ("The answer is 6:30 pm.", "6:30 pm"),
        ("The answer is seventeen.", "17"),
        # One of several numbers.
        ("The answer is 3 + 14 = 17.", "17"),
        ("The answer is 3 + 14 = 17 litres, so 17.", "17"),
        ("Answer: x = 17", "17"),
        ("The answer is 17, because 3 + 14 = 17.", "17"),
        ("The answer is 17 (3 red and 14 blue).", "17"),
        ("The answer is 17 - the other 3 are lost.", "17"),
        ("The answer is 17 out of 20.", "17"),
        ("The answer is **17** litres in 3 tanks.", "17"),
        ("The answer is 17 or 17.0.", "17"),
        ("The answer is 17 or 18.", None),
        ("The answer is 17-18.", None),
        ("The answer is between 17 and 18.", None),
        ("The answer is 3 times 14.", None),
        ("The answer is 2 hours and 17 minutes.", None),
        ("The answer is x = 3 and y = 17.", None),
        ("x is \\boxed{3} and y is \\boxed{17}", None),
        # No number.
        ("The answer is 17x.", None),
        ("The answer is 10^3.", None),
        ("The answer is 1.7.3", None),
        ("There are 9 pens. The answer cannot be known.", "9"),
        ("There are 9 pens. The answer is unknown.", None),
        ("There are 9 pens. The answer is N.", None),
        ("The answer is Rita.", "Rita"),
        ("", None),
        # Without a marker.
        ("17", "17"),
        ("17 litres", "17"),
        ("17\n\nThis is 3 plus 14.", "17"),
        ("Each of the 3 tanks holds 14 litres, so that there are 17 litres.", "17"),
        ("3 + 14 = 17", "17"),
        ("She keeps **17** pens and gives 3 to Rita.", "17"),
        ("He has 17 pens.\n\n3. Nothing else is needed.", "17"),
        ("He has 17 or 18", None),
        ("I cannot help with that.", None),
        # Scale words.
        ("The answer is 17 thousand.", "17000"),
        ("The answer is 17K.", "17000"),
        ("The answer is 1.5 k", "1500"),
        ("The answer is 2 dozen eggs.", "24"),
        ("The answer is $17m.", "17000000"),
        ("The answer is 17 hundred thousand", "1700000"),
        ("The answer is 3 quarters.", None),
        ("The answer is 17 M.", None),
    ],
)
def test_numbers(reply, answer):
    assert read_flexible(reply, NUMBER) == answer


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("**B**", "B"),
        ("$\\boxed{\\text{B}}$", "B"),
        ("The answer is $B$.", "B"),
        ("The answer is B. A river flows.", "B"),
        ("Answer: **B) lake**", "B"),
        ("The correct option is (C).", "C"),
        ("I choose option B", "B"),
        ("lake", "B"),
        ("The answer is the open sea.", "C"),
        ("B. lake\n\nA is wrong, as a river flows.", "B"),
        ("Water stands still.\nTherefore it is the lake.", "B"),
        ('{"reason": "It is still.", "answer": "B"}', "B"),
        ("The answer is A or B.", None),
        ("\\boxed{A} or \\boxed{B}", None),
        ("The answer is D.", None),
        ("Nothing fits.", None),
    ],
)
def test_choices(reply, letter):
    assert read_flexible(reply, CHOICE) == letter


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Yes", "Yes"),
        ("**No**, it could not.", "No"),
        ("\\boxed{\\text{Yes}}", "Yes"),
        ("Answer: true", "Yes"),
        ("The answer is: **No**.", "No"),
        ('The answer to "Is it so?" is no.', "No"),
        ("It swims.\nSo no, it does not fly.", "No"),
        ("The answer is yes and no.", None),
        ("No one can tell.", None),
        ("Perhaps", None),
    ],
)
def test_yes_or_no(reply, answer):
    assert read_flexible(reply, YES_NO) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The answer is Lake Como.", "Lake Como"),
        ("**Answer:** J. R. Ruiz", "J. R. Ruiz"),
        ("Answer:\n\n“Lake Como”", "Lake Como"),
        ("The answer is **Lake Como**, in the north.", "Lake Como"),
        ("The answer is Lake Como. It is in the north.", "Lake Como"),
        ("\\boxed{\\text{Lake Como}}", "Lake Como"),
        ('{"answer": "Lake Como"}', "Lake Como"),
        ("Lake Como", "Lake Como"),
        ("#### Places\nThere are two.\n#### Lake Como", "Lake Como"),
        ("The answer is D.C.", "D.C."),
        ("  \n", None),
    ],
)
def test_texts(reply, answer):
    assert read_flexible(reply, TEXT) == answer


@pytest.mark.parametrize(
    ("reply", "expected", "answer"),
    [
        ("There are 3 tanks with 14", NUMBER, None),
        ("The answer is 1", NUMBER, None),
        ("The answer is 17. This is", NUMBER, "17"),
        ("So \\boxed{17} and then", NUMBER, "17"),
        ("17\n\nThis is 3 plus", NUMBER, "17"),
        ("1", NUMBER, None),
        ("First, a river flows. So it is", CHOICE, None),
        ("B. lake\nA river", CHOICE, "B"),
        ("B. lake, as a", CHOICE, "B"),
        ("B", CHOICE, None),
        ("It swims. No, it", YES_NO, None),
        ("No. It swims and", YES_NO, "No"),
        ("Lake", TEXT, "Lake"),
    ],
)
def test_a_reply_that_was_cut_names_no_answer_at_its_end(reply, expected, answer):
    assert read_flexible(reply, expected, cut=True) == answer


def reply_of(text: str, finish: FinishReason = FinishReason.STOP) -> Completion:
    return Completion(text, finish)


TASK = Task(
    "x",
    "d",
    "1",
    "Where? There're some choices: A. red, white, B. an, B.C. town, C. sea. The image shows the "
    "following contents: a town",
)


def test_phrase_is_the_reading_of_models_trained_by_lumos():
    reply = reply_of("It adds. The answer is **17** pens.")
    phrase = AnswerReader.PHRASE
    assert read_answer(reply, TASK, AnswerKind.NUMBER, phrase, read_cot_answer) == "**17** pens"
    assert read_answer(reply, TASK, AnswerKind.NUMBER, phrase, str.strip) == "It adds. The answer is **17** pens."
    assert read_answer(reply_of("17"), TASK, AnswerKind.NUMBER, phrase, read_cot_answer) is None


def test_the_choices_are_those_that_the_question_lists():
    assert split_choices(TASK.question)[1] == ("red, white", "an, B.C. town", "sea")
    assert split_choices("Where?")[1] == ()


@pytest.mark.parametrize(
    ("solver", "asked", "version", "reader"),
    [
        ("chat://one:1?model=m", "", 3, "flexible"),
        ("openai://one:1?model=m", "", 3, "phrase"),
        ("tgi://one:1", "flexible", 3, "flexible"),
        ("chat://one:1?model=m", "phrase", 3, "phrase"),
        ("chat://one:1?model=m", "", 2, "phrase"),
        ("chat://one:1?model=m", "flexible", 1, "phrase"),
    ],
)
def test_the_default_reader_follows_the_address(solver, asked, version, reader):
    agent = Agent({"solver": solver}, "maths", sampling=Sampling(), reader=asked)
    assert reader_of(agent, version) == reader
    assert find_stored_reader({"agent": agent.as_json(), "formulation_version": version}) == reader


def test_an_outcome_has_what_the_other_reader_sees_from_version_3_on():
    agent = Agent({"solver": "chat://one:1?model=m"}, "maths", answers=AnswerKind.NUMBER)
    reply = reply_of("So there are 17.")
    outcome = conclude(reply, TASK, agent, 3, read_cot_answer)
    assert (outcome.answer, outcome.ending, outcome.readings) == ("17", Ending.ANSWERED, (("phrase", None),))
    outcome = conclude(reply, TASK, agent, 2, read_cot_answer)
    assert (outcome.answer, outcome.message, outcome.readings) == (None, "the reply names no answer", ())
    cut = conclude(reply_of("So there are 1", FinishReason.LENGTH), TASK, agent, 3, read_cot_answer)
    assert (cut.answer, cut.message) == (None, "the reply reached the limit of tokens before it named an answer")


@given(st.text(alphabet=st.characters(codec=None)), st.sampled_from([NUMBER, CHOICE, YES_NO, TEXT]), st.booleans())
def test_no_reply_makes_a_reader_raise(reply, expected, cut):
    answer = read_flexible(reply, expected, cut)
    assert answer is None or answer.strip()


@given(st.text(alphabet="1234567890.,=-/ *$\\{}()boxedanswer is:#\nKth", max_size=80), st.booleans())
def test_whatever_looks_like_a_number_is_read_or_not(reply, cut):
    answer = read_flexible(reply, NUMBER, cut)
    assert answer is None or answer.strip()


@given(st.integers(-(10**12), 10**12), st.sampled_from(["**{}**", "\\boxed{{{}}}", "$ {} $", "`{}`", "({})", "x = {}"]))
def test_a_whole_number_survives_its_mark_up(number, form):
    answer = read_flexible(f"3 and 4. The answer is {form.format(number)}.", NUMBER)
    assert answer == str(number) and read_number(answer) == number


def test_rows_of_the_papers_read_phrases_and_another_reader_departs_from_them():
    _, row, column = find_row("3/CoT-maths/gsm8k")
    shared = {"data": None, "tools": (), "options": (), "live": False, "replay": "", "skip_bad_rows": False}
    assert make_request(row, column, roles={"solver": "chat://one:1?model=m"}, **shared).reader == "phrase"
    agent = Agent({"solver": "chat://one:1?model=m"}, "maths")
    infer = {"agent": agent.as_json(), "formulation_version": 3}
    assert "reader is flexible, not phrase" in departures(column, row.formulation, infer)
    chosen = {"agent": {**agent.as_json(), "reader": "phrase"}, "formulation_version": 3}
    earlier = infer | {"formulation_version": 2}
    for stored in (chosen, earlier):
        assert not [one for one in departures(column, row.formulation, stored) if one.startswith("reader")]
