"""A task's question is stored once: prompts leave it out and come back whole, also by way of an older revision."""

from __future__ import annotations

import hashlib

import pytest
from sqlalchemy import text

from db.engine.migrate import downgrade, upgrade
from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.journal.step_records import load_steps
from db.journal.text_blocks import LONG
from db.queue.batch import Batch
from db.queue.commit import commit
from lumos_queue.commands import Ask, Do, Note, Step
from lumos_queue.records import Action, Completion, Execution, FinishReason, Subgoal, Task
from tests.claims import claim, holder, new_job

QUESTION = "Ann has 3 sharks 🦈.\nHow many fins?"
HEAD = "<|user|>\nTask: "
FIRST = f"{HEAD}{QUESTION}; so it begins.\n<|assistant|>\n"
DONE = Completion("Subgoal 1: add.", FinishReason.STOP)


def store(database, *prompts: str, question: str = f"  {QUESTION}\n") -> int:
    """Store an episode of the task with these prompts of the planner; returns its id."""
    rows = (Task("wordmath", "data", "1", question, {}),)
    job = new_job(database, rows=rows)
    who = holder(database, job)
    (item,) = claim(database, who)
    buffer = Buffer()
    journal = EpisodeJournal(item.id, 1, buffer, {"planner": HEAD}, "1", item.task.question)
    for position, prompt in enumerate(prompts):
        journal.record(Step(position, 0, Ask("planner", prompt), DONE))
    journal.record(Step(90, 0, Note(Subgoal(1, "add")), None))
    journal.record(Step(91, 0, Do(Action(("R1",), "Calculator", "2")), Execution("ok", "2", ({"text": "2"},))))
    commit(database, who, Batch({item.id: item.claim}, *buffer.take()))
    return item.id


def prompts_of(database, episode: int) -> list[str]:
    with database.engine.connect() as connection:
        return [step.prompt for step in load_steps(connection, {episode: 1})[episode] if step.role]


def completions(database) -> list:
    with database.engine.connect() as connection:
        return connection.execute(text("SELECT * FROM completion ORDER BY position")).all()


@pytest.mark.parametrize("other", ["no question here", QUESTION, f"x{QUESTION}{QUESTION}", ""])
def test_a_prompt_comes_back_whole_wherever_its_question_is(database, other):
    asked = [FIRST, f"{FIRST}more {QUESTION}", other]
    episode = store(database, *asked)
    assert prompts_of(database, episode) == asked
    first, second, third = completions(database)
    assert QUESTION not in first.delta and first.question_at == 0
    assert second.base == 0 and second.question_at is None and second.delta == f"more {QUESTION}"
    assert (third.question_at is not None) == (QUESTION in other)
    for row, prompt in zip((first, second, third), asked, strict=True):
        assert bytes(row.prompt_digest) == hashlib.sha256(prompt.encode()).digest()[:16]
        assert Ask("planner", prompt).digest.startswith(bytes(row.command).hex())


def test_what_is_long_goes_elsewhere_with_its_question(database):
    prompt = f"{FIRST}{'long ' * LONG}"
    episode = store(database, prompt)
    assert prompts_of(database, episode) == [prompt]
    (row,) = completions(database)
    assert row.delta_block and row.question_at is None


def test_a_task_without_a_question_leaves_prompts_as_they_are(database):
    episode = store(database, FIRST, question=" ")
    assert prompts_of(database, episode) == [FIRST]
    assert completions(database)[0].question_at is None


def test_an_older_revision_has_the_question_in_the_prompt_and_the_next_upgrade_reads_it(database):
    asked = [FIRST, f"{FIRST}more"]
    episode = store(database, *asked)
    before = [bytes(row.command).hex() for row in completions(database)]
    downgrade(database, "0013")
    first, second = completions(database)
    assert first.delta == f"{QUESTION}; so it begins.\n<|assistant|>\n" and not hasattr(first, "question_at")
    assert [first.command, second.command] == before
    upgrade(database)
    assert prompts_of(database, episode) == asked
    with database.engine.connect() as connection:
        steps = load_steps(connection, {episode: 1})[episode]
    assert [step.command for step in steps[:2]] == before
    assert [type(step.detail) for step in steps[2:]] == [Subgoal, Action]
