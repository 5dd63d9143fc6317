"""An episode's journal: it turns steps into rows (db/journal/step_records.py reads them back).

Most prompts begin with an earlier prompt (db/journal/prompt_bases.py). An episode's first prompt begins with a text
that all first prompts of its role share. So only the rest of a prompt is stored, as `delta`: it follows the prompt at
position `base`, or the text block `prefix`. The task's question is removed from `delta`; reading inserts it at `question_at`.
`prompt_digest` verifies the restored prompt.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from db.engine.bulk import as_json
from db.engine.rows.steps import NewApproval, NewCompletion, NewEpisodeArtifact, NewExecution, NewSubgoal, NewToolCall
from db.journal.prompt_bases import PromptBases
from db.journal.step_records import NO, YES, RecordedStep, pack_digest
from db.journal.text_blocks import LONG, text_digest
from db.models.totals import NO_TOTALS, EpisodeTotals
from lumos_queue.commands import Approve, Ask, Call, Do, Result, Step
from lumos_queue.records import Action, Completion, Execution, FinishReason, Subgoal

RECENT_BYTES = 128 << 20  #: of artifacts that stay in memory for later steps and for scores
_SHORT = {"kind", "text"}  # values with only these keys are no longer than the result that shows them

StepKey = tuple[int, int, int, int, bytes]  #: episode, attempt, position, branch, digest of the command


@dataclass(slots=True)
class Contents:
    """Long texts, and artifacts with media types, that rows refer to by sha256. They are stored before the rows."""

    texts: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def of_rows(self, rows: Iterable[tuple]) -> Contents:
        """Return those of the contents to which these rows refer."""
        names = {value for row in rows for value in row if type(value) is str}
        return Contents(
            {digest: text for digest, text in self.texts.items() if digest in names},
            {digest: artifact for digest, artifact in self.artifacts.items() if digest in names},
        )


class Buffer:
    """Collects rows for the next commit, and the contents to which the rows refer. Each commit takes all of them.

    The buffer is bounded: while it has `most` rows or `most_characters` of text and bytes, `wait_for_capacity` keeps
    episodes from taking another step. Each episode may still add its present step, so a commit can exceed these limits
    by one step of each episode.
    """

    def __init__(
        self, most: int = 4096, enough: int = 256, most_characters: int = 8 << 20, enough_characters: int = 1 << 20
    ):
        self.limit = most
        self.enough = enough  #: rows that are worth a commit at once
        #: Of all waiting texts; 8 Mi characters take up to 32 MiB, as Python stores some characters in four bytes.
        self.most_characters = most_characters
        self.enough_characters = enough_characters  #: worth a commit at once
        self.size = 0
        self.characters = 0
        self._rows: dict[type, list[tuple]] = defaultdict(list)
        self._contents = Contents()
        self._recent: dict[str, bytes] = {}  #: artifacts by digest, the oldest first
        self._recent_bytes = 0
        self._sent_digests: set[str] = set()  # digests of texts that an earlier commit carried
        self._has_capacity, self._full = asyncio.Event(), asyncio.Event()

    def add(self, row: tuple, characters: int = 0) -> None:
        """Add a row of a type of db/rows. `characters`: the length of the row's texts, if they may be long."""
        self._rows[type(row)].append(row)
        self.size += 1
        self.characters += characters
        if self.size == self.enough or self.characters >= self.enough_characters:
            self._full.set()

    def add_text(self, text: str) -> str:
        """Keep a long text for the next commit, unless an earlier commit had it; return its digest."""
        key = text_digest(text)
        if key not in self._sent_digests and key not in self._contents.texts:
            self._contents.texts[key] = text
            self.characters += len(text)
        return key

    def add_artifact(self, episode: int, data: bytes, media_type: str) -> str:
        """Keep bytes that an episode names, for the next commit; return their sha256.

        They are sent even if an earlier commit had them, because an artifact without a row that names it may have been
        removed meanwhile.
        """
        key = hashlib.sha256(data).hexdigest()
        if key not in self._contents.artifacts:
            self._contents.artifacts[key] = (media_type, data)
            self.characters += len(data)
        self.add(NewEpisodeArtifact(episode, key))
        if key not in self._recent:
            self._recent[key] = data
            self._recent_bytes += len(data)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.pop(next(iter(self._recent))))
        return key

    def find_kept(self, digest: str) -> bytes | None:
        """Return the bytes of an artifact that was added recently, stored or not; None if it is not among them."""
        return self._recent.get(digest)

    def take(self) -> tuple[dict[type, list[tuple]], Contents]:
        """Remove and return all rows, by type, and their contents. The caller repeats the commit until it succeeds."""
        content = self._rows, self._contents
        self._rows, self._contents, self.size, self.characters = defaultdict(list), Contents(), 0, 0
        if len(self._sent_digests) < 10_000:  # bounds the digests to a few megabytes; a text sent twice is stored once
            self._sent_digests |= content[1].texts.keys()
        self._full.clear()
        self._has_capacity.set()
        return content

    def drop(self, episodes: Collection[int], contents: Contents) -> None:
        """Remove the rows of these episodes. `contents`: of a refused commit; what other rows need is sent again."""
        for row_type, rows in self._rows.items():
            self._rows[row_type] = [row for row in rows if row[0] not in episodes]
        self.size = sum(map(len, self._rows.values()))
        self._sent_digests -= contents.texts.keys()
        remaining = contents.of_rows(row for rows in self._rows.values() for row in rows)
        self._contents.texts |= remaining.texts
        self._contents.artifacts |= remaining.artifacts
        self._has_capacity.set()

    async def gather(self, seconds: float) -> None:
        """Return when there are enough rows for a commit, when no more will come, or after `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._full.wait()

    def stop_gathering(self) -> None:
        """End `gather`, because no running episode can add a row before the next commit."""
        self._full.set()

    async def wait_for_capacity(self) -> None:
        """Return once an episode may take its next step."""
        while self.size >= self.limit or self.characters >= self.most_characters:
            self._has_capacity.clear()
            await self._has_capacity.wait()


@dataclass(slots=True)
class EpisodeFigures:
    """Counts and sums over the steps of an attempt, including replayed steps."""

    code_version: str = ""  #: of the code that began the attempt
    subgoals: int = 0
    replies: int = 0  #: of models, and those that the task gave
    totals: EpisodeTotals = NO_TOTALS
    action_seconds: float = 0.0
    #: By role: calls, and their seconds: in the server, waiting here, lost in failed requests, in the server's queue.
    roles: dict[str, list[float]] = field(default_factory=dict)
    prompts: set[tuple[str, str]] = field(default_factory=set)  #: (role, digest of the text that prompts begin with)

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
