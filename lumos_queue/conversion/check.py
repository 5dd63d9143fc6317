"""Check the annotation of a row: read a teacher's reply or take gold steps, and yield verdicts and an outcome.

Each run of an item makes a new check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.conversion.form import INVALID, form_verdicts
from lumos_queue.conversion.lengths import CountTokens
from lumos_queue.conversion.oracle import with_stated_results
from lumos_queue.conversion.teacher import TeacherReply, next_prompt, read_reply
from lumos_queue.conversion.verdicts import (
    UNCHECKABLE,
    list_accepting_modules,
    make_verdicts,
    merge_verdicts,
    rejections,
)
from lumos_queue.formulations.answer import last_value
from lumos_queue.rationales.comparison import matches_stated
from lumos_queue.rationales.maths.doubtful_links import ambiguous_operands
from lumos_queue.records import (
    LEVELS,
    Action,
    AnnotatedSubgoal,
    Completion,
    Ending,
    Execution,
    Level,
    Outcome,
    Role,
    Task,
    Verdict,
)

MAX_DOUBTS = 10  #: in the detail of a verdict
#: An action, the result that the annotation states for it, and its execution.
ExecutedAction = tuple[Action, str, Execution]


@dataclass
class AnnotationCheck:
    """The check of one row's annotation. It knows the gold answer, and the teacher may know it from the source's plan.

    The check does not depend on time or chance, so that a replayed episode gets the same prompts and verdicts.
    """

    source: Benchmark
    task: Task
    max_tokens: int  #: of a module's conversation
    count: CountTokens
    prompt: str = ""  #: the next one for the teacher
    images: tuple[str, ...] = ()  #: shown with the prompt: sha256 of artifacts
    reasks: int = 0  #: remaining further attempts of the teacher
    verdicts: list[Verdict] = field(default_factory=list)  #: on the latest attempt
    steps: tuple[AnnotatedSubgoal, ...] = ()  #: of the latest attempt
    reviews_replies: bool = False  #: whether the source reviews the links, numbers and wording of the teacher's replies

    def read(self, completion: Completion) -> tuple[AnnotatedSubgoal, ...]:
        """Read the teacher's reply and judge its form. Return its steps in the form of `steps_to_act_out`."""
        steps = self.check(read_reply(completion, self.level != Level.FORMAT))
        if self.reviews_replies and self.is_usable:
            self.note_doubts(self.source.review_steps(self.task, self.steps).doubts)
        return steps

    @property
    def is_usable(self) -> bool:
        """Whether the latest attempt was read to its end, so that its steps can be judged."""
        return not any(verdict.name in ("truncated", "refused") for verdict in self.verdicts)

    def check(self, reading: TeacherReply) -> tuple[AnnotatedSubgoal, ...]:
        """Judge the form of an annotation. Return its steps as `steps_to_act_out` does, or () for an unusable reply."""
        self.steps, self.verdicts = reading.steps, list(reading.verdicts)
        if not self.is_usable:
            return ()
        self.verdicts += form_verdicts(self.source, self.task, self.steps, self.max_tokens, self.count, reading.unread)
        uncheckable = [verdict for verdict in self.verdicts if verdict.name in UNCHECKABLE[self.level]]
        self.verdicts += [replace(verdict, module=Role.PLANNER) for verdict in uncheckable]
        return self.steps_to_act_out()

    def steps_to_act_out(self) -> tuple[AnnotatedSubgoal, ...]:
        """Return the steps in the form that `oracle.StatedResults` can execute."""
        return tuple(map(with_stated_results, self.steps))

    def judge(self, executions: Sequence[ExecutedAction]) -> Outcome:
        """Add verdicts on the results of the executed actions, and return the annotation's outcome."""
        if any(verdict.name in UNCHECKABLE[self.level] for verdict in self.verdicts):
            return Outcome(None, Ending.UNREADABLE, rejections(self.verdicts)[0].name)
        if self.level == Level.FORMAT:
            return Outcome("", Ending.ANSWERED)
        for action, stated_result, execution in executions:
            self.verdicts += _result_verdicts(action, stated_result, execution)
        outcome = last_value([(action, execution) for action, _, execution in executions])
        if outcome.ending == Ending.ANSWERED and not self.source.is_right(self.task, outcome.answer):
            gold = self.source.gold_answer(self.task)
            self.verdicts += make_verdicts("wrong final answer", f"gives {outcome.answer}, expected {gold}")
        return outcome

    def should_retry(self, completion: Completion, verdicts: Sequence[Verdict] | None = None) -> bool:
        """Return whether the teacher must try again; then `prompt` is its next prompt, which lists the problems.

        `verdicts`: on the attempt, if its actions have not been run.
        """
        problems = rejections(merge_verdicts(self.verdicts if verdicts is None else verdicts))
        if not problems or not self.reasks:
            return False
        self.prompt = next_prompt(self.prompt, completion.text, problems)
        self.reasks -= 1
        return True

    def note_links(self, ambiguous: int | None, evidence: Sequence[str] = ()) -> None:
        """Add a verdict on ambiguous operands, if any. `ambiguous` is their number, or None to search the steps.

        `evidence`: what decides their links, for the verdict's detail.
        """
        operands = ambiguous_operands(self.steps, self.task.question) if ambiguous is None else list(evidence)
        if count := ambiguous or len(operands):
            description = f"{count} operand{'s' * (count > 1)}" + (f": {', '.join(operands)}" if operands else "")
            self.verdicts += make_verdicts("ambiguous link", description)

    def note_doubts(self, doubts: Sequence[str]) -> None:
        """Add the verdict `unsure` if the rule has doubts about its annotation."""
        if doubts:
            more = [f"and {len(doubts) - MAX_DOUBTS:,} more"] if len(doubts) > MAX_DOUBTS else []
            self.verdicts += make_verdicts("unsure", "; ".join([*doubts[:MAX_DOUBTS], *more]))

    @property
    def level(self) -> str:
        """The strongest check level that annotations of this source can reach: `executed` at most."""
        return min(self.source.check_level, "executed", key=LEVELS.index)

    def compute_level(self) -> str:
        """Return the check level that the annotation reached; '' if it is rejected for both modules."""
        return self.level if list_accepting_modules(self.verdicts) else ""


def _result_verdicts(action: Action, stated_result: str, execution: Execution) -> list[Verdict]:
    call = action.raw[:100]
    if not execution.ok:
        return make_verdicts("invalid result", f"{call}: {execution.message or execution.status}"[:200])
    if not stated_result.strip() or INVALID.fullmatch(stated_result.strip()):
        return []  # form.py gives a verdict on these
    matches = matches_stated(execution, stated_result)
    if matches:
        return []
    name = "text differs" if matches is None else "result differs"
    return make_verdicts(name, f"{call} gives {execution.result[:80]}")
