"""How a call of Finish is read: as ToolBench reads it (`protocol=toolbench`), and as this project does (`tolerant`)."""

from __future__ import annotations

import json
import random

import pytest

from lumos_queue.actions.tools.finish import read_finish, read_toolbench_finish
from lumos_queue.errors import ActionError

ERROR = ActionError  #: the model is sent an error, and the run continues
GAVE_UP = None

#: Arguments of Finish, what ToolBench makes of them, and what this project makes of them.
VARIANTS: list[tuple[str, str | type | None, str | type | None]] = [
    # JSON in ToolBench's spelling.
    ('{"return_type": "give_answer", "final_answer": "x"}', "x", "x"),
    ('{"final_answer":"x","return_type":"give_answer"}', "x", "x"),
    ('{"return_type": "give_answer", "final_answer": "a\nb"}', "a\nb", "a\nb"),
    ('{"return_type": "give_answer", "final_answer": {"town": "Ombry"}}', '{"town": "Ombry"}', '{"town": "Ombry"}'),
    ('{"return_type": "give_up_and_restart"}', GAVE_UP, GAVE_UP),
    ('{"return_type": "give_up_and_restart", "final_answer": "x"}', GAVE_UP, GAVE_UP),
    # A null answer is an answer of ToolBench.
    ('{"return_type": "give_answer", "final_answer": null}', "null", ERROR),
    # Without return_type, with other spellings, or with other values.
    ('{"final_answer": "x"}', ERROR, "x"),
    ('{"Answer": "x"}', ERROR, "x"),
    ('{"return_type": "give_answer", "Answer": "x"}', ERROR, "x"),
    ('{"Return_Type": "give_answer", "final_answer": "x"}', ERROR, "x"),
    ('{"return_type": "Give_Answer", "final_answer": "x"}', ERROR, ERROR),
    ('{"return_type": "give_answer"}', ERROR, ERROR),
    ("{}", ERROR, ERROR),
    ("", ERROR, ERROR),
    # Single quotes are no JSON, and do not have the exact text.
    ("{'return_type': 'give_answer', 'final_answer': 'x'}", ERROR, "x"),
    ("{'return_type': 'give_up_and_restart'}", ERROR, GAVE_UP),
    # Broken JSON with the exact text.
    ('{"return_type": "give_answer", "final_answer": "He said "yes"."}', 'He said "yes".', 'He said "yes".'),
    ('{"final_answer": "He said "yes"", "return_type": "give_answer"}', 'He said "yes"', 'He said "yes"'),
    ('{"return_type": "give_answer", "final_answer": "cut off in the mid', "cut off in the mid", "cut off in the mid"),
    ('{"return_type": "give_up_and_restart"', GAVE_UP, GAVE_UP),
    # Broken JSON without the exact text of return_type, or of final_answer.
    ('{"return_type":"give_answer","final_answer":"He said "yes"."}', ERROR, 'He said "yes".'),
    ('{"final_answer": "He said "yes"."}', ERROR, 'He said "yes".'),
    ('{"return_type": "give_answer", "final_answer":"He said "yes"."}', ERROR, 'He said "yes".'),
]


def read(reader, text: str) -> str | type | None:
    try:
        return reader(text)
    except ActionError as error:
        assert error.kind == "invalid_arguments" and str(error).isprintable()
        return ERROR


def test_there_are_24():
    assert len({text for text, _, _ in VARIANTS}) == 24


@pytest.mark.parametrize(("text", "toolbench", "tolerant"), VARIANTS)
def test_each_variant_is_read_by_its_protocol(text, toolbench, tolerant):
    assert read(read_toolbench_finish, text) == toolbench
    assert read(read_finish, text) == tolerant


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "1",
        "null",
        '"give_answer"',
        '["return_type"]',
        '{"return_type": ["give_answer"], "final_answer": "x"}',
        '{"return_type": {"a": 1}, "final_answer": "x"}',
        '{"return_type": null, "final_answer": "x"}',
        "{" * 10_000,
        "[" * 90_000,
        '"' + " " * 90_000 + "x",
        '"final_answer": "' + '" ' * 40_000,
        "Ombry",
    ],
)
def test_anything_else_is_an_error_in_one_line(text):
    assert read(read_toolbench_finish, text) is ERROR


def test_hostile_answers_can_be_stored():
    for text in (
        '{"return_type": "give_answer", "final_answer": "a\\u0000\\ud800b"}',
        '{"return_type": "give_answer", "final_answer": "a\\u0000\ud800b',
        '{"return_type": "give_answer", "final_answer": ' + "[" * 90 + "]" * 90 + "}",
        '{"return_type": "give_answer", "final_answer": "' + '" ' * 40_000,
        '{"return_type": "give_answer", "final_answer": ' + "9" * 9_000 + "}",
    ):
        answer = read(read_toolbench_finish, text)
        if isinstance(answer, str):
            answer.encode()
            assert "\x00" not in answer


def oracle(text: str) -> str:
    """What ToolBench makes of a text: answer, give up or error. Written from the rules, for texts of any form."""
    try:
        fields = json.loads(text, strict=False)
    except ValueError:
        fields = {}
        for kind in ("give_up_and_restart", "give_answer"):  # the latter counts if both are there
            if f'"return_type": "{kind}"' in text:
                fields["return_type"] = kind
        if '"final_answer": "' in text:
            fields["final_answer"] = ""
    if not isinstance(fields, dict):
        return "error"
    if fields.get("return_type") == "give_up_and_restart":
        return "give up"
    return "answer" if fields.get("return_type") == "give_answer" and "final_answer" in fields else "error"


def test_random_texts_are_read_as_the_rules_say():
    rng = random.Random(49)
    pieces = [
        '{"return_type": "give_answer"',
        '"return_type"',
        '"give_answer"',
        '"give_up_and_restart"',
        '"final_answer"',
    ]
    pieces += ["'return_type'", ": ", ":", ", ", ",", "{", "}", '"', "x", "null", '"x"', "\n", "\\", '"Answer"', " "]
    seen = set()
    for _ in range(20_000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randrange(14)))
        if rng.random() < 0.5:
            text = f'{{"return_type": {rng.choice(pieces)}, "final_answer": {text}'
        answer = read(read_toolbench_finish, text)
        made = "error" if answer is ERROR else "give up" if answer is None else "answer"
        assert made == oracle(text), text
        seen.add(made)
    assert seen == {"error", "give up", "answer"}
