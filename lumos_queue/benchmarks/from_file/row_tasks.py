"""Make tasks from rows of a user's file: question, right answers, choices, image, and all other columns as `meta`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.from_file.cells import cell_of, describe, read_list, read_text, write_scalar
from lumos_queue.benchmarks.from_file.definition import FileDefinition
from lumos_queue.benchmarks.from_file.row_choices import Choices, columns_of, find_choice, read_choices
from lumos_queue.benchmarks.from_file.scorers import compares
from lumos_queue.errors import BadRow
from lumos_queue.prompts.choice_text import task_text
from lumos_queue.readers.pictures import Pictures
from lumos_queue.readers.rows import plain_number
from lumos_queue.records import Task
from lumos_queue.scoring.numeric import read_number

_YES, _NO = ("yes", "true", "y", "t", "1"), ("no", "false", "n", "f", "0")
_TRUTH: dict[str, str] = {**{word: "Yes" for word in _YES}, **{word: "No" for word in _NO}}


class RowTasks:
    """Makes tasks of rows. `pictures` finds images below the file's folder; None if the rows come from no file."""

    def __init__(self, definition: FileDefinition, pictures: Pictures | None):
        self._definition, self._pictures = definition, pictures

    def make(self, row: int, record: Mapping[str, Any]) -> Task:
        """Return the task of a row. Raises BadRow."""
        fields, scorer = self._definition.fields, self._definition.scorer
        identifier = read_text(record, row, fields.id) if fields.id else str(row)
        question = read_text(record, row, fields.question)
        choices = read_choices(record, row, fields.choices) if fields.choices else None
        inputs = self._read_image(record, row, identifier) if fields.images else {}
        answers = [self._read_answer(row, name, value, choices) for name, value in read_answers(record, fields.answers)]
        answers = list(dict.fromkeys(answers))
        if scorer and compares(scorer, self._definition.judge) and not answers:
            raise BadRow(row, ", ".join(fields.answers), "no answer")
        gold: dict[str, Any] = {}
        if answers:
            gold["answer"] = answers[0]
        if len(answers) > 1:
            gold["answers"] = answers
        if choices:
            gold["choices"] = list(choices.texts)
            question = task_text(question, choices.texts)
        if fields.rationale and cell_of(record, fields.rationale) is not None:
            gold["rationale"] = read_text(record, row, fields.rationale)
        if meta := self._read_meta(record):
            gold["meta"] = meta
        return Task(self._definition.name, "", identifier, question, inputs, gold or None)

    def _read_meta(self, record: Mapping[str, Any]) -> dict[str, Any]:
        fields = self._definition.fields
        used_names = {fields.question, fields.id, fields.images, fields.rationale, *fields.answers}
        if fields.choices:
            used_names.update(columns_of(fields.choices, record))
        return {name: value for name, value in record.items() if name not in used_names}

    def _read_answer(self, row: int, name: str, value: Any, choices: Choices | None) -> str:
        text = write_scalar(value)
        if text is None:
            raise BadRow(row, name, f"expected a text or a number, found {describe(value)}")
        scorer = self._definition.scorer
        if scorer == "number":
            if (number := read_number(text)) is None:
                raise BadRow(row, name, f"expected a number, found {describe(text)}")
            return plain_number(number)
        if scorer == "yes_no":
            if text.casefold().rstrip(".") not in _TRUTH:
                raise BadRow(row, name, f"expected yes or no, found {describe(text)}")
            return _TRUTH[text.casefold().rstrip(".")]
        if choices and self._definition.answer_form:
            index = find_choice(text, choices, self._definition.answer_form)
            if index is None:
                raise BadRow(row, name, f"{describe(text)} is none of the {len(choices.texts)} choices")
            return choices.texts[index]
        return text

    def _read_image(self, record: Mapping[str, Any], row: int, identifier: str) -> dict[str, Any]:
        name = self._definition.fields.images
        value = cell_of(record, name)
        cell_list = read_list(value)
        paths = [value] if not isinstance(cell_list, list) else cell_list
        if value is None or not paths:
            return {"image": None, "image_name": "", "caption": ""}
        if len(paths) > 1:
            raise BadRow(row, name, f"{len(paths)} images, expected one")
        if not isinstance(paths[0], str):
            raise BadRow(row, name, f"expected the path of an image, found {describe(paths[0])}")
        if self._pictures is None:
            raise BadRow(row, name, "images are read below the folder of a file, and these rows come from no file")
        parts = tuple(part for part in paths[0].strip().split("/") if part != ".")
        if not all(parts) or ".." in parts or any(character in paths[0] for character in "\\\0"):
            expectation = "expected a path below the file's folder, such as a/b.png"
            raise BadRow(row, name, f"{expectation}, found {describe(paths[0])}")
        inputs = self._pictures.of(row, identifier, [parts])
        if inputs["image"] is None:
            raise BadRow(row, name, f"no image {describe(paths[0])} below the file's folder")
        return inputs


def read_answers(record: Mapping[str, Any], names: Sequence[str]) -> list[tuple[str, Any]]:
    """Return pairs (field, right answer) of a row. A field has an answer or a list of answers.

    A cell of a table may have a list of texts as JSON.
    """
    answers = []
    for name in names:
        value = cell_of(record, name)
        cell_list = read_list(value)
        if not isinstance(cell_list, list) or (
            isinstance(value, str) and not all(isinstance(text, str) for text in cell_list)
        ):
            cell_list = [value]
        answers += [(name, answer) for answer in cell_list if answer is not None and answer != ""]
    return answers


def pictures_beside(path: Path) -> Pictures:
    """Return a finder of images below `path` if it is a folder of rows, else below the folder of the file `path`."""
    return Pictures(images=str(path if path.is_dir() else path.absolute().parent))
