"""GSM8K, plain and socratic: the rationale is the solution, the rule its marks (benchmarks/gsm8k/rationale.py).

In the socratic files, where a line is `sub-question ** step`, the rationale is the text after the first ` ** ` with the
others taken out, as the LUMOS annotations were made; marks stay, they are part of the steps there. In the plain files
it is the lines without their marks.
"""

from __future__ import annotations

import re

from lumos_queue.benchmarks.source import Reference
from lumos_queue.benchmarks.word_problems import MathsSource, doubtful_operands
from lumos_queue.rationales.maths.readings import readings
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.records import Task
from lumos_queue.scoring.numeric import read_number

_BEFORE_STEP = " ** "
_MARK = re.compile(r"<<[^<>]*>>")


class GSM8K(MathsSource):
    def plan(self, task: Task) -> str:
        solution = task.gold["solution"]
        if _BEFORE_STEP in solution:
            return " ".join(solution.split(_BEFORE_STEP)[1:])
        text = _MARK.sub("", solution)
        if not text.strip():
            raise NotConvertible("no_rationale")
        return text

    def reference(self, task: Task) -> Reference | None:
        """Every plausible reading of the marks, as a mark does not say which operands are earlier results."""
        programs = readings(task.question, task.gold["solution"], read_number(task.gold["answer"]))
        return Reference(programs) if programs else None

    def ambiguous(self, task: Task) -> int:
        return doubtful_operands(self, task)


source = GSM8K("gsm8k")
