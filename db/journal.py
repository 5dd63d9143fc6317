"""An episode's journal: steps as rows (db/step_records.py reads them back).

A prompt mostly repeats an earlier one (db/prompt_bases.py), and the first begins like every other of its role and then
has the task's question. So only what is new is stored: `delta`, after the prompt at `base` or the text block `prefix`,
without the question, which goes in at `question_at`; `prompt_digest` says what must come out.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from db.bulk import as_json
from db.models import Approval, Attempt, CompletionRow, EpisodeArtifact, ExecutionRow, SubgoalRow, ToolCallRow
from db.prompt_bases import PromptBases
from db.step_records import NO, YES, RecordedStep, stored_digest
from db.text_blocks import LONG, text_digest
from lumos_queue.commands import Approve, Ask, Call, Do, Result, Step
from lumos_queue.records import Action, Completion, Execution, FinishReason, Subgoal

RECENT_BYTES = 128 << 20  #: of artifacts that are at hand for later steps and for scores
_SHORT = {"kind", "text"}  # values of these alone are no longer than the result that shows them
_PLACE = ("episode", "attempt", "position", "branch", "command")
COLUMNS: dict[type, tuple[str, ...]] = {
    SubgoalRow: (*_PLACE, "number", "text"),
    EpisodeArtifact: ("episode", "digest"),
    CompletionRow: (
        *_PLACE,
        "role",
        "prompt_digest",
        "base",
        "prefix",
        "delta",
        "delta_block",
        "question_at",
        "reply",
        "finish_reason",
        "prompt_tokens",
        "completion_tokens",
        "retries",
        "replaced",
        "seconds",
        "waited",
        "lost",
        "queued",
        "note",
        "parent",
        "candidates",
        "reasoning",
        "reasoning_tokens",
        "message",
    ),
    ExecutionRow: (
        *_PLACE,
        "variables",
        "name",
        "arguments",
        "raw",
        "status",
        "result",
        "result_block",
        "outputs",
        "outputs_block",
        "message",
        "seconds",
        "parent",
    ),
    ToolCallRow: (
        *_PLACE,
        "tool",
        "arguments",
        "status",
        "result",
        "result_block",
        "outputs",
        "outputs_block",
        "message",
        "seconds",
        "provenance",
    ),
    Approval: (*_PLACE, "shown", "answer", "note", "who"),
    Attempt: ("episode", "number", "code_version"),
}
#: What must not change when a row arrives a second time.
COMPARED: dict[type, tuple[str, ...]] = {
    SubgoalRow: ("command",),
    CompletionRow: ("command", "reply"),
    ExecutionRow: ("command", "status", "result", "result_block"),
    ToolCallRow: ("command", "status", "result", "result_block"),
    Approval: ("command",),  # a person may have answered meanwhile
}


@dataclass(slots=True)
class Contents:
    """What rows refer to by sha256: long texts, and artifacts with their media types. Stored before the rows are."""

    texts: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    def of_rows(self, rows: Iterable[tuple]) -> Contents:
        """Those that these rows name."""
        named = {value for row in rows for value in row if type(value) is str}
        return Contents(
            {digest: text for digest, text in self.texts.items() if digest in named},
            {digest: one for digest, one in self.artifacts.items() if digest in named},
        )


class Buffer:
    """Rows on their way to the database, and what they refer to. Emptied whole by each commit.

    Bounded: while more than `most` rows wait, or more than `most_characters` of text and bytes, `wait_for_capacity`
    keeps the episodes from going on. What is in flight by then still comes in, so a commit carries at most that and one
    step of each episode.
    """

    def __init__(
        self, most: int = 4096, enough: int = 256, most_characters: int = 8 << 20, enough_characters: int = 1 << 20
    ):
        self.most = most
        self.enough = enough  #: rows that are worth a commit at once
        #: Of all texts that wait; 8 Mi characters take up to 32 MiB, as Python keeps four bytes for the rarest ones.
        self.most_characters = most_characters
        self.enough_characters = enough_characters  #: worth a commit at once
        self.size = 0
        self.characters = 0
        self._rows: dict[type, list[tuple]] = defaultdict(list)
        self._contents = Contents()
        self._recent: dict[str, bytes] = {}  #: artifacts by digest, the oldest first
        self._recent_bytes = 0
        self._sent: set[str] = set()  # digests of texts that an earlier commit carried
        self._emptied, self._full = asyncio.Event(), asyncio.Event()

    def add(self, table: type, row: tuple, characters: int = 0) -> None:
        """`characters`: of the texts in the row, where they may be long."""
        self._rows[table].append(row)
        self.size += 1
        self.characters += characters
        if self.size == self.enough or self.characters >= self.enough_characters:
            self._full.set()

    def add_text(self, text: str) -> str:
        """Keep a long text; returns its digest."""
        key = text_digest(text)
        if key not in self._sent and key not in self._contents.texts:
            self._contents.texts[key] = text
            self.characters += len(text)
        return key

    def add_artifact(self, episode: int, data: bytes, media_type: str) -> str:
        """Keep bytes that an episode names; returns their sha256. They are sent even if an earlier commit carried
        them: what no row names any more is removed."""
        key = hashlib.sha256(data).hexdigest()
        if key not in self._contents.artifacts:
            self._contents.artifacts[key] = (media_type, data)
            self.characters += len(data)
        self.add(EpisodeArtifact, (episode, key))
        if key not in self._recent:
            self._recent[key] = data
            self._recent_bytes += len(data)
        while self._recent_bytes > RECENT_BYTES and len(self._recent) > 1:
            self._recent_bytes -= len(self._recent.pop(next(iter(self._recent))))
        return key

    def find_kept(self, digest: str) -> bytes | None:
        """The bytes of an artifact of late, stored or not. What is not stored yet is less than what is kept here."""
        return self._recent.get(digest)

    def take(self) -> tuple[dict[type, list[tuple]], Contents]:
        """All rows by table, and what they refer to. The caller sends them again until they have arrived."""
        taken = self._rows, self._contents
        self._rows, self._contents, self.size, self.characters = defaultdict(list), Contents(), 0, 0
        if len(self._sent) < 10_000:  # no more than a few megabytes of digests; a text sent twice is stored once
            self._sent |= taken[1].texts.keys()
        self._full.clear()
        self._emptied.set()
        return taken

    def drop(self, episodes: Collection[int], contents: Contents) -> None:
        """Forget the rows of these episodes. What else names the `contents` brings them again."""
        for table, rows in self._rows.items():
            self._rows[table] = [row for row in rows if row[0] not in episodes]
        self.size = sum(map(len, self._rows.values()))
        self._sent -= contents.texts.keys()
        left = contents.of_rows(row for rows in self._rows.values() for row in rows)
        self._contents.texts |= left.texts
        self._contents.artifacts |= left.artifacts
        self._emptied.set()

    async def gather(self, seconds: float) -> None:
        """Returns when there are rows enough for a commit, when no more will come, or after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._full.wait()

    def stop_gathering(self) -> None:
        """End `gather`, as nothing that runs could add a row before the next commit."""
        self._full.set()

    async def wait_for_capacity(self) -> None:
        """Returns once a further step may be taken."""
        while self.size >= self.most or self.characters >= self.most_characters:
            self._emptied.clear()
            await self._emptied.wait()


@dataclass(slots=True)
class EpisodeFigures:
    """What is counted of an attempt, replayed steps included."""

    code_version: str = ""  #: of the code that began the attempt
    subgoals: int = 0
    replies: int = 0  #: of models, and those that the task gave
    calls: int = 0  #: replies that a model was asked for
    prompt_tokens: int = 0
    completion_tokens: int = 0
    action_seconds: float = 0.0
    #: By role: calls, and their seconds: in the server, waiting here, lost in failed requests, in the server's queue.
    roles: dict[str, list[float]] = field(default_factory=dict)
    prompts: set[tuple[str, str]] = field(default_factory=set)  #: (role, digest of the text that prompts begin with)

    def add_reply(self, role: str, done: Completion, prefix: str | None) -> None:
        self.replies += 1
        self.prompt_tokens += done.prompt_tokens
        self.completion_tokens += done.completion_tokens
        if done.finish_reason == FinishReason.GIVEN:
            return
        self.calls += 1
        sums = self.roles.setdefault(role, [0, 0.0, 0.0, 0.0, 0.0])
        sums[0] += 1
        sums[1] += done.seconds
        sums[2] += done.waited
        sums[3] += done.lost
        sums[4] += done.queued
        if prefix is not None:
            self.prompts.add((role, prefix))


class EpisodeJournal:
    """The recorded steps of one attempt, and the way in for new ones."""

    def __init__(
        self,
        episode: int,
        attempt: int,
        buffer: Buffer,
        heads: Mapping[str, str],
        code_version: str = "",
        question: str = "",
    ):
        """`heads`: role to the text that its prompts begin with. `question`: the task's, left out of prompts."""
        self.episode, self.attempt = episode, attempt
        self._question = question.strip()
        self.figures = EpisodeFigures(code_version)
        self._buffer, self._heads = buffer, heads
        self._known: dict[tuple[int, int], tuple[str, Result]] = {}
        self._bases = PromptBases()

    def find(self, position: int, branch: int) -> tuple[str, Result] | None:
        return self._known.get((position, branch))

    def recall(self, step: RecordedStep) -> None:
        """Take in a step that the database holds. A question that has no answer yet is none."""
        if isinstance(step.detail, Approve) and step.result is None:
            return
        self._known[step.position, step.branch] = (step.command, step.result)
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
        command, done = step.command, step.result
        place = (self.episode, self.attempt, step.position, step.branch, stored_digest(command.digest))
        if isinstance(command, Ask):
            assert isinstance(done, Completion)
            self._record_completion(place, command, done, step)
        elif isinstance(command, Do):
            assert isinstance(done, Execution)
            action = command.action
            self._bases.add_other(step.position, command.parent)
            self.figures.action_seconds += done.seconds
            self._buffer.add(
                ExecutionRow,
                (
                    *place,
                    as_json(action.variables),
                    action.name,
                    action.arguments,
                    action.raw,
                    *self._outcome_of(done),
                    command.parent,
                ),
                len(action.raw) + len(done.result) + len(done.message),
            )
        elif isinstance(command, Call):
            assert isinstance(done, Execution)
            row = (*place, command.tool, as_json(command.arguments), *self._outcome_of(done), done.provenance)
            self._buffer.add(ToolCallRow, row, len(done.result) + len(done.message))
        elif isinstance(command, Approve):
            self._buffer.add(Approval, (*place, command.shown, *_answer_of(done)), len(command.shown))
        else:
            self.figures.subgoals += 1
            self._buffer.add(SubgoalRow, (*place, command.subgoal.number, command.subgoal.text))

    def _record_completion(self, place: tuple, ask: Ask, done: Completion, step: Step) -> None:
        prompt = ask.prompt
        base, prefix, delta = None, None, prompt
        if (found := self._bases.find(ask.role, prompt, ask.parent)) is not None:
            base, known = found
            delta = prompt[len(known) :]
        elif (head := self._heads.get(ask.role)) and prompt.startswith(head):
            prefix, delta = self._buffer.add_text(head), prompt[len(head) :]
        question_at = None
        if base is None and self._question and len(delta) < LONG and (at := delta.find(self._question)) >= 0:
            question_at, delta = at, delta[:at] + delta[at + len(self._question) :]
        delta, delta_block = self._pack(delta)
        candidates = as_json([[one.text, one.logprob] for one in done.candidates]) if done.candidates else None
        self._buffer.add(
            CompletionRow,
            (
                *place,
                ask.role,
                stored_digest(text_digest(prompt)),
                base,
                prefix,
                delta,
                delta_block,
                question_at,
                done.text,
                str(done.finish_reason),
                done.prompt_tokens,
                done.completion_tokens,
                done.retries,
                done.replaced,
                done.seconds,
                done.waited,
                done.lost,
                done.queued,
                done.note,
                ask.parent,
                candidates,
                done.reasoning or None,
                done.reasoning_tokens or None,
                done.message or None,
            ),
            len(delta) + len(done.text) + len(done.reasoning) + len(done.message),
        )
        self.figures.add_reply(ask.role, done, prefix)
        self._bases.add(ask.role, prompt, step.position, step.branch, ask.parent)

    def _outcome_of(self, done: Execution) -> tuple:
        """Status, result, outputs, message and seconds, as rows keep them; values may be long where the text is not."""
        values = list(done.values)
        result, result_block = self._pack(done.result)
        outputs_block = None
        if result_block or any(value.keys() - _SHORT for value in values):
            _, outputs_block = self._pack(json.dumps(values))
        outputs = None if outputs_block else as_json(values)
        return done.status, result, result_block, outputs, outputs_block, done.message, done.seconds

    def _pack(self, text: str) -> tuple[str, str | None]:
        """The text as its row keeps it, and the digest under which it is kept elsewhere when it is long."""
        return (text, None) if len(text) < LONG else ("", self._buffer.add_text(text))


def _answer_of(done: Result) -> tuple[str, str, str]:
    """Answer, note and name as the row of a plan has them; empty before a person has answered."""
    if not isinstance(done, Execution):
        return "", "", ""
    return YES if done.ok else NO, done.result, str(done.values[0]["text"])
