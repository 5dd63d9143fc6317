"""What waits to be written is bounded in text, not in rows alone."""

from __future__ import annotations

import asyncio

import pytest

from db.journal.buffer import Buffer
from db.journal.episode_journal import EpisodeJournal
from db.kinds.totals import EpisodeTotals
from lumos_queue.commands import Ask, Call, Do, Step
from lumos_queue.records import Action, Completion, Execution, FinishReason

LONG = "x" * (1 << 20)


def ask(prompt: str, reply: str) -> tuple[Ask, Completion]:
    return Ask("planner", prompt), Completion(reply, "stop")


def do(raw: str, result: str, message: str) -> tuple[Do, Execution]:
    return Do(Action(("R1",), "Calculate", "1", raw)), Execution("ok", result, message=message)


STEPS = {
    "reply": lambda text: ask("p", text),
    "prompt": lambda text: ask(text, "r"),
    "action": lambda text: do(text, "1", ""),
    "result": lambda text: do("R1 = Calculate(1)", text, ""),
    "message": lambda text: do("R1 = Calculate(1)", "", text),
    "call": lambda text: (Call("wikipedia", {}), Execution("ok", text)),
}


@pytest.mark.parametrize("place", STEPS)
def test_long_texts_keep_episodes_waiting_wherever_they_stand(place):
    async def body() -> None:
        buffer = Buffer()
        recorded = 0
        for number in range(32):
            try:
                await asyncio.wait_for(buffer.wait_for_capacity(), 0.05)
            except TimeoutError:
                break
            step = Step(0, 0, *STEPS[place](f"{number} {LONG}"))  # each its own: equal texts are kept once
            EpisodeJournal(number, 1, buffer, {}).record(step)
            recorded += 1
        assert 4 <= recorded <= 8, "MiB of text"
        waiting = asyncio.create_task(buffer.wait_for_capacity())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        buffer.take()
        await asyncio.wait_for(waiting, 30)

    asyncio.run(body())


def test_a_long_text_is_worth_a_commit_at_once():
    async def body() -> None:
        buffer = Buffer()
        gathering = asyncio.create_task(buffer.gather(60))
        await asyncio.sleep(0)
        EpisodeJournal(1, 1, buffer, {}).record(Step(0, 0, *ask("p", LONG)))
        await asyncio.wait_for(gathering, 30)

    asyncio.run(body())


def test_a_text_kept_once_is_counted_once():
    buffer = Buffer()
    for _ in range(3):
        buffer.add_text(LONG)
    assert buffer.characters == len(LONG)
    buffer.take()
    buffer.add_text(LONG)
    assert buffer.characters == 0


def test_what_is_forgotten_makes_room_and_takes_no_text_from_others():
    """A commit was refused: the rows of one item go, and the texts that others name are sent with the next commit."""

    async def body() -> None:
        buffer = Buffer(most=4)
        shared, own = "shared " * 1000, "own " * 1000
        for item, text in ((1, shared), (1, own), (2, shared)):
            EpisodeJournal(item, 1, buffer, {}).record(Step(0, 0, *ask(text, "r")))
        _, contents = buffer.take()
        assert len(contents.texts) == 2
        for item, position in ((1, 1), (1, 2), (2, 1), (2, 2)):
            EpisodeJournal(item, 1, buffer, {}).record(Step(position, 0, *ask(shared, "r")))
        waiting = asyncio.create_task(buffer.wait_for_capacity())
        await asyncio.sleep(0.01)
        assert buffer.size == 4 and not waiting.done()
        buffer.drop({1}, contents)
        assert buffer.size == 2
        await asyncio.wait_for(waiting, 30)
        rows, again = buffer.take()
        assert {row[0] for table in rows.values() for row in table} == {2}
        assert list(again.texts.values()) == [shared], "what no row names is not sent"
        EpisodeJournal(3, 1, buffer, {}).record(Step(0, 0, *ask(own, "r")))
        assert list(buffer.take()[1].texts.values()) == [own], "it may not have arrived"

    asyncio.run(body())


def test_a_reply_that_came_with_the_task_is_no_call():
    journal = EpisodeJournal(1, 1, Buffer(), {})
    journal.record(Step(0, 0, Ask("planner", "p"), Completion("given", FinishReason.GIVEN)))
    journal.record(Step(1, 0, Ask("planner", "q"), Completion("asked", "stop", 5, 3)))
    assert journal.figures.totals == EpisodeTotals(1, 5, 3)
