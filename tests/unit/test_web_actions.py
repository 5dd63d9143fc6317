"""CLICK, TYPE and SELECT: what is parsed, which page is meant, which element is picked."""

from __future__ import annotations

import asyncio
import time

import pytest

from lumos_queue.actions.session import describe
from lumos_queue.actions.web.interface import WebSession
from lumos_queue.actions.web.recorded_action import RecordedAction, read_recorded, sentence
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.episode import StepContext
from lumos_queue.errors import SpecError
from lumos_queue.notation import read_actions
from lumos_queue.records import Task
from tests.cpu_limit import cpu_limit


def element(node, words, tag="a", ancestors=""):
    return {"node": str(node), "tag": tag, "text": f"ancestors: {ancestors}\ntarget: ({tag} id=0 {words} )"}


HOME = {"step": 0, "candidates": [element(1, "hats"), element(2, "shoes"), element(3, "search", "input")]}
SHELF = {"step": 1, "candidates": [element(7, "red hat"), element(8, "blue hat"), element(9, "size s m l", "select")]}
TASK = Task("mind2web", "d", "1", "Buy a hat", {"previous": ["[link]  Hats -> CLICK"], "steps": [HOME, SHELF]})


class Recorder:
    """A ranker that notes what it is asked, and prefers the last text."""

    name = "recorder"

    def __init__(self):
        self.asked = []

    async def scores(self, query, texts):
        self.asked.append((query, list(texts)))
        return [float(place) for place in range(len(texts))]

    async def close(self):
        pass


def run(*lines, task=TASK, ranker=None, fitted=False):
    """The executions of grounder lines, one after another in one episode."""

    async def go():
        actions = DOMAINS.load("web_agent").open_actions()
        if ranker:
            actions.ranker, actions.fitted = ranker, fitted  # type: ignore[attr-defined]
        session, place = actions.begin(task), StepContext(0, 0, {}, [])
        for line in lines:
            action = read_actions(line)[0]
            execution = await session.execute(action, place)
            place.done.append((action, execution))  # type: ignore[attr-defined]
            place.variables.update(zip(action.variables, execution.values, strict=False))  # type: ignore[attr-defined]
        await session.close()
        await actions.close()
        return [execution for _, execution in place.done]

    return asyncio.run(go())


def test_the_best_match_is_picked_and_shown():
    (done,) = run("R1 = CLICK(Env, QUERY: Click the link for shoes)")
    value = dict(done.values[0])
    ranked = value.pop("ranked")
    assert value == {
        "kind": "element",
        "text": "[a]  shoes -> CLICK",
        "node": "2",
        "tag": "a",
        "op": "CLICK",
        "value": "",
        "step": 0,
        "candidates": 3,
    }
    assert [node for node, _ in ranked] == ["2", "1", "3"] and ranked[0][1] > ranked[1][1] == ranked[2][1] == 0
    assert done.ok and done.result == "[a]  shoes -> CLICK"


def test_among_equals_the_first_on_the_page_is_picked():
    (done,) = run("R1 = CLICK(Env, QUERY: something else)")
    assert done.values[0]["node"] == "1"


def test_what_stands_around_an_element_counts_less_than_what_it_says():
    page = {"step": 0, "candidates": [element(1, "remove", ancestors="/form size"), element(2, "size")]}
    (done,) = run("R1 = CLICK(Env, QUERY: size)", task=Task("m", "d", "1", "q", {"previous": [], "steps": [page]}))
    assert done.values[0]["node"] == "2"


@pytest.mark.parametrize(
    ("line", "op", "value", "query"),
    [
        ("R1 = TYPE(Env, QUERY: the box, TEXT: red)", "TYPE", "red", "the box"),
        ("R1 = TYPE(Env, Query: the box, Text: red, or blue)", "TYPE", "red, or blue", "the box"),
        ("R1 = TYPE(Env , QUERY:the box,TEXT:red)", "TYPE", "red", "the box"),
        ("R1 = TYPE(Env, QUERY: a, TEXT: b, TEXT: c)", "TYPE", "b, TEXT: c", "a, TEXT: b"),  # spec/lumos.md 4.2
        ("R1 = CLICK(Env, QUERY: next (page 2); then, well)", "CLICK", "", "next (page 2); then, well"),
        ("R1 = SELECT(Env, QUERY: size, TEXT: M)", "SELECT", "M", "size The option contents should be close to 'M'."),
        ("R1 = CLICK(Env, QUERY: unclosed", "CLICK", "", "unclosed"),
    ],
)
def test_arguments_are_read_as_the_original_reads_them(line, op, value, query):
    ranker = Recorder()
    (done,) = run(line, ranker=ranker)
    assert (done.values[0]["op"], done.values[0]["value"]) == (op, value)
    assert ranker.asked[0][0] == query


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("R1 = CLICK(the button)", "arguments", "expected 'Env, QUERY: …'"),
        ("R1 = CLICK(Env, the button)", "arguments", "expected 'Env, QUERY: …'"),
        ("R1 = CLICK(env, QUERY: x)", "arguments", "expected 'Env, QUERY: …'"),
        ("R1 = CLICK(Env, QUERY: )", "arguments", "description of the element"),
        ("R1 = TYPE(Env, QUERY: x)", "arguments", "needs a text"),
        ("R1 = SELECT(Env, QUERY: x, TEXT: )", "arguments", "needs a text"),
        ("R1 = HOVER(Env, QUERY: x)", "unknown_action", "CLICK, TYPE, SELECT"),
        ("R1 = (Env)", "unreadable", "expected CLICK, TYPE or SELECT"),
        ("R1, R2 = CLICK(Env, QUERY: x)", "arity", "2 variables"),
        ("click on it", "unreadable", "CLICK(Env, Query)"),
        (f"R1 = CLICK(Env, QUERY: {'x' * 30_000})", "too_large", "20000"),
    ],
)
def test_what_a_model_does_wrong_is_said(line, kind, message):
    (done,) = run(line)
    assert done.status == kind and message in done.message and done.values == ()


def test_each_action_names_the_page_after_it():
    done = run("R1 = CLICK(Env, QUERY: hats)", "R2 = CLICK(R1, QUERY: blue)")
    assert [one.values[0]["node"] for one in done] == ["1", "8"]
    named = run("R7 = CLICK(Env, QUERY: hats)", "Output = SELECT(R7, QUERY: size, TEXT: M)")
    assert [one.values[0]["node"] for one in named] == ["1", "9"]


def test_fault_26_a_page_that_nobody_named_is_an_error_and_the_episode_goes_on():
    done = run("R1 = CLICK(R5, QUERY: hats)", "R2 = CLICK(R1, QUERY: blue)")
    assert done[0].status == "unknown_variable" and "no page is called R5" in done[0].message
    assert done[1].values[0]["node"] == "8"


def test_a_page_that_was_left_cannot_be_acted_on():
    done = run("R1 = CLICK(Env, QUERY: hats)", "R2 = CLICK(Env, QUERY: shoes)")
    assert done[1].status == "left_page" and "is R1" in done[1].message


def test_an_unreadable_action_leaves_a_page_too():
    done = run("I click on hats", "R2 = CLICK(R1, QUERY: blue)")
    assert [one.status for one in done] == ["unreadable", "ok"]


def test_after_the_last_page_there_is_nothing_to_act_on():
    done = run("R1 = CLICK(Env, QUERY: a)", "R2 = CLICK(R1, QUERY: a)", "R3 = CLICK(R2, QUERY: a)")
    assert done[2].status == "no_page" and "2 pages" in done[2].message
    assert run("R1 = CLICK(Env, QUERY: a)", task=Task("gsm8k", "d", "1", "2 + 2?"))[0].status == "no_page"


def test_a_page_without_elements_says_so():
    empty = Task("m", "d", "1", "q", {"previous": [], "steps": [{"step": 0, "candidates": []}]})
    assert run("R1 = CLICK(Env, QUERY: a)", task=empty)[0].status == "no_element"


def test_a_resumed_session_goes_on_where_the_recorded_actions_end():
    first = read_actions("R1 = CLICK(Env, QUERY: hats)")[0]
    (before,) = run("R1 = CLICK(Env, QUERY: hats)")

    async def resumed():
        place = StepContext(9, 0, {"R1": before.values[0]}, [(first, before)])
        return (
            await DOMAINS.load("web_agent")
            .open_actions()
            .begin(TASK)
            .execute(read_actions("R2 = CLICK(R1, QUERY: blue)")[0], place)
        )

    straight = run("R1 = CLICK(Env, QUERY: hats)", "R2 = CLICK(R1, QUERY: blue)")[1]
    assert asyncio.run(resumed()).values == straight.values


def test_a_fitted_model_gets_mindact_s_texts():
    ranker = Recorder()
    long = Task("m", "d", "1", "q", {"previous": list("abcde"), "steps": [SHELF | {"step": 4}]})
    run("R1 = CLICK(Env, QUERY: the hat)", task=long, ranker=ranker, fitted=True)
    query, texts = ranker.asked[0]
    assert query == "task is: the hat\nPrevious actions: b; c; d"  # three, and none of this step or later
    assert texts == [one["text"] for one in SHELF["candidates"]]


def test_the_ranker_is_an_option():
    domain = DOMAINS.load("web_agent")
    assert domain.prepare_tools({}) == {} and domain.prepare_tools({"ranker": "lexical"})
    with pytest.raises(SpecError, match="ranker"):
        DOMAINS.load("web_agent").prepare_tools({"ranker": "oracle"})
    with pytest.raises(SpecError, match="'rankr'"):
        DOMAINS.load("web_agent").prepare_tools({"rankr": "lexical"})
    with pytest.raises(SpecError, match=r"not run: .*MindAct"):
        DOMAINS.load("web_agent").prepare_tools({"ranker": "swapped-cross-encoder:/nowhere"})


def test_many_elements_do_not_hold_up_the_event_loop():
    page = {"step": 0, "candidates": [element(at, f"item {at} " + "word " * 90) for at in range(10_000)]}
    task = Task("m", "d", "1", "q", {"previous": [], "steps": [page]})

    async def go():
        """The execution, and the part of all processor time that the loop's thread used."""
        session = DOMAINS.load("web_agent").open_actions().begin(task)
        loop_began, began = time.thread_time(), time.process_time()
        done = await session.execute(read_actions("R1 = CLICK(Env, QUERY: item 777)")[0], StepContext(0, 0, {}, []))
        return done, (time.thread_time() - loop_began) / (time.process_time() - began)

    done, part = asyncio.run(go())
    assert done.values[0]["node"] == "777"
    assert part < 0.3, f"{part:.0%} of the processor time"


def test_the_prompt_lists_what_the_session_offers():
    assert describe(WebSession).replace("'TYPE', 'SELECT'", "'TYPE', 'SELECT'") in DOMAINS.load("web_agent").ground_head


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[link]  Hats -> CLICK", "Click link Hats."),
        ("[svg]   -> CLICK", "Click svg."),
        ("[div]  Menu -> HOVER", "Click div Menu."),
        ("[searchbox]  Find\n it -> TYPE: a -> b", "Type a -> b in the searchbox Find it."),
        ("[combobox]  Size -> SELECT: No. 5.", "Select No. 5. in the combobox Size."),
        ("[input]  Name -> ENTER", "Enter input Name."),
        ("[link]  Learn more... -> CLICK", "Click link Learn more."),
        ("something else", "something else"),
    ],
)
def test_recorded_actions_in_words(text, words):
    assert sentence(text) == words


@pytest.mark.parametrize("text", ["[a]  x -> TYPE", "[a]  x -> CLICK: y", "a x -> CLICK", "[a]  x -> JUMP", ""])
def test_what_is_no_recorded_action(text):
    assert read_recorded(text) is None


def test_runs_of_blanks_are_read_quickly():
    with cpu_limit(5):
        blanks = " \n" * 1_000
        assert read_recorded(f"[a]{blanks}x{blanks}") is None
        assert read_recorded(f"[a]{blanks}x {blanks}-> CLICK") == RecordedAction("a", "x", "CLICK", "")
