"""Write the text of a question with choices, and split such a text into its parts.

Training and inference use the same function, so that their texts are equal (spec/lumos.md 1.11).
"""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.scoring.letters import LETTERS

CHOICES = " There're some choices: "
SHOWS = " The image shows the following contents: "


def task_text(question: str, choices: Sequence[str], caption: str = "") -> str:
    """Return the question, its choices with their letters, and the caption of the image, if any."""
    choice_list = ", ".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False))
    text = f"{question}{CHOICES}{choice_list}."
    return f"{text}{SHOWS}{caption}" if caption else text


def split_choices(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the question of a text by `task_text`, with its caption, and the choices without their letters.

    If the text lists no choices, there are none.
    """
    question, mark, rest = text.partition(CHOICES)
    if not mark:
        return text, ()
    choice_list, shows, caption = rest.partition(SHOWS)
    remaining = choice_list.strip().removesuffix(".").removeprefix(f"{LETTERS[0]}. ")
    choices = []
    for letter in LETTERS[1:]:
        choice, comma, remaining = remaining.partition(f", {letter}. ")
        choices.append(choice)
        if not comma:
            break
    return f"{question}{shows}{caption}", tuple(choices)


def write_choices(choices: Sequence[str]) -> str:
    """Return the choices with their letters as text, each on its own line."""
    return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False))
