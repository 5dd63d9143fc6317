"""A-OKVQA: questions with four choices about photographs. The answers need knowledge that is not in the picture. Rows
have the published form; an invented row, and the text of its task:

    {"split": "val", "image_id": 1, "question_id": "1a", "question": "What is on the mat?", "correct_choice_idx": 2,
     "choices": ["dog", "shoe", "cat", "cup"], "rationales": ["There is a cat.", "The cat lies on a mat.", "A cat."]}

    What is on the mat? There're some choices: A. dog, B. shoe, C. cat, D. cup.

LUMOS reports the validation split. The test file has neither answers nor rationales: its rows can be used for
inference, not for evaluation. A row with an empty choice is left out; the val file has such a row. If two choices are
equal to the right choice, each of them is right. An image is a COCO file, named by its number in twelve digits:
`000000000001.jpg`. A row may contain its image. A row's caption is the end of the task's text. The rationale consists
of the texts of three people and the answer. It states no steps, so there is no conversion by rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.base import Benchmark, EpisodeResult, RowReader
from lumos_queue.benchmarks.choices import METRICS, choice_baselines, choice_scores, read_choices, read_right_choice
from lumos_queue.errors import BadRow, SpecError
from lumos_queue.prompts.choice_text import task_text
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.readers.fields import CONVERTING, ConversionFields, RowNode
from lumos_queue.readers.pictures import OPTIONS, Pictures, read_image_field
from lumos_queue.readers.records import read_records
from lumos_queue.readers.rows import tasks
from lumos_queue.records import Level, Score, Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.letters import LETTERS

FIELDS = ("question_id", "choices")
FORMAT = "an A-OKVQA file, rows with 'question_id', 'question', 'choices' and 'rationales'"
#: COCO's folders: an image is in one of these folders, or directly in the folder of images.
FOLDERS = ((), ("val2017",), ("train2017",), ("test2017",))
ENDINGS = ("jpg", "png")


class AOKVQA(Benchmark):
    name = "aokvqa"
    domain = "multimodal"
    answers = AnswerKind.CHOICE
    licence = "Apache-2.0"
    splits = ("train", "val", "test")
    options = OPTIONS
    metrics = METRICS
    check_level = Level.ORACLE_TOOL
    teacher_prompt = "multimodal"

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        unanswered_rows, conversion = 0, ConversionFields(required=False)
        for row in self._rows(conversion, path, split, **options):
            unanswered_rows += isinstance(row, Task) and not row.gold["answer"]
            yield row
        self.notes = [*self.notes, *conversion.notes()]
        self.unjudged = (
            f"{unanswered_rows} rows of '{path}' state no answer: evaluate the val file, or infer only."
            if unanswered_rows
            else ""
        )

    @property
    def teaching(self) -> RowReader:
        return RowReader(("train", "dev", "test"), self.options, partial(self._rows, CONVERTING))

    def _rows(
        self, conversion: ConversionFields, path: Path | None, split: str, **options: str
    ) -> Iterator[Task | BadRow]:
        self._pictures = pictures = Pictures(**options)
        self.artifacts = pictures.artifacts
        to_task = partial(self._task, pictures, conversion)
        yield from tasks(read_records(path, FORMAT, FIELDS), to_task)
        self.notes = pictures.notes()

    def _task(self, pictures: Pictures, conversion: ConversionFields, row: int, record: Mapping[str, Any]) -> Task:
        node = RowNode(row, "", record)
        choices = read_choices(node["choices"], len(LETTERS))
        answer = ""
        if "correct_choice_idx" in node:
            answer = read_right_choice(node["correct_choice_idx"], choices, node["choices"])
        rationales = conversion.read(
            lambda: node["rationales"].texts(raw=True) if "rationales" in node else [], list[str]()
        )
        identifier = node["question_id"].label() if "question_id" in node else str(row)
        image = node["image_id"].whole() if "image_id" in node else None
        content, name = read_image_field(node["image"]) if "image" in node else (None, "")
        if content is not None:
            image_fields = pictures.of_content(row, identifier, content, name)
        else:
            names = [f"{image:012}.{ending}" for ending in ENDINGS] if image is not None else [name] if name else []
            image_fields = pictures.of(row, identifier, [(*folder, name) for name in names for folder in FOLDERS])
        question = task_text(node["question"].text(verbatim=True), choices, image_fields["caption"])
        inputs = {"image_id": image, **image_fields}
        gold = {"answer": answer, "choices": choices, "rationales": rationales}
        return Task(self.name, "", identifier, question, inputs, gold)

    def score(self, task: Task, result: EpisodeResult) -> Sequence[Score]:
        if not task.gold["answer"]:
            raise SpecError(f"Row '{task.row}' of A-OKVQA states no answer: evaluate the val file, or infer only.")
        return choice_scores(task, result.answer)

    def baselines(self, tasks: Sequence[Task]) -> Mapping[str, Sequence[bool]]:
        return choice_baselines(tasks)

    def rationale(self, task: Task) -> str:
        if not task.gold["rationales"] or not task.gold["answer"]:
            raise NotConvertible("no_rationale")
        return f"{' '.join(task.gold['rationales'])} Overall, the final answer is '{task.gold['answer']}'."

    def is_right(self, task: Task, answer: str | None) -> bool:
        """Whether the answer is the right choice or its letter: the actions request only a letter."""
        if not task.gold["answer"]:
            return False
        letter = (answer or "").strip(" .").upper()
        index = LETTERS.find(letter) if len(letter) == 1 else -1
        if 0 <= index < len(task.gold["choices"]):
            answer = task.gold["choices"][index]
        return super().is_right(task, answer)


benchmark = AOKVQA()
