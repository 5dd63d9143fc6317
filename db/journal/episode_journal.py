"""An episode's journal: it turns steps into rows (db/journal/step_records.py reads them back).

Most prompts begin with an earlier prompt (db/journal/prompt_bases.py). An episode's first prompt begins with a text
that all first prompts of its role share. So only the rest of a prompt is stored, as `delta`: it follows the prompt at
position `base`, or the text block `prefix`. The task's question is removed from `delta`; reading inserts it at
`question_at`. `prompt_digest` verifies the restored prompt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from db.engine.bulk import as_json
from db.engine.rows.steps import NewApproval, NewCompletion, NewExecution, NewSubgoal, NewToolCall
from db.journal.buffer import Buffer
from db.journal.prompt_bases import PromptBases
from db.journal.step_records import NO, YES, RecordedStep, pack_digest
from db.journal.text_blocks import LONG, text_digest
from db.kinds.totals import NO_TOTALS, EpisodeTotals
from lumos_queue.commands import Approve, Ask, Call, Do, Result, Step
from lumos_queue.records import Action, Completion, Execution, FinishReason, Subgoal

_SHORT = {"kind", "text"}  # values with only these keys are no longer than the result that shows them

StepKey = tuple[int, int, int, int, bytes]  #: episode, attempt, position, branch, digest of the command


@dataclass(slots=True)
class EpisodeFigures:
    """Counts and sums over the steps of an attempt, including replayed steps."""

    code_version: str = ""  #: of the code that began the attempt
    subgoals: int = 0
    replies: int = 0  #: of models, and those that the task gave
    totals: EpisodeTotals = NO_TOTALS
    action_seconds: float = 0.0
    #: By role: calls, and their seconds: in the server, waiting here, lost in failed requests, in the server's queue.
    roles: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    #: (role, digest of the text that prompts begin with)
    prompts: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def add_reply(self, role: str, completion: Completion, prefix: str | None) -> None:
        self.replies += 1
        self.totals = self.totals.with_reply(completion)
        if completion.finish_reason == FinishReason.GIVEN:
            return
        sums = self.roles.setdefault(role, [0, 0.0, 0.0, 0.0, 0.0])
        sums[0] += 1
        sums[1] += completion.seconds
        sums[2] += completion.waited
        sums[3] += completion.lost
        sums[4] += completion.queued
        if prefix is not None:
            self.prompts.add((role, prefix))


class EpisodeJournal:
    """The recorded steps of one attempt, to which new steps are added."""

    def __init__(
        self,
        episode: int,
        attempt: int,
        buffer: Buffer,
        heads: Mapping[str, str],
        code_version: str = "",
        question: str = "",
    ):
        """`heads`: by role, the text that prompts begin with. `question`: of the task, omitted from stored prompts."""
        self.episode, self.attempt = episode, attempt
        self._question = question.strip()
        self.figures = EpisodeFigures(code_version)
        self._buffer, self._heads = buffer, heads
        self._steps: dict[tuple[int, int], tuple[str, Result]] = {}
        self._bases = PromptBases()

    def find(self, position: int, branch: int) -> tuple[str, Result] | None:
        return self._steps.get((position, branch))

    def recall(self, step: RecordedStep) -> None:
        """Add a step that was read from the database. A plan that a person has not answered is skipped."""
        if isinstance(step.detail, Approve) and step.result is None:
            return
        self._steps[step.position, step.branch] = (step.command, step.result)
        if isinstance(step.result, Completion):
            self.figures.add_reply(step.role, step.result, step.prefix)
            self._bases.add(step.role, step.prompt, step.position, step.branch, step.parent)
        else:
            if isinstance(step.detail, Subgoal):
                self.figures.subgoals += 1
            elif isinstance(step.detail, Action) and step.result is not None:
                self.figures.action_seconds += step.result.seconds
            self._bases.add_other(step.position, step.parent)

    def keep(self, data: bytes, media_type: str) -> str:
        return self._buffer.add_artifact(self.episode, data, media_type)

    def find_kept(self, digest: str) -> bytes | None:
        return self._buffer.find_kept(digest)

    async def wait_for_capacity(self) -> None:
        await self._buffer.wait_for_capacity()

    def record(self, step: Step) -> None:
        command, outcome = step.command, step.result
        step_key: StepKey = (self.episode, self.attempt, step.position, step.branch, pack_digest(command.digest))
        if isinstance(command, Ask):
            assert isinstance(outcome, Completion)
            self._record_completion(step_key, command, outcome, step)
        elif isinstance(command, Do):
            assert isinstance(outcome, Execution)
            action = command.action
            self._bases.add_other(step.position, command.parent)
            self.figures.action_seconds += outcome.seconds
            self._buffer.add(
                NewExecution(
                    *step_key,
                    command.parent,
                    as_json(action.variables),
                    action.name,
                    action.arguments,
                    action.raw,
                    *self._outcome_of(outcome),
                ),
                len(action.raw) + len(outcome.result) + len(outcome.message),
            )
        elif isinstance(command, Call):
            assert isinstance(outcome, Execution)
            arguments = as_json(command.arguments)
            row = NewToolCall(*step_key, command.tool, arguments, *self._outcome_of(outcome), outcome.provenance)
            self._buffer.add(row, len(outcome.result) + len(outcome.message))
        elif isinstance(command, Approve):
            self._buffer.add(NewApproval(*step_key, command.shown, *_answer_of(outcome)), len(command.shown))
        else:
            self.figures.subgoals += 1
            self._buffer.add(NewSubgoal(*step_key, command.subgoal.number, command.subgoal.text))

    def _record_completion(self, step_key: StepKey, ask: Ask, completion: Completion, step: Step) -> None:
        prompt = ask.prompt
        base, prefix, delta = None, None, prompt
        if (match := self._bases.find(ask.role, prompt, ask.parent)) is not None:
            base, base_prompt = match
            delta = prompt[len(base_prompt) :]
        elif (head := self._heads.get(ask.role)) and prompt.startswith(head):
            prefix, delta = self._buffer.add_text(head), prompt[len(head) :]
        question_at = None
        if base is None and self._question and len(delta) < LONG and (index := delta.find(self._question)) >= 0:
            question_at, delta = index, delta[:index] + delta[index + len(self._question) :]
        delta, delta_block = self._pack(delta)
        candidates = (
            as_json([[candidate.text, candidate.logprob] for candidate in completion.candidates])
            if completion.candidates
            else None
        )
        self._buffer.add(
            NewCompletion(
                *step_key,
                ask.parent,
                str(ask.role),  # sqlite3 takes 1 µs longer for a subclass of str
                pack_digest(text_digest(prompt)),
                base,
                prefix,
                delta,
                delta_block,
                question_at,
                completion.text,
                str(completion.finish_reason),
                completion.prompt_tokens,
                completion.completion_tokens,
                completion.retries,
                completion.replaced,
                completion.seconds,
                completion.waited,
                completion.lost,
                completion.queued,
                completion.note,
                candidates,
                completion.reasoning or None,
                completion.reasoning_tokens or None,
                completion.message or None,
            ),
            len(delta) + len(completion.text) + len(completion.reasoning) + len(completion.message),
        )
        self.figures.add_reply(ask.role, completion, prefix)
        self._bases.add(ask.role, prompt, step.position, step.branch, ask.parent)

    def _outcome_of(self, execution: Execution) -> tuple[str, str, str | None, str | None, str | None, str, float]:
        """Return status, result, outputs, message and seconds for a row. Outputs may be long if the result is short."""
        values = list(execution.values)
        result, result_block = self._pack(execution.result)
        outputs_block = None
        if result_block or any(value.keys() - _SHORT for value in values):
            _, outputs_block = self._pack(json.dumps(values))
        outputs = None if outputs_block else as_json(values)
        return execution.status, result, result_block, outputs, outputs_block, execution.message, execution.seconds

    def _pack(self, text: str) -> tuple[str, str | None]:
        """Return the text for the row and None; for a long text '' and the digest of its text block."""
        return (text, None) if len(text) < LONG else ("", self._buffer.add_text(text))


def _answer_of(outcome: Result) -> tuple[str, str, str]:
    """Return answer, note and name for a plan's row; they are empty before a person answers."""
    if not isinstance(outcome, Execution):
        return "", "", ""
    return YES if outcome.ok else NO, outcome.result, str(outcome.values[0]["text"])
