"""To-do lists as they are read, the order of an open-ended episode, and what is counted of it."""

from __future__ import annotations

import io
import wave

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lumos_queue.actions.local.melody import BARS, UNITS, compose
from lumos_queue.benchmarks.base import EpisodeResult
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.commands import ROOT, Approve, Ask, Do, Note, digest, write_answer
from lumos_queue.errors import ApprovalPending, SpecError
from lumos_queue.execution.memory_journal import MemoryJournal
from lumos_queue.formulations.open_ended import FORMULATION
from lumos_queue.limits import Limits
from lumos_queue.prompts.open_ended import MAX_RESULT
from lumos_queue.prompts.todo_list import MAX_LINE, MAX_LINES, read_list, write_list
from lumos_queue.records import Action, Ending, Execution, Outcome, Score
from tests.tool_scripts import Scripted, call, finish, give_up, run

YES = write_answer(True, "", "ann")
LIST = "1. Look up the order\n2. Tell its state"


def no(note: str) -> Execution:
    return write_answer(False, note, "ann")


def state(**_: object) -> str:
    return "shipped"


# --- lists


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Sure!\n1. Paint it\n2) Write a poem\n 3: Compose\nThat is all.", ("Paint it", "Write a poem", "Compose")),
        ("- Paint it\n* Write\n• Sing", ("Paint it", "Write", "Sing")),
        ("1. Paint\n   - in blue\n   - at night\n2. Write", ("Paint", "Write")),
        ("**1.** no\n**Step 2: Paint it**\n## 3. Write", ("no", "Paint it", "Write")),
        ("Step 1: Paint\nSTEP 2: Write", ("Paint", "Write")),
        ("- [ ] Paint\n- [x] Write", ("Paint", "Write")),
        ("1.\n2. \n3. Write", ("Write",)),
        ("In 1871. it was built\n-5 degrees", ()),
        ("No list at all", ()),
        ("", ()),
        ("1. Paint\r\n2. Write\u2028", ("Paint", "Write")),
    ],
)
def test_a_list_is_its_numbered_lines_or_its_bullets(text, lines):
    assert read_list(text) == lines


def test_a_first_and_a_last_line_are_not_dropped():
    """The released code drops both, whatever they are."""
    assert read_list("1. Paint\n2. Write\n3. Sing") == ("Paint", "Write", "Sing")


@given(st.text(st.characters(codec="utf-8")) | st.from_regex(r"([-*0-9.) a\n]{0,6})*", fullmatch=True))
def test_reading_never_raises_and_what_is_shown_reads_as_the_same(text):
    lines = read_list(text)
    assert len(lines) <= MAX_LINES and all(line and len(line) <= MAX_LINE for line in lines)
    assert read_list(write_list(lines)) == lines


def test_a_long_reply_is_read_in_part():
    assert len(read_list("1. x\n" * 1_000_000)) == MAX_LINES
    assert read_list(f"1. {'x' * 1_000_000}") == ("x" * MAX_LINE,)


# --- the episode


def test_a_list_is_noted_shown_and_done_line_by_line():
    script = Scripted(
        {
            "planner": [f"Here:\n{LIST}"],
            "policy": [call("state", "look", number=17), finish("it is shipped"), finish("Order 17 is shipped.")],
        },
        {"state": state},
        [YES],
    )
    done = run("open-ended", script)
    assert done.outcome == Outcome("Order 17 is shipped.", Ending.ANSWERED) and done.approved == LIST
    kinds = [type(one) for one in script.commands]
    assert kinds == [Ask, Note, Note, Approve, Ask, Do, Ask, Do, Ask, Do]
    assert [one.parent for one in script.commands if isinstance(one, Ask | Do)] == [None, ROOT, 4, 5, 6, 7, 8]
    assert [one.subgoal.number for one in script.commands if isinstance(one, Note)] == [1, 2]
    first, second, third = script.prompts("policy")
    assert "Now do line 1, and nothing else: Look up the order" in first and "Done so far" not in first
    assert second.startswith(first) and "shipped" in second[len(first) :]
    assert "Done so far:\n1. it is shipped\n" in third and "Now do line 2, and nothing else: Tell its state" in third
    assert "Observation" not in third, "of the lines before it is told what they gave"


def test_the_actions_of_earlier_lines_are_on_the_path_of_later_ones():
    """A file store, or an image by its name: what was made for a line is there for the next."""
    script = Scripted(
        {"planner": [LIST], "policy": [call("state"), finish("a"), call("state"), finish("b")]}, {"state": state}, [YES]
    )
    run("open-ended", script)
    last = script.contexts[-1]
    assert [action.name for action, _ in last.done] == ["state", "Finish", "state"]


def test_after_a_refusal_the_planner_is_told_the_note_and_its_own_list():
    script = Scripted(
        {"planner": ["1. Buy it", LIST], "policy": [finish("done")]}, {}, [no("do not buy anything"), YES]
    )
    assert run("open-ended", script).outcome.answer == "done"
    first, second = script.prompts("planner")
    assert second.startswith(first) and "1. Buy it" in second and "says: do not buy anything" in second
    assert [one.shown for one in script.commands if isinstance(one, Approve)] == ["1. Buy it", LIST]
    assert len(script.calls) == 2, "nothing of the first list was done"


def test_a_person_who_always_refuses_ends_it():
    script = Scripted({"planner": [LIST], "policy": []}, {}, [no("no"), no("")])
    found = run("open-ended", script, tries="2")
    assert found.outcome == Outcome(
        None, Ending.CANCELLED, "every plan was refused, the last one because: no reason given"
    )
    assert (found.approved, script.calls, len(script.prompts("planner"))) == ("", [], 2)


def test_a_reply_without_a_list_is_asked_for_again_and_never_shown():
    script = Scripted({"planner": ["I would paint it.", LIST], "policy": [finish("done")]}, {}, [YES])
    assert run("open-ended", script).outcome.answer == "done"
    assert "No numbered list could be read" in script.prompts("planner")[1]
    script = Scripted({"planner": ["I would paint it."], "policy": []})
    assert run("open-ended", script).outcome.ending == Ending.UNREADABLE
    assert not [one for one in script.commands if isinstance(one, Approve)]


def test_a_line_that_cannot_be_done_keeps_the_next_from_nothing():
    script = Scripted({"planner": [LIST], "policy": [give_up(), finish("as far as it goes")]}, {}, [YES])
    assert run("open-ended", script).outcome == Outcome("as far as it goes", Ending.ANSWERED)
    assert "Done so far:\n1. could not be done" in script.prompts("policy")[1]


@pytest.mark.parametrize(
    ("policy", "ending"), [([give_up()], Ending.GAVE_UP), (["Thought: hm"], Ending.LIMIT)], ids=["gives up", "limit"]
)
def test_the_last_line_says_how_it_ends(policy, ending):
    script = Scripted({"planner": [LIST], "policy": policy}, {}, [YES])
    found = run("open-ended", script, Limits(depth=4)).outcome
    assert found == Outcome(None, ending, "the last line could not be done: Tell its state")
    assert len(script.prompts("policy")) == (2 if ending == Ending.GAVE_UP else 8), "the limit is that of a line"


def test_without_an_answer_the_question_is_kept_and_the_episode_waits():
    journal, script = MemoryJournal(), Scripted({"planner": [LIST], "policy": []}, {}, [None])
    with pytest.raises(ApprovalPending):
        run("open-ended", script, journal=journal)
    last = journal.steps[-1]
    assert (last.command, last.result) == (Approve(LIST), None)
    steps = [*journal.steps[:-1], last.__class__(last.position, last.branch, last.command, YES)]
    script = Scripted({"planner": [], "policy": [finish("done")]})
    assert run("open-ended", script, journal=MemoryJournal(steps)).outcome.answer == "done", "nothing is asked twice"
    with pytest.raises(ApprovalPending):
        run("open-ended", Scripted({"planner": [], "policy": []}, {}, [None]), journal=MemoryJournal(journal.steps))


def test_what_a_line_gave_is_shortened_in_what_later_lines_are_told():
    script = Scripted({"planner": [LIST], "policy": [finish("x" * 10_000), finish("done")]}, {}, [YES])
    run("open-ended", script)
    told = script.prompts("policy")[1]
    assert "x" * MAX_RESULT + f"... [{10_000 - MAX_RESULT:,} characters left out]" in told
    assert "x" * (MAX_RESULT + 1) not in told


@pytest.mark.parametrize("value", ["0", "21", "x"])
def test_settings_are_checked(value):
    with pytest.raises(SpecError, match="tries must be a whole number from 1 to 20"):
        run("open-ended", Scripted({"planner": [LIST]}), tries=value)


def test_a_plan_has_a_digest_of_its_own():
    assert Approve(LIST).digest == digest("approve", LIST) != Approve("1. x").digest
    assert FORMULATION.approved and FORMULATION.functions


# --- what is counted


def scored(lines: str, *done: tuple[str, str]) -> list[Score]:
    seen = [(Action((), name, "{}"), Execution(status, values=({"ends": name == "Finish"},))) for name, status in done]
    benchmark = open_benchmark("open_ended")
    [task, _] = benchmark.read(None, "test")
    return list(benchmark.score(task, EpisodeResult("text", seen=seen, approved=lines)))


def test_lines_and_calls_have_full_denominators():
    lines = "1. a\n2. b\n3. c"
    calls = [("search", "ok"), ("Finish", "ok"), ("search", "not_found"), ("Finish", "give_up"), ("write_file", "ok")]
    assert scored(lines, *calls) == [
        Score("lines_done", 1 / 3, detail="1 of 3", of=3),
        Score("calls_succeeded", 2 / 3, detail="2 of 3", of=3),
    ]
    assert scored(lines) == [Score("lines_done", 0.0, detail="0 of 3", of=3)]
    assert scored("") == [Score("lines_done", 0.0, detail="no list was approved")]


# --- music


@given(st.text())
def test_every_text_has_a_melody_of_full_bars_that_ends_on_its_first_note(text):
    melody = compose(text)
    assert len(melody.bars) == BARS and all(sum(units for _, units in bar) == UNITS for bar in melody.bars)
    assert melody.bars[0][0][0] == melody.bars[-1][-1][0] == 0 and all(
        units > 0 for bar in melody.bars for _, units in bar
    )
    assert compose(text) == melody
    assert melody.write_abc().count("\n") == 5, "nothing in the title adds a line"


def test_a_melody_follows_its_words_and_can_be_heard():
    storm, sun = compose("a stormy evening"), compose("children in the sun")
    assert (storm.is_minor, sun.is_minor) == (True, False) and storm.bars != sun.bars
    with wave.open(io.BytesIO(storm.write_wav())) as sound:
        assert (sound.getnchannels(), sound.getsampwidth(), sound.getframerate()) == (1, 2, 8_000)
        assert 13 < sound.getnframes() / 8_000 < 15
        heard = sound.readframes(8_000)
    assert len(set(heard)) > 100
